"""The workloads whose rate has changed most against an earlier time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.cache import cache

from advisor.history.recent_rates import rates_at
from advisor.models import Allocation, Resource, Team, Workload
from advisor.queries.likely_movers import likely_movers
from advisor.queries.scope import Scope
from advisor.queries.teams import owned_by

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


def top_movers(
    scope: Scope, against: Against, *, now: datetime, team: Team | None = None
) -> list[Mover]:
    """Of each unit up to five, the largest change first; what was not measured twice is left out.

    Compared are the newest minute of both times, of those workloads that may have changed most,
    or of all those of the team. A fixed number of statements, however many workloads there are;
    kept for a minute.
    """
    found = cache.get_or_set(
        _key(scope, against, now, team),
        lambda: _read(scope, against, now, team),
        timeout=REMEMBERED_S,
    )
    return list(found or ())


def remembered_movers(
    scope: Scope, against: Against, *, now: datetime, team: Team | None = None
) -> list[Mover] | None:
    """The same if it was read in this minute; None if it would have to be read now.

    The rates of all workloads are read for it, for which no page should wait.
    """
    found: list[Mover] | None = cache.get(_key(scope, against, now, team))
    return found


def _key(scope: Scope, against: Against, now: datetime, team: Team | None) -> str:
    of = "all" if team is None else f"team-{team.pk}"
    return f"movers-{scope.organisation.pk}-{of}-{against.name}-{now:%Y%m%dT%H%M}"


def _read(scope: Scope, against: Against, now: datetime, team: Team | None) -> list[Mover]:
    then = now - against.before
    workloads = scope.rows(Workload)
    if team is not None:
        workloads = owned_by(workloads, team)
    rows = Allocation.objects.filter(
        resource__in=scope.rows(Resource), workload__in=workloads.order_by()
    )
    # Those that changed most of all need not be of the team.
    likely = None if team else likely_movers(scope.organisation, now=now, then=then)
    if likely is not None:
        rows = rows.filter(pk__in=likely)
    rows = rows.select_related("workload", "resource", "host").only(*_SHOWN)
    allocations = list(rows.order_by("pk"))
    rates, before = rates_at(allocations, [now, then])
    both: dict[tuple[int, int], list[Allocation]] = defaultdict(list)
    for one in allocations:
        # An allocation that was measured only once would look like a jump.
        if rates[one.pk] is not None and before[one.pk] is not None:
            both[one.workload_id, one.resource_id].append(one)
    return largest([_mover(own, rates, before) for own in both.values()])


_SHOWN = (
    *("adapter_kind", "adapter", "vdisk", "host__id"),
    *("workload__name", "resource__name", "resource__kind", "resource__unit"),
)


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


def _mover(
    allocations: Sequence[Allocation],
    rates: Mapping[int, float | None],
    before: Mapping[int, float | None],
) -> Mover:
    """Those of one workload on one resource together."""
    workload, resource = allocations[0].workload, allocations[0].resource
    return Mover(
        pk=workload.pk,
        name=workload.name,
        resource_pk=resource.pk,
        resource=resource.name,
        kind=resource.kind,
        unit=resource.unit,
        now=sum(rates[one.pk] or 0.0 for one in allocations),
        then=sum(before[one.pk] or 0.0 for one in allocations),
    )
