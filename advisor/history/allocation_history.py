"""The past of a resource's allocations: demands in few enough windows to simulate, and the
outcomes of predictions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from operator import itemgetter

import numpy as np
from django.core.cache import cache
from django.db.models import QuerySet, Value

from advisor.core.forecast.past import Past, Windows, windows_between
from advisor.core.forecast.prediction_interval import ENOUGH_OUTCOMES, Outcome
from advisor.core.own_limit import AT_LIMIT_RATIO
from advisor.history.history import Workloads
from advisor.history.inventory import Inventory
from advisor.history.levels import mean_levels
from advisor.history.reader import read_workloads
from advisor.models import Allocation, Policy, PredictionScore, Resource, State, Unit
from ingest.core.grid import Flags, Floats, Grid, Integers, grid_of, microseconds
from ingest.core.steps import coarse_step_s

MOST_WINDOWS = 720
"""A day in windows of two minutes: enough to see contention, few enough to answer at once."""

KEPT_S = 600

DIGITS = 6
"""More digits of a measured rate only make the stored text longer."""
_TENS = np.array([float(10**power) for power in range(23)])
"""The powers of ten that are exact as floats."""
NEAR_THE_MIDDLE = 1e-6
"""Far above the rounding error of a number with `DIGITS` digits before its point."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllocationHistory:
    """Windows with one demand per allocation; `measured` is the mean rate of each allocation.

    `measured` is over the congested windows, or over all if there are none; None means that an
    allocation has no samples. `largest` is the highest total rate of a window. `past` knows no
    outcomes.
    """

    began_at: datetime
    ended_at: datetime
    past: Past
    measured: tuple[float | None, ...]
    largest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedHistory:
    """A history that is kept for minutes: its windows, and what is `kept` of them, if it is."""

    grid: Grid
    key: str
    kept: AllocationHistory | None

    def keep(self, found: AllocationHistory) -> AllocationHistory:
        """The history that was asked for, in the cache from now on."""
        cache.set(self.key, found, KEPT_S)
        return found


def asked_history(
    *,
    resource: Resource,
    allocations: Sequence[Allocation],
    policy: Policy | None,
    length: timedelta,
    until: datetime,
    most_windows: int = MOST_WINDOWS,
) -> AskedHistory:
    """That of the last `length` before `until`; nothing is read for it."""
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
    return AskedHistory(grid=grid, key=key, kept=cache.get(key))


def allocation_history(
    inventory: Callable[[], Inventory],
    *,
    resource: Resource,
    allocations: Sequence[Allocation],
    policy: Policy | None,
    length: timedelta,
    until: datetime,
) -> AllocationHistory:
    """The history of the last `length` before `until`, kept in the cache for minutes.

    The inventory of the allocations is asked for only if it has to be read.
    """
    asked = asked_history(
        resource=resource, allocations=allocations, policy=policy, length=length, until=until
    )
    if asked.kept is not None:
        return asked.kept
    return asked.keep(
        history_over(read_workloads(resource, asked.grid, inventory=inventory()), policy)
    )


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
    return f"allocation-history-5:{hashlib.sha256(asked.encode()).hexdigest()}"


def history_over(workloads: Workloads, policy: Policy | None) -> AllocationHistory:
    """The allocations of these windows, all of which are over; `policy` was in force meanwhile."""
    resource, grid = workloads.resource, workloads.grid
    kept: Flags = np.logical_or.reduce(~np.isnan(workloads.rate), axis=1)
    rates = significant(workloads.rate[kept])
    latency, crowded = _levels(workloads)
    latency, crowded = latency[kept], crowded[kept]
    largest = float(np.nansum(rates, axis=1).max()) if len(rates) else 0.0
    windows = windows_between(
        grid.ends_us[kept],
        rates,
        workloads.backlogged[kept],
        window_s=grid.window_s,
        capacity=resource.capacity or largest,
        congested=crowded,
    )
    latency_gap = _latency_gap(resource, latency)
    return AllocationHistory(
        began_at=grid.since,
        ended_at=grid.until,
        past=Past(
            windows=_held_back(windows, rates, workloads.rows, policy),
            congested=crowded,
            rates=rates,
            latency_ms=None if latency_gap else significant(latency),
            latency_gap=latency_gap,
        ),
        measured=_measured(rates, crowded),
        largest=largest,
    )


