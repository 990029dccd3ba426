"""Attribute an incident: pass the stored series of its resource to the core."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from statistics import fmean

import numpy as np
from django.core.cache import cache
from django.db.models import Max

from advisor.core.allocation import Allocation as SolverAllocation
from advisor.core.allocation import ReservationMode, entitlements
from advisor.core.attribution.attribution import Attribution, AttributionInputs, attribute
from advisor.core.attribution.several_incidents import (
    FEWEST_INCIDENTS,
    put_together,
    told_by_several,
)
from advisor.core.attribution.workload_series import WorkloadSeries
from advisor.core.detection.external_workload import ExternalLoad
from advisor.core.detection.nic_signals import NicJudgement
from advisor.core.detection.reading import Reading, in_order
from advisor.core.standing import (
    UNALLOCATED,
    UNALLOCATED_SHARES,
    AllocationTable,
    StandingColumns,
    standing_columns,
    used_columns,
)
from advisor.core.waterfill import Floats
from advisor.history.history import History, numbers
from advisor.history.reader import read_history
from advisor.history.whole_windows import whole_windows
from advisor.models import Allocation, Incident, Resource
from advisor.pipeline.muting import external_load
from ingest.core.grid import grid_of, microseconds

BEFORE = timedelta(hours=1)
"""Time before the incident that shows what is normal."""
LONGEST = timedelta(hours=2)
"""Of a long incident the beginning is studied, because it shows what changed."""
AFTER = timedelta(minutes=30)
EARLIER = timedelta(days=1)
"""Of so much time before it, earlier incidents may tell of its cause, too."""
MOST_EARLIER = 8
LEAST_AROUND, MOST_AROUND = timedelta(minutes=1), timedelta(minutes=10)
"""Time on each side of one of several incidents that shows what was normal then."""
ENOUGH_WINDOWS = 12
KEPT_S = 60
KEPT_ENDED_S = 3600

Column = tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is known about the cause of one incident.

    `attribution` None has its reason in `gap`. `external` is the detector's newest conclusion,
    None for a kind whose load is all measured. `signals` is the conclusion from all windows, None
    for a kind with only latency. `own_parts` are the shares in this incident alone, where the
    attribution is one of several.
    """

    began_at: datetime
    ended_at: datetime
    windows: int
    attribution: Attribution | None
    external: ExternalLoad | None
    signals: NicJudgement | None
    gap: str
    own_parts: Mapping[str, float] = field(default_factory=dict)


def study_incident(*, incident: Incident, now: datetime) -> Study:
    """Attribute the incident from its stored samples; the answer is kept for a short time.

    Where one was kept with the incident (`find_cause`), this is the same: it looks at no later
    window, so that a page accuses nobody else than the sentence above it. It is given up when
    samples that came late amend the incident.
    """
    return study_anew(incident=incident, now=incident.cause_found_at or now)


def study_anew(*, incident: Incident, now: datetime) -> Study:
    """The same by all that is stored by now."""
    until = _studied_until(incident, now)
    amended_at = incident.versions.aggregate(newest=Max("replaced_at"))["newest"]
    times = [f"{one.timestamp():.0f}" for one in (until, amended_at) if one is not None]
    key = f"incident-study:{incident.pk}:{':'.join(times)}"
    found: Study | None = cache.get(key)
    if found is None:
        found = _study(incident, until)
        cache.set(key, found, KEPT_S if incident.ended_at is None else KEPT_ENDED_S)
    return found


def _studied_until(incident: Incident, now: datetime) -> datetime:
    longest = incident.started_at + LONGEST
    wanted = longest if incident.ended_at is None else min(incident.ended_at + AFTER, longest)
    whole = whole_windows(incident.resource, now=now)
    # An open incident is studied once a minute, not with every window.
    return min(wanted, whole.replace(second=0, microsecond=0))


