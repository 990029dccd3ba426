"""Find a workload, host or resource by part of its name."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from django.db.models import QuerySet
from django.db.models.functions import Length

from advisor.core.enumeration import listed
from advisor.models import Allocation, Resource, Workload
from advisor.queries.scope import Scope
from ingest.models import Host

PER_KIND = 8
Named = TypeVar("Named", Host, Resource, Workload)


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


def search(scope: Scope, text: str) -> list[Hit]:
    """Up to 8 of each kind, the shortest names first: they are the closest to the text."""
    wanted = text.strip()
    if not wanted:
        return []
    return [*_resources(scope, wanted), *_hosts(scope, wanted), *_workloads(scope, wanted)]


def _named(scope: Scope, model: type[Named], wanted: str) -> QuerySet[Named]:
    rows = scope.rows(model).filter(name__icontains=wanted)
    return rows.order_by(Length("name"), "name")


def _resources(scope: Scope, wanted: str) -> list[Hit]:
    rows = _named(scope, Resource, wanted).prefetch_related("attachments")[:PER_KIND]
    return [Hit(kind=HitKind.RESOURCE, pk=row.pk, name=row.name, about=row.noun) for row in rows]


def _hosts(scope: Scope, wanted: str) -> list[Hit]:
    rows = _named(scope, Host, wanted)[:PER_KIND]
    return [Hit(kind=HitKind.HOST, pk=row.pk, name=row.name, about="host") for row in rows]


def _workloads(scope: Scope, wanted: str) -> list[Hit]:
    rows = _named(scope, Workload, wanted).filter(allocations__isnull=False).distinct()[:PER_KIND]
    places = (
        Allocation.objects.filter(workload__in=[row.pk for row in rows])
        .order_by("resource__name")
        .values_list("workload_id", "resource__name")
    )
    names: dict[int, dict[str, None]] = defaultdict(dict)
    for pk, name in places:
        names[pk][name] = None
    return [
        Hit(kind=HitKind.WORKLOAD, pk=row.pk, name=row.name, about=f"on {listed(names[row.pk])}")
        for row in rows
    ]
