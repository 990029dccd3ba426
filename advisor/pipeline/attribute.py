"""Attribute an incident: pass the stored series of its resource to the core."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean

from django.core.cache import cache

from advisor.core.allocation import Allocation as SolverAllocation
from advisor.core.allocation import ReservationMode, entitlements
from advisor.core.attribution.attribution import Attribution, AttributionInputs, attribute
from advisor.core.attribution.workload_series import WorkloadSeries
from advisor.core.detection.external_workload import ExternalLoad
from advisor.core.detection.nic_signals import NicJudgement
from advisor.core.observation import Observation
from advisor.core.standing import (
    UNALLOCATED,
    UNALLOCATED_RATIO,
    UNALLOCATED_SHARES,
    delivered,
    device_cost,
    standings,
)
from advisor.history.reader import read_history
from advisor.history.whole_windows import whole_windows
from advisor.models import Allocation, Incident, Resource
from advisor.pipeline.muting import external_load
from ingest.core.grid import grid_of

BEFORE = timedelta(hours=1)
"""Time before the incident that shows what is normal."""
LONGEST = timedelta(hours=2)
"""Of a long incident the beginning is studied, because it shows what changed."""
AFTER = timedelta(minutes=30)
ENOUGH_WINDOWS = 12
KEPT_S = 60
KEPT_ENDED_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is known about the cause of one incident.

    `attribution` None has its reason in `gap`. `external` is the detector's newest conclusion,
    None for a kind whose load is all measured. `signals` is the conclusion from all windows, None
    for a kind with only latency.
    """

    began_at: datetime
    ended_at: datetime
    windows: int
    attribution: Attribution | None
    external: ExternalLoad | None
    signals: NicJudgement | None
    gap: str


def study_incident(*, incident: Incident, now: datetime) -> Study:
    """Attribute the incident from its stored samples; the answer is kept for a short time."""
    until = _studied_until(incident, now)
    key = f"incident-study:{incident.pk}:{until.timestamp():.0f}"
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
    seen = read_history(resource, grid_of(since, until, resource.window_s)).observations()
    during = tuple(_is_during(incident, one.at) for one in seen)
    gap = "" if len(seen) >= ENOUGH_WINDOWS and any(during) else _gap(seen)
    return Study(
        began_at=since,
        ended_at=until,
        windows=len(seen),
        attribution=None if gap else attribute(_inputs(resource, seen, during)),
        external=external_load(incident),
        signals=_signals(resource, seen, during),
        gap=gap,
    )


def _signals(
    resource: Resource, seen: Sequence[Observation], during: Sequence[bool]
) -> NicJudgement | None:
    judge = resource.traits.judge_signals
    if judge is None:
        return None
    return judge([one for one, is_during in zip(seen, during, strict=True) if is_during])


def _is_during(incident: Incident, at: datetime) -> bool:
    return at > incident.started_at and (incident.ended_at is None or at <= incident.ended_at)


def _gap(seen: Sequence[Observation]) -> str:
    if len(seen) >= ENOUGH_WINDOWS:
        return "the samples of the incident are not stored any more"
    return f"{len(seen)} windows of it are stored, {ENOUGH_WINDOWS} are needed"


def _inputs(
    resource: Resource, seen: Sequence[Observation], during: tuple[bool, ...]
) -> AttributionInputs:
    mode = ReservationMode(resource.mode)
    allocations = list(
        resource.allocations.select_related("workload").order_by("workload__name", "pk")
    )
    names = list(dict.fromkeys(allocation.workload.name for allocation in allocations))
    by_window = [_loads(one) for one in seen]
    loads = {name: tuple(window.get(name) for window in by_window) for name in names}
    entitled = _entitled(allocations, loads, _costs(seen, loads), mode)
    rest = tuple(_unallocated(one) for one in seen)
    shared_harm = resource.traits.shared_harm
    lack = _lack(seen, mode) if shared_harm is None else {}
    series = [
        WorkloadSeries(
            workload=name, load=loads[name], harm=lack.get(name), entitlement=entitled[name]
        )
        for name in names
    ]
    if any(rest):
        series.append(
            WorkloadSeries(
                workload=UNALLOCATED, load=rest, entitlement=_unallocated_part(entitled)
            )
        )
    return AttributionInputs(
        series=tuple(series),
        in_incident=during,
        window_s=resource.window_s,
        measure=resource.traits.measure,
        shared_harm=None if shared_harm is None else tuple(shared_harm(one) for one in seen),
    )


def _loads(observation: Observation) -> dict[str, float]:
    """By workload device time per second on a datastore, bits per second on an uplink."""
    loads: dict[str, float] = {}
    for own in observation.allocations:
        load = own.rate * device_cost(observation, own.mean_io_bytes)
        loads[own.workload] = loads.get(own.workload, 0.0) + load
    return loads


def _unallocated(observation: Observation) -> float | None:
    """Load without an allocation; 0 if it is within the measurement error."""
    whole = delivered(observation)
    if whole is None:
        return None
    rest = whole - sum(allocation.rate for allocation in observation.allocations)
    return rest * device_cost(observation, None) if rest > UNALLOCATED_RATIO * whole else 0.0


def _entitled(
    allocations: Sequence[Allocation],
    loads: dict[str, tuple[float | None, ...]],
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


def _costs(
    seen: Sequence[Observation], loads: dict[str, tuple[float | None, ...]]
) -> dict[str, float]:
    """The mean cost of a unit of each workload's rate; 1 without I/O."""
    rates: dict[str, float] = defaultdict(float)
    for observation in seen:
        for allocation in observation.allocations:
            rates[allocation.workload] += allocation.rate
    return {
        name: sum(value or 0.0 for value in column) / rates[name] if rates[name] > 0 else 1.0
        for name, column in loads.items()
    }


def _unallocated_part(entitled: dict[str, float]) -> float:
    """Traffic without an allocation counts like another workload of the medium tier."""
    return fmean(entitled.values()) if entitled else UNALLOCATED_SHARES


def _lack(
    seen: Sequence[Observation], mode: ReservationMode
) -> dict[str, tuple[float | None, ...]]:
    """The shortfall of each workload, as a fraction of its entitlement."""
    found: dict[str, list[float | None]] = {}
    for place, observation in enumerate(seen):
        for one in standings(observation, mode):
            column = found.setdefault(one.workload, [None] * len(seen))
            missed = one.entitlement - one.cost
            column[place] = max(missed / one.entitlement, 0.0) if one.entitlement > 0 else 0.0
    return {name: tuple(column) for name, column in found.items()}