def _levels(workloads: Workloads) -> tuple[Floats, Flags]:
    """The mean level of each window, and whether it is congested: for half of its time or more.

    Both are (windows); NaN is unknown.
    """
    levels = workloads.levels
    places = levels.places(workloads.grid)
    bad = levels.is_state(State.CONGESTED)
    count = workloads.grid.count
    inside = places >= 0
    levels_in = np.bincount(places[inside], minlength=count)
    bad_in = np.bincount(places[inside & bad], minlength=count)
    return mean_levels(levels, workloads.grid), (levels_in > 0) & (2 * bad_in >= levels_in)


def _latency_gap(resource: Resource, latency: Floats) -> str:
    """Why the latency of the device is unknown in all windows; empty if it is known in some."""
    if gap := resource.traits.latency_gap:
        return gap
    if resource.unit != Unit.IOPS:
        return "its rates are in bytes, and latency needs I/Os"
    return "no latency was measured in that time" if np.isnan(latency).all() else ""


def significant(values: Floats) -> Floats:
    """Rounded to `DIGITS`, as Python rounds their exact values; NaN stays. They are not negative.

    A whole number of digits times or over a power of ten that a float holds exactly is rounded
    once. What lies so close to the middle that the scaled number cannot tell is left to Python.
    """
    found = values.copy()
    known = np.isfinite(values) & (values > 0)
    amount = values[known]
    power = DIGITS - 1 - np.floor(np.log10(amount)).astype(np.int64)
    scaled = _shifted(amount, power)
    whole = np.rint(scaled)
    unsure = np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) < NEAR_THE_MIDDLE
    unsure |= (whole < 10 ** (DIGITS - 1)) | (np.abs(power) >= len(_TENS))
    short = _shifted(whole, -power)
    short[unsure] = [float(f"{value:.{DIGITS}g}") for value in amount[unsure].tolist()]
    found[known] = short
    return found


def _shifted(values: Floats, power: Integers) -> Floats:
    """The values times ten to this power, each rounded once where that power is exact."""
    scale = _TENS[np.minimum(np.abs(power), len(_TENS) - 1)]
    with np.errstate(over="ignore"):
        result: Floats = np.where(power >= 0, values * scale, values / scale)
    return result


def _held_back(
    windows: Windows, rates: Floats, allocations: Sequence[Allocation], policy: Policy | None
) -> Windows:
    """Demands without an end where a limit of the policy held an allocation back."""
    limits = {item["allocation"]: item["limit"] for item in (policy.allocations if policy else ())}
    held = np.array([limits.get(allocation.pk) for allocation in allocations], dtype=np.float64)
    if policy is None or np.isnan(held).all():
        return windows
    since = windows.at_us >= microseconds(policy.created_at)
    at_limit = since[:, np.newaxis] & (rates >= AT_LIMIT_RATIO * held)
    return replace(windows, demands=np.where(at_limit, np.inf, windows.demands))


def _measured(rates: Floats, congested: Flags) -> tuple[float | None, ...]:
    """The mean of each allocation over the congested windows, or over all if it has none there."""
    if len(rates) and not np.isnan(rates).any():
        own = rates[congested] if congested.any() else rates
        # A line for each allocation: its mean has the digits of that of the line alone.
        return tuple(np.ascontiguousarray(own.T).mean(axis=1).tolist())
    found: list[float | None] = []
    for column in rates.T:
        known = ~np.isnan(column)
        values = column[known & congested] if (known & congested).any() else column[known]
        found.append(float(values.mean()) if len(values) else None)
    return tuple(found)


MOST_SCORES = 50
"""Older predictions belong to another load."""


def past_outcomes(resource: Resource) -> tuple[Outcome, ...]:
    """Those of this resource, or of all of its kind in the organisation while it has too few.

    In the order in which they were scored.
    """
    alike = _newest_scores(
        resource__organisation=resource.organisation_id, resource__kind=resource.kind
    )
    found: dict[bool, list[Outcome]] = {True: [], False: []}
    scores = _newest_scores(resource=resource).annotate(of_resource=Value(value=True))
    scores = scores.union(alike.annotate(of_resource=Value(value=False)), all=True)
    fields = ("of_resource", "rates", "scored_at", "pk")
    for is_own, rates, _, _ in sorted(scores.values_list(*fields), key=itemgetter(2, 3)):
        found[is_own] += [
            Outcome(predicted=rate["predicted"], measured=rate["measured"])
            for rate in rates
            if rate["predicted"] > 0
        ]
    return tuple(found[len(found[True]) >= ENOUGH_OUTCOMES])


def _newest_scores(**of: object) -> QuerySet[PredictionScore]:
    rows = PredictionScore.objects.filter(
        **{f"recommendation__{name}": value for name, value in of.items()}
    )
    return rows.order_by("-scored_at", "-pk")[:MOST_SCORES]
