"""The past demands of a resource's allocations, in few enough windows to simulate."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean

from django.core.cache import cache

from advisor.core.forecast.history import HistoryWindow, history_of
from advisor.core.forecast.past import Row
from advisor.core.observation import AllocationObservation, UplinkObservation
from advisor.core.own_limit import reaches_limit
from advisor.history.observe import whole_windows, windows_of
from advisor.history.windows import Span, last_window_end, window_end
from advisor.models import Allocation, Policy, Resource, State, StatePoint, Unit
from ingest.readings import coarse_step_s

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
    now: datetime,
    most_windows: int = MOST_WINDOWS,
) -> AllocationHistory:
    """The history of the last `length`, kept in the cache for minutes."""
    step_s = max(float(coarse_step_s(length, most_windows)), resource.window_s)
    until = last_window_end(whole_windows(resource, now=now), step_s)
    span = Span(since=until - length, until=until, window_s=step_s)
    key = history_key(
        resource=resource.pk,
        capacity=resource.capacity,
        policy=policy.pk if policy else None,
        allocations=[allocation.pk for allocation in allocations],
        span=span,
    )
    found: AllocationHistory | None = cache.get(key)
    if found is None:
        found = history_over(resource=resource, allocations=allocations, policy=policy, span=span)
        cache.set(key, found, KEPT_S)
    return found


def history_key(
    *,
    resource: int,
    capacity: float | None,
    policy: int | None,
    allocations: Sequence[int],
    span: Span,
) -> str:
    """The cache key of a history: a digest, because keys must be short."""
    window = (span.since.timestamp(), span.until.timestamp(), span.window_s)
    asked = repr((resource, capacity, policy, window, tuple(allocations)))
    return f"allocation-history-3:{hashlib.sha256(asked.encode()).hexdigest()}"


Rates = dict[datetime, tuple[float, bool | None]]
_ABSENT: tuple[float | None, bool | None] = (None, None)


def history_over(
    *, resource: Resource, allocations: Sequence[Allocation], policy: Policy | None, span: Span
) -> AllocationHistory:
    """The history of these windows, all of which are over."""
    measured = windows_of(allocations, span=span, max_points=MOST_WINDOWS)
    rates: list[Rates] = [
        {found.at: (_short(found.rate), found.backlogged) for found in measured[allocation.pk]}
        for allocation in allocations
    ]
    ends = sorted(set().union(*rates))
    levels = _levels(resource, span)
    congested = {end for end, level in levels.items() if level.is_congested}
    latency, latency_gap = _latency(resource, ends, levels)
    observed = [_observation(at, rates, span.window_s) for at in ends]
    largest = max(
        (sum(allocation.rate for allocation in one.allocations) for one in observed), default=0.0
    )
    windows = history_of(
        observed,
        [str(index) for index in range(len(allocations))],
        capacity=resource.capacity or largest,
        congested=congested,
    )
    held = _limits_in_force(allocations, policy)
    return AllocationHistory(
        began_at=span.since,
        ended_at=span.until,
        windows=tuple(_held_back(window, rates, held, policy) for window in windows),
        congested=tuple(at in congested for at in ends),
        measured=tuple(_measured(found, congested) for found in rates),
        largest=largest,
        rates=tuple(tuple(found.get(at, _ABSENT)[0] for found in rates) for at in ends),
        latency_ms=latency,
        latency_gap=latency_gap,
    )


def _observation(at: datetime, rates: Sequence[Rates], window_s: float) -> UplinkObservation:
    """One window; allocations are named by their index, because names may repeat."""
    return UplinkObservation(
        at=at,
        window_s=window_s,
        tx_bits_per_s=None,
        capacity_bits_per_s=None,
        allocations=tuple(
            AllocationObservation(workload=str(index), rate=found[at][0], backlogged=found[at][1])
            for index, found in enumerate(rates)
            if at in found
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Level:
    """The mean of the levels in a window, and whether most were congested."""

    value: float | None
    is_congested: bool


def _levels(resource: Resource, span: Span) -> dict[datetime, _Level]:
    """Levels by end of window; it is congested if the resource was for half of the time."""
    points = StatePoint.objects.filter(resource=resource, at__gt=span.since, at__lte=span.until)
    found: dict[datetime, list[tuple[str, float | None]]] = defaultdict(list)
    middle = timedelta(seconds=resource.window_s / 2)
    for at, state, value, *load in points.values_list(
        "at", "state", "value", "load", "device_load"
    ):
        measured = _as_measured(value, *load)
        found[window_end(at - middle, span.window_s)].append((state, measured))
    return {end: _level(rows) for end, rows in found.items()}


def _as_measured(
    value: float | None, load: float | None, device_load: float | None
) -> float | None:
    """The latency at the window's own I/O size; the stored one is at the reference size."""
    if value is None or not load or not device_load:
        return value
    return value * (device_load / load)


def _level(rows: Sequence[tuple[str, float | None]]) -> _Level:
    values = [value for _, value in rows if value is not None]
    bad = sum(state == State.CONGESTED for state, _ in rows)
    return _Level(
        value=fmean(values) if values else None,
        is_congested=2 * bad >= len(rows),
    )


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


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _limits_in_force(
    allocations: Sequence[Allocation], policy: Policy | None
) -> list[float | None]:
    limits: dict[int, float | None] = defaultdict(lambda: None)
    if policy is not None:
        limits.update({item["allocation"]: item["limit"] for item in policy.allocations})
    return [limits[allocation.pk] for allocation in allocations]


def _held_back(
    window: HistoryWindow,
    rates: Sequence[Rates],
    limits: Sequence[float | None],
    policy: Policy | None,
) -> HistoryWindow:
    """Demands with None where an enforced limit held the allocation back."""
    if policy is None or window.at < policy.created_at:
        return window
    demands = tuple(
        None if reaches_limit(found.get(window.at, (0.0, None))[0], limit) else demand
        for demand, found, limit in zip(window.demands, rates, limits, strict=True)
    )
    return HistoryWindow(
        at=window.at, window_s=window.window_s, capacity=window.capacity, demands=demands
    )


def _measured(found: Rates, congested: set[datetime]) -> float | None:
    values = [rate for at, (rate, _) in found.items() if at in congested]
    values = values or [rate for rate, _ in found.values()]
    return sum(values) / len(values) if values else None