def _study(incident: Incident, until: datetime) -> Study:
    resource, since = incident.resource, incident.started_at - BEFORE
    alone = _stretch(incident, since, until, [incident])
    is_enough = len(alone.seen) >= ENOUGH_WINDOWS and any(alone.during)
    study = Study(
        began_at=since,
        ended_at=until,
        windows=len(alone.seen),
        attribution=attribute(_inputs(alone)) if is_enough else None,
        external=external_load(incident),
        signals=_signals(resource, alone.seen, alone.during),
        gap="" if is_enough else _gap(alone.seen),
    )
    return _with_earlier(incident, study) or study


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stretch:
    """Windows of a resource, and in which of them there was an incident."""

    history: History
    seen: Sequence[Reading]
    during: tuple[bool, ...]


def _stretch(
    incident: Incident, since: datetime, until: datetime, incidents: Sequence[Incident]
) -> _Stretch:
    """All in the size term with which the incident that is studied began."""
    resource = incident.resource
    found = read_history(resource, grid_of(since, until, resource.window_s))
    history = found.in_size_term(found.size_terms.at_us(microseconds(incident.started_at)))
    seen = history.readings()
    during = tuple(any(_is_during(own, one.at) for own in incidents) for one in seen)
    return _Stretch(history=history, seen=seen, during=during)


def _with_earlier(incident: Incident, study: Study) -> Study | None:
    """The same with the incidents of the day before it, if they accuse whom it leaves open.

    A neighbour that comes in short bursts is told by several of them alone.
    """
    if study.attribution is None or study.attribution.aggressors:
        return None
    incidents = [*_earlier(incident), incident]
    if len(incidents) < FEWEST_INCIDENTS:
        return None
    times = _times_of(incidents, until=study.ended_at)
    read = [_stretch(incident, *one, incidents) for one in times]
    parts = [one for one in read if one.seen]
    if not parts:
        return None
    together = attribute(put_together([_inputs(one) for one in parts]))
    found = told_by_several(study.attribution, together)
    if found is None:
        return None
    words = f"so say {len(incidents)} incidents of a day together, this one alone says too little"
    return replace(
        study,
        began_at=times[0][0],
        windows=sum(len(one.seen) for one in parts),
        attribution=replace(found, reason=f"{found.reason}; {words}"),
        own_parts={one.workload: one.part_ratio for one in study.attribution.suspects},
    )


def _earlier(incident: Incident) -> list[Incident]:
    """The newest that ended in the day before it began, in order of time."""
    rows = Incident.objects.filter(
        resource=incident.resource_id,
        started_at__gt=incident.started_at - EARLIER,
        started_at__lt=incident.started_at,
        ended_at__lte=incident.started_at,
    )
    return list(rows.order_by("-started_at")[:MOST_EARLIER])[::-1]


def _times_of(
    incidents: Sequence[Incident], *, until: datetime
) -> list[tuple[datetime, datetime]]:
    """The time of each with as much around it as shows what was normal then; (since, until).

    It is twice as long as the incident on both sides, so that the incident is not lost among
    what is normal. Where they meet, they are one.
    """
    found: list[tuple[datetime, datetime]] = []
    for one in incidents:
        ended_at = min(one.ended_at or until, one.started_at + LONGEST)
        margin = min(max(2 * (ended_at - one.started_at), LEAST_AROUND), MOST_AROUND)
        since, end = one.started_at - margin, min(ended_at + margin, until)
        if found and since <= found[-1][1]:
            since, end = found[-1][0], max(end, found[-1][1])
            found.pop()
        found.append((since, end))
    return found


def _signals(
    resource: Resource, seen: Sequence[Reading], during: Sequence[bool]
) -> NicJudgement | None:
    judge = resource.traits.judge_signals
    if judge is None:
        return None
    return judge([one for one, is_during in zip(seen, during, strict=True) if is_during])


def _is_during(incident: Incident, at: datetime) -> bool:
    return at > incident.started_at and (incident.ended_at is None or at <= incident.ended_at)


def _gap(seen: Sequence[Reading]) -> str:
    if len(seen) >= ENOUGH_WINDOWS:
        return "the samples of the incident are not stored any more"
    return f"{len(seen)} windows of it are stored, {ENOUGH_WINDOWS} are needed"


