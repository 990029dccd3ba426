"""What advice on a policy is decided from: an incident, its workloads, and the week before."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from advisor.advice.policy.decide.policy_inputs import (
    AdviceAllocation,
    AdviceInputs,
    summarize_rates,
)
from advisor.core.allocation import ReservationMode
from advisor.core.canonical import loads
from advisor.core.detection import incident as core_incident
from advisor.core.forecast.past import Past
from advisor.core.grant import Grant
from advisor.core.resource import Tier, Unit
from advisor.history.allocation_history import (
    AllocationHistory,
    allocation_history,
    history_over,
    past_outcomes,
)
from advisor.history.history import History
from advisor.history.reader import read_history
from advisor.models import Allocation, Incident, Policy, Resource, State
from ingest.core.grid import Flags, Floats, Grid, grid_of, microseconds
from ingest.core.steps import coarse_step_s

USUAL_SPAN = timedelta(hours=24)
"""What a workload takes when nothing holds it back is learnt from the last day."""

GONE = timedelta(minutes=5)
"""Samples may come late, but not so late."""

WEEK = timedelta(days=7)
MOST_WINDOWS = 336
"""A week in half hours."""
MOST_CELLS = 20_000
"""Limit of windows times allocations, so that stored advice stays below a megabyte."""
FEWEST_WINDOWS = 48


def policy_inputs(
    resource: Resource, incident: Incident, *, judged_until: datetime | None, now: datetime
) -> AdviceInputs:
    """The inputs as they are known now; the past ends with the last window that was judged."""
    ended_at = incident.ended_at or now
    allocations = list(
        resource.allocations.select_related("workload", "host", "resource").order_by("pk")
    )
    history = read_history(
        resource,
        grid_of(ended_at - USUAL_SPAN, ended_at, resource.window_s),
        allocations=allocations,
    )
    policy = resource.policies.order_by("-version").first()
    return AdviceInputs(
        resource=resource.name,
        kind=resource.kind,
        unit=Unit(resource.unit),
        mode=ReservationMode(resource.mode),
        capacity=resource.capacity,
        reservable=resource.reservable,
        began_at=incident.started_at,
        ended_at=ended_at,
        allocations=_allocations(history, incident.started_at),
        incident=_core_incident(incident),
        in_force=_in_force(policy),
        past=_past_week(
            resource, allocations, policy=policy, incident=incident, until=judged_until or now
        ),
    )


def _allocations(history: History, began_at: datetime) -> tuple[AdviceAllocation, ...]:
    """What each allocation took in the incident, and in the clear windows before it."""
    grid, levels, own = history.grid, history.levels, history.allocations
    congested = grid.ends_us > microseconds(began_at)
    # The windows by which congestion was recognised were called clear at first.
    calm = np.zeros(grid.count, dtype=np.bool_)
    clear = levels.places(grid)[levels.is_state(State.CLEAR)]
    calm[clear[clear >= 0]] = True
    calm &= ~congested
    unit = Unit(history.resource.unit)
    found = []
    for place, row in enumerate(own.rows):
        rate = own.rate[:, place]
        known = ~np.isnan(rate)
        found.append(
            AdviceAllocation(
                allocation=row.pk,
                workload=row.workload.name,
                host=row.host.name,
                tier=Tier(row.workload.tier),
                reservation=row.reservation,
                limit=row.limit,
                shares=row.shares,
                congested=summarize_rates(
                    rate[known & congested].tolist(),
                    span_days=(grid.until - began_at) / timedelta(days=1),
                ),
                usual=summarize_rates(
                    rate[known & calm].tolist(), span_days=USUAL_SPAN / timedelta(days=1)
                ),
                active=_is_active(rate, congested, grid),
                backlogged=_mostly(own.backlogged[known & congested, place]),
                mean_io_bytes=_mean_io_bytes(
                    rate[congested], own.mean_io_bytes[congested, place], unit
                ),
            )
        )
    return tuple(found)


def _mean_io_bytes(rate: Floats, size: Floats, unit: Unit) -> float | None:
    """Bytes over I/Os of the windows in which the size was measured; arguments (windows)."""
    known = size > 0
    rate, size = rate[known], size[known]
    ios = rate / size if unit is Unit.BYTES_PER_S else rate
    whole = float(ios.sum())
    return float((ios * size).sum()) / whole if whole > 0 else None


def _is_active(rate: Floats, congested: Flags, grid: Grid) -> bool:
    """Whether it did anything, and is not gone: what does not send any more wants nothing."""
    if not (rate[congested] > 0).any():
        return False
    newest = int(np.flatnonzero(congested & ~np.isnan(rate))[-1])
    gone_us = max(GONE / timedelta(microseconds=1), 2 * grid.window_us)
    return bool(grid.ends_us[newest] > grid.until_us - gone_us)


def _mostly(queued: Floats) -> bool | None:
    """Whether most of the known windows are 1; NaN is unknown. (windows)"""
    known = queued[~np.isnan(queued)]
    return bool(known.sum() * 2 > len(known)) if len(known) else None


def _core_incident(row: Incident) -> core_incident.Incident:
    plain = {
        "started_at": row.started_at.isoformat(),
        "ended_at": row.ended_at.isoformat() if row.ended_at else None,
        "peak_value": row.peak_value,
        "threshold": row.threshold,
        "windows": row.windows,
        "stalled_windows": row.stalled_windows,
        "victims": row.victims,
        "aggressors": row.aggressors,
        "evidence": row.evidence,
        "signals": row.signals,
    }
    return loads(core_incident.Incident, json.dumps(plain))


def _in_force(policy: Policy | None) -> tuple[Grant, ...]:
    return tuple(
        Grant(
            allocation=item["allocation"],
            reservation=item["reservation"],
            limit=item["limit"],
            shares=item["shares"],
        )
        for item in (policy.allocations if policy else ())
    )


def _past_week(
    resource: Resource,
    allocations: Sequence[Allocation],
    *,
    policy: Policy | None,
    incident: Incident,
    until: datetime,
) -> Past:
    """Seven days: coarse, and in the incident in windows short enough to show it."""
    most = max(FEWEST_WINDOWS, min(MOST_WINDOWS, MOST_CELLS // max(len(allocations), 1)))
    week = allocation_history(
        resource=resource,
        allocations=allocations,
        policy=policy,
        length=WEEK,
        until=until,
        most_windows=most,
    )
    ended_at = min(incident.ended_at or until, until)
    if ended_at <= incident.started_at:
        return _past(resource, [week])
    fine_s = max(
        float(coarse_step_s(ended_at - incident.started_at, most)), float(resource.window_s)
    )
    since = max(incident.started_at, ended_at - WEEK)
    fine = grid_of(since, ended_at, fine_s)
    crowded = history_over(read_history(resource, fine, allocations=allocations), policy)
    return _past(resource, [_without(week, incident.started_at, ended_at), crowded])


def _without(history: AllocationHistory, since: datetime, until: datetime) -> AllocationHistory:
    """The history without the windows that reach into this time."""
    keep = [
        place
        for place, window in enumerate(history.windows)
        if window.at <= since or window.at - timedelta(seconds=window.window_s) >= until
    ]
    return AllocationHistory(
        began_at=history.began_at,
        ended_at=history.ended_at,
        windows=tuple(history.windows[place] for place in keep),
        congested=tuple(history.congested[place] for place in keep),
        measured=history.measured,
        largest=history.largest,
        rates=tuple(history.rates[place] for place in keep),
        latency_ms=tuple(history.latency_ms[place] for place in keep if history.latency_ms),
        latency_gap=history.latency_gap,
    )


def _past(resource: Resource, parts: Sequence[AllocationHistory]) -> Past:
    """The parts one after the other."""
    windows = tuple(window for part in parts for window in part.windows)
    known = any(part.latency_ms for part in parts)
    return Past(
        windows=windows,
        congested=tuple(bad for part in parts for bad in part.congested),
        rates=tuple(row for part in parts for row in part.rates),
        latency_ms=tuple(
            value for part in parts for value in (part.latency_ms or (None,) * len(part.windows))
        )
        if known
        else (),
        outcomes=past_outcomes(resource),
        gap="" if windows else "no samples were stored in the past week",
        latency_gap="" if known else parts[-1].latency_gap,
    )
