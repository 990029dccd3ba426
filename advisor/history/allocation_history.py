"""The past of a resource's allocations: demands in few enough windows to simulate, and the
outcomes of predictions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
from django.core.cache import cache

from advisor.core.forecast.past import HistoryWindow, Row, history_of
from advisor.core.forecast.prediction_interval import ENOUGH_OUTCOMES, Outcome
from advisor.core.own_limit import reaches_limit
from advisor.history.history import History, numbers
from advisor.history.levels import Levels
from advisor.history.reader import read_history
from advisor.models import Allocation, Policy, PredictionScore, Resource, State, Unit
from ingest.core.grid import Flags, Floats, Grid, grid_of
from ingest.core.steps import coarse_step_s

MOST_WINDOWS = 720
"""A day in windows of two minutes: enough to see contention, few enough to answer at once."""

KEPT_S = 600

DIGITS = 6
"""More digits of a measured rate only make the stored text longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationHistory:
    """Windows with one demand per allocation; `measured` is the mean rate of each allocation.

    `measured` is over the congested windows, or over all if there are none; None means that an
    allocation has no samples. `largest` is the highest total rate of a window. `rates` has the
    rate of each; `latency_ms` and `latency_gap` are as in `Past`.
    """

    began_at: datetime
    ended_at: datetime
    windows: tuple[HistoryWindow, ...]
    congested: tuple[bool, ...]
    measured: tuple[float | None, ...]
    largest: float
    rates: tuple[Row, ...]
    latency_ms: Row
    latency_gap: str


def allocation_history(
    *,
    resource: Resource,
    allocations: Sequence[Allocation],
    policy: Policy | None,
    length: timedelta,
    until: datetime,
    most_windows: int = MOST_WINDOWS,
) -> AllocationHistory:
    """The history of the last `length` before `until`, kept in the cache for minutes."""
    step_s = max(float(coarse_step_s(length, most_windows)), resource.window_s)
    last = grid_of(until - length, until, step_s).until
    grid = grid_of(last - length, last, step_s)
    key = history_key(
        resource=resource.pk,
        capacity=resource.capacity,
        policy=policy.pk if policy else None,
        allocations=[allocation.pk for allocation in allocations],
        grid=grid,
    )
    found: AllocationHistory | None = cache.get(key)
    if found is None:
        history = read_history(resource, grid, allocations=allocations)
        found = history_over(history, policy)
        cache.set(key, found, KEPT_S)
    return found


def history_key(
    *,
    resource: int,
    capacity: float | None,
    policy: int | None,
    allocations: Sequence[int],
    grid: Grid,
) -> str:
    """The cache key of a history: a digest, because keys must be short."""
    window = (grid.since_us, grid.until_us, grid.window_us)
    asked = repr((resource, capacity, policy, window, tuple(allocations)))
    return f"allocation-history-4:{hashlib.sha256(asked.encode()).hexdigest()}"


