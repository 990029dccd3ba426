"""Find a workload, host or resource by part of its name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Length

from advisor.core.enumeration import listed
from advisor.models import Allocation, Resource, Workload
from advisor.queries.scope import Scope
from ingest.models import Host

PER_KIND = 8
"""The first of each kind; more are shown a page at a time."""
PER_PAGE = 50


class HitKind(StrEnum):
    RESOURCE = "resource"
    HOST = "host"
    WORKLOAD = "workload"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result; `about` distinguishes results of the same name."""

    kind: HitKind
    pk: int
    name: str
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HitGroup:
    """Results of one kind, from the place `first` (from 1) on; `count` is how many there are."""

    kind: HitKind
    count: int
    first: int
    hits: tuple[Hit, ...]

    @property
    def last(self) -> int:
        return self.first + len(self.hits) - 1


def search(scope: Scope, text: str) -> list[HitGroup]:
    """The kinds with a result, up to 8 of each: the shortest names, which are the closest."""
    wanted = text.strip()
    if not wanted:
        return []
    groups = [_group(scope, kind, wanted, first=1, length=PER_KIND) for kind in HitKind]
    return [group for group in groups if group.count]


def search_page(scope: Scope, text: str, kind: HitKind, *, page: int) -> HitGroup:
    """One page (from 1) of all results of one kind; the last page stands for those beyond it."""
    count = _named(scope, kind, text.strip()).count()
    last = max(1, -(-count // PER_PAGE))
    first = (min(page, last) - 1) * PER_PAGE + 1
    return _group(scope, kind, text.strip(), first=first, length=PER_PAGE, count=count)


def _group(
    scope: Scope, kind: HitKind, wanted: str, *, first: int, length: int, count: int | None = None
) -> HitGroup:
    rows = _named(scope, kind, wanted)
    shown = list(rows[first - 1 : first - 1 + length])
    # A group that is not full needs no counting.
    if count is None:
        count = len(shown) if len(shown) < length else rows.count()
    about = _ABOUT[kind](shown)
    return HitGroup(
        kind=kind,
        count=count,
        first=first,
        hits=tuple(Hit(kind=kind, pk=row.pk, name=row.name, about=about[row.pk]) for row in shown),
    )


def _named(scope: Scope, kind: HitKind, wanted: str) -> QuerySet[Any]:
    rows: QuerySet[Any]
    match kind:
        case HitKind.RESOURCE:
            rows = scope.rows(Resource).prefetch_related("attachments")
        case HitKind.HOST:
            rows = scope.rows(Host)
        case HitKind.WORKLOAD:
            rows = scope.rows(Workload).filter(
                pk__in=Allocation.objects.values("workload_id").order_by()
            )
    return rows.filter(name__icontains=wanted).order_by(Length("name"), "name")


def _of_resources(rows: Sequence[Resource]) -> dict[int, str]:
    return {row.pk: row.noun for row in rows}


def _of_hosts(rows: Sequence[Host]) -> dict[int, str]:
    return {row.pk: "host" for row in rows}


def _of_workloads(rows: Sequence[Workload]) -> dict[int, str]:
    places = (
        Allocation.objects.filter(workload__in=[row.pk for row in rows])
        .order_by("resource__name")
        .values_list("workload_id", "resource__name")
    )
    names: dict[int, dict[str, None]] = defaultdict(dict)
    for pk, name in places:
        names[pk][name] = None
    return {row.pk: f"on {listed(names[row.pk])}" for row in rows}


_ABOUT: dict[HitKind, Callable[[Any], dict[int, str]]] = {
    HitKind.RESOURCE: _of_resources,
    HitKind.HOST: _of_hosts,
    HitKind.WORKLOAD: _of_workloads,
}