def _inputs(stretch: _Stretch) -> AttributionInputs:
    history, seen = stretch.history, stretch.seen
    traits = history.resource.traits
    table = history.table(np.flatnonzero(history.measured).tolist())
    used, lack = used_columns(table), {}
    if not traits.harms_all:
        (standing,) = standing_columns([table])
        lack = _lack(standing)
    own = np.where(np.isnan(table.rate), np.nan, used[:, :-1])
    loads = _by_workload(table.workloads, own)
    entitled = _entitled(history.allocations.rows, loads, _costs(table, own), table.mode)
    rest = tuple(used[:, -1].tolist())
    series = [
        WorkloadSeries(
            workload=name, load=loads[name], harm=lack.get(name), entitlement=entitled[name]
        )
        for name in loads
    ]
    if any(rest):
        series.append(
            WorkloadSeries(
                workload=UNALLOCATED, load=rest, entitlement=_unallocated_part(entitled)
            )
        )
    return AttributionInputs(
        series=tuple(series),
        in_incident=stretch.during,
        window_s=history.resource.window_s,
        measure=traits.measure,
        shared_harm=tuple(one.value for one in seen) if traits.harms_all else None,
    )


def _by_workload(workloads: Sequence[str], columns: Floats) -> dict[str, Column]:
    """The sum over the allocations of each workload, None where none was measured."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(workloads):
        places[name].append(place)
    found = {}
    for name, places_of_one in places.items():
        own = columns[:, places_of_one]
        known = ~np.isnan(own)
        total = in_order(np.where(known, own, 0.0))
        found[name] = tuple(numbers(np.where(known.any(axis=1), total, np.nan)))
    return found


def _entitled(
    allocations: Sequence[Allocation],
    loads: dict[str, Column],
    costs: dict[str, float],
    mode: ReservationMode,
) -> dict[str, float]:
    """The entitlement of each workload in the total delivered, on average, in device time."""
    means = [fmean([value or 0.0 for value in column]) for column in loads.values()]
    if not allocations or sum(means) <= 0:
        return dict.fromkeys(loads, 1.0)
    parts = entitlements(
        sum(means),
        [
            SolverAllocation(
                reservation=allocation.reservation * costs[allocation.workload.name],
                limit=None
                if allocation.limit is None
                else allocation.limit * costs[allocation.workload.name],
                shares=float(allocation.weight),
            )
            for allocation in allocations
        ],
        mode,
    )
    entitled = dict.fromkeys(loads, 0.0)
    for allocation, part in zip(allocations, parts, strict=True):
        entitled[allocation.workload.name] += part
    return entitled


def _costs(table: AllocationTable, cost: Floats) -> dict[str, float]:
    """The mean cost of a unit of each workload's rate; 1 without I/O.

    `cost` is that of each allocation's rate, (windows, allocations).
    """
    rates: dict[str, float] = defaultdict(float)
    costs: dict[str, float] = defaultdict(float)
    totals = zip(
        table.workloads,
        np.nansum(table.rate, axis=0).tolist(),
        np.nansum(cost, axis=0).tolist(),
        strict=True,
    )
    for name, rate, own in totals:
        rates[name] += rate
        costs[name] += own
    return {name: costs[name] / rate if rate > 0 else 1.0 for name, rate in rates.items()}


def _unallocated_part(entitled: dict[str, float]) -> float:
    """Traffic without an allocation counts like another workload of the medium tier."""
    return fmean(entitled.values()) if entitled else UNALLOCATED_SHARES


def _lack(found: StandingColumns) -> dict[str, Column]:
    """The shortfall of each workload, as a fraction of its entitlement; None without a part."""
    entitled = found.entitlement > 0
    missed = (found.entitlement - found.cost) / np.where(entitled, found.entitlement, 1.0)
    short = np.where(entitled, np.maximum(missed, 0.0), 0.0)
    lack = {name: np.full(len(short), np.nan) for name in found.workloads}
    for name, active, column in zip(found.workloads, found.active.T, short.T, strict=True):
        lack[name] = np.where(active, column, lack[name])
    return {name: tuple(numbers(column)) for name, column in lack.items()}
