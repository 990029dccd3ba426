"""The past week of a resource for backtests: coarse, and fine in the incident."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from advisor.core.forecast.past import Past
from advisor.history.allocation_history import (
    AllocationHistory,
    allocation_history,
    history_over,
    past_outcomes,
)
from advisor.history.reader import read_history
from advisor.history.whole_windows import last_window_end, whole_windows
from advisor.models import Allocation, Incident, Policy, Resource
from ingest.core.grid import grid_of
from ingest.core.steps import coarse_step_s

LENGTH = timedelta(days=7)
MOST_WINDOWS = 336
"""A week in half hours."""
MOST_CELLS = 20_000
"""Limit of windows times allocations, so that stored advice stays below a megabyte."""
FEWEST_WINDOWS = 48


def past_week(
    *,
    resource: Resource,
    allocations: Sequence[Allocation],
    policy: Policy | None,
    incident: Incident,
    now: datetime,
) -> Past:
    """Seven days up to now; the incident in windows short enough to show it."""
    most = max(FEWEST_WINDOWS, min(MOST_WINDOWS, MOST_CELLS // max(len(allocations), 1)))
    ends = whole_windows(resource, now=now)
    week = allocation_history(
        resource=resource,
        allocations=allocations,
        policy=policy,
        length=LENGTH,
        now=now,
        most_windows=most,
    )
    ended_at = min(incident.ended_at or ends, ends)
    if ended_at <= incident.started_at:
        return _past(resource, [week])
    fine_s = max(
        float(coarse_step_s(ended_at - incident.started_at, most)), float(resource.window_s)
    )
    since = max(incident.started_at, ended_at - LENGTH)
    fine = grid_of(since, last_window_end(ended_at, fine_s), fine_s)
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
