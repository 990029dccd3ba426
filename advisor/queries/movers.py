"""The workloads whose rate has changed most against an earlier time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.cache import cache

from advisor.models import Allocation
from advisor.queries.allocation_rates import current_rates
from advisor.queries.scope import Scope
from advisor.queries.tables import WorkloadRow
from advisor.queries.workload_list import workload_list

PER_KIND = 5
UNITS = ("iops", "bytes_per_s", "bits_per_s")
"""In this order they are shown: storage first."""
REMEMBERED_S = 60
"""What changed against an hour ago is the same a moment later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """An earlier time that rates are compared with."""

    name: str
    words: str
    before: timedelta


AGAINST = (
    Against(name="hour", words="an hour ago", before=timedelta(hours=1)),
    Against(name="day", words="this time yesterday", before=timedelta(days=1)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """One workload on one resource, its rate now and then, in the resource's unit."""

    pk: int
    name: str
    resource_pk: int
    resource: str
    kind: str
    unit: str
    now: float
    then: float

    @property
    def change(self) -> float:
        return self.now - self.then


def against_of(name: str) -> Against:
    """The comparison of this name, or the first."""
    return next((one for one in AGAINST if one.name == name), AGAINST[0])


def top_movers(scope: Scope, against: Against, *, now: datetime) -> list[Mover]:
    """Of each unit up to five, the largest change first; what was not measured twice is left out.

    A fixed number of statements, however many workloads there are; kept for a minute.
    """
    found = cache.get_or_set(
        _key(scope, against, now), lambda: _read(scope, against, now), timeout=REMEMBERED_S
    )
    return list(found or ())


def remembered_movers(scope: Scope, against: Against, *, now: datetime) -> list[Mover] | None:
    """The same if it was read in this minute; None if it would have to be read now.

    The rates of all workloads are read for it, for which no page should wait.
    """
    found: list[Mover] | None = cache.get(_key(scope, against, now))
    return found


def _key(scope: Scope, against: Against, now: datetime) -> str:
    return f"movers-{scope.organisation.pk}-{against.name}-{now:%Y%m%dT%H%M}"


def _read(scope: Scope, against: Against, now: datetime) -> list[Mover]:
    every = workload_list(scope, now=now)
    rows = [every.build(place) for place in range(every.count)]
    pks = [pk for row in rows for pk in row.allocations]
    allocations = list(Allocation.objects.filter(pk__in=pks).select_related("host", "resource"))
    rates = current_rates(allocations, now=now)
    before = current_rates(allocations, now=now - against.before)
    movers = []
    for row in rows:
        # An allocation that was measured only once would look like a jump.
        both = [pk for pk in row.allocations if rates[pk] is not None and before[pk] is not None]
        if both:
            present = sum(rates[pk] or 0.0 for pk in both)
            movers.append(_mover(row, present, sum(before[pk] or 0.0 for pk in both)))
    return largest(movers)


def largest(movers: Sequence[Mover]) -> list[Mover]:
    """Of each unit up to five, the largest change first; those without any are left out."""
    ordered = sorted(
        (one for one in movers if one.change),
        key=lambda one: (UNITS.index(one.unit), -abs(one.change), one.name),
    )
    taken: dict[str, int] = {}
    chosen = []
    for one in ordered:
        taken[one.unit] = taken.get(one.unit, 0) + 1
        if taken[one.unit] <= PER_KIND:
            chosen.append(one)
    return chosen


def _mover(row: WorkloadRow, present: float, then: float) -> Mover:
    return Mover(
        pk=row.pk,
        name=row.name,
        resource_pk=row.resource.pk,
        resource=row.resource.name,
        kind=row.resource.kind,
        unit=row.resource.unit,
        now=present,
        then=then,
    )