def history_over(history: History, policy: Policy | None) -> AllocationHistory:
    """The allocations of these windows, all of which are over; `policy` was in force meanwhile."""
    resource, own = history.resource, history.allocations
    kept: Flags = np.logical_or.reduce(own.measured, axis=1)
    rates = _short_columns(own.rate[kept])
    ends = [at for at, keep in zip(history.grid.ends, kept.tolist(), strict=True) if keep]
    levels = _levels(history)
    crowded = [at in levels and levels[at].is_congested for at in ends]
    latency, latency_gap = _latency(resource, ends, levels)
    largest = float(np.nansum(rates, axis=1).max()) if ends else 0.0
    windows = history_of(
        ends,
        rates,
        own.backlogged[kept],
        window_s=history.grid.window_s,
        capacity=resource.capacity or largest,
        congested=crowded,
    )
    return AllocationHistory(
        began_at=history.grid.since,
        ended_at=history.grid.until,
        windows=tuple(_held_back(windows, rates, own.rows, policy)),
        congested=tuple(crowded),
        measured=_measured(rates, crowded),
        largest=largest,
        rates=tuple(tuple(numbers(row)) for row in rates),
        latency_ms=latency,
        latency_gap=latency_gap,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """The mean of the levels in a window, and whether most were congested."""

    value: float | None
    is_congested: bool


def _levels(history: History) -> dict[datetime, _Level]:
    """Levels by end of window; it is congested if the resource was for half of the time."""
    levels, ends = history.levels, history.grid.ends
    places = levels.places(history.grid)
    values, bad = _as_measured(levels), levels.is_state(State.CONGESTED)
    found: dict[datetime, _Level] = {}
    for place in np.unique(places[places >= 0]).tolist():
        own = places == place
        known = values[own & ~np.isnan(values)]
        found[ends[place]] = _Level(
            value=float(known.mean()) if len(known) else None,
            is_congested=2 * int(bad[own].sum()) >= int(own.sum()),
        )
    return found


def _as_measured(levels: Levels) -> Floats:
    """The latency at the windows' own I/O size; the stored one is at the reference size."""
    known = (levels.load > 0) & (levels.device_load > 0)
    factor = np.where(known, levels.device_load / np.where(known, levels.load, 1.0), 1.0)
    result: Floats = levels.value * factor
    return result


def _latency(
    resource: Resource, ends: Sequence[datetime], levels: Mapping[datetime, _Level]
) -> tuple[Row, str]:
    """The device's latency in each window, or why it is unknown."""
    if gap := resource.traits.latency_gap:
        return (), gap
    if resource.unit != Unit.IOPS:
        return (), "its rates are in bytes, and latency needs I/Os"
    found = [levels[end].value if end in levels else None for end in ends]
    if all(value is None for value in found):
        return (), "no latency was measured in that time"
    return tuple(None if value is None else _short(value) for value in found), ""


def _short_columns(rates: Floats) -> Floats:
    """Rounded to `DIGITS`; NaN stays."""
    short = [[_short(value) for value in row] for row in rates.tolist()]
    return np.array(short, dtype=np.float64).reshape(rates.shape)


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _held_back(
    windows: Sequence[HistoryWindow],
    rates: Floats,
    allocations: Sequence[Allocation],
    policy: Policy | None,
) -> list[HistoryWindow]:
    """Demands with None where a limit of the policy held an allocation back."""
    limits = {item["allocation"]: item["limit"] for item in (policy.allocations if policy else ())}
    held = [limits.get(allocation.pk) for allocation in allocations]
    if policy is None or not any(held):
        return list(windows)
    return [
        replace(
            window,
            demands=tuple(
                None if reaches_limit(rate, limit) else demand
                for demand, rate, limit in zip(window.demands, row, held, strict=True)
            ),
        )
        if window.at >= policy.created_at
        else window
        for window, row in zip(windows, rates.tolist(), strict=True)
    ]


def _measured(rates: Floats, congested: Sequence[bool]) -> tuple[float | None, ...]:
    """The mean of each allocation over the congested windows, or over all if it has none there."""
    found: list[float | None] = []
    bad = np.array(congested, dtype=np.bool_)
    for column in rates.T:
        known = ~np.isnan(column)
        values = column[known & bad] if (known & bad).any() else column[known]
        found.append(float(values.mean()) if len(values) else None)
    return tuple(found)


MOST_SCORES = 50
"""Older predictions belong to another load."""


def past_outcomes(resource: Resource) -> tuple[Outcome, ...]:
    """Those of this resource, or of all of its kind in the organisation while it has too few.

    In the order in which they were scored.
    """
    own = _outcomes(resource=resource)
    if len(own) >= ENOUGH_OUTCOMES:
        return own
    return _outcomes(resource__organisation=resource.organisation, resource__kind=resource.kind)


def _outcomes(**of: object) -> tuple[Outcome, ...]:
    rows = PredictionScore.objects.filter(
        **{f"recommendation__{name}": value for name, value in of.items()}
    ).order_by("-scored_at", "-pk")[:MOST_SCORES]
    return tuple(
        Outcome(predicted=rate["predicted"], measured=rate["measured"])
        for row in reversed(rows)
        for rate in row.rates
        if rate["predicted"] > 0
    )
