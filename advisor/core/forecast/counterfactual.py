"""Stored history under a candidate: gains, losses, minutes, and latency."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.explanation.rounding import round_all, rounded
from advisor.core.forecast.backtest import (
    Change,
    WorkloadBacktest,
    backtest_of,
)
from advisor.core.forecast.comparison import Comparison, Played
from advisor.core.forecast.latency_backtest import (
    ENOUGH_WINDOWS,
    WorkloadLatency,
    latency_backtest,
)
from advisor.core.forecast.past import Bounds, Past, bounded
from advisor.core.forecast.prediction_interval import Interval
from advisor.core.waterfill import Booleans

NO_OUTSTANDING = "the outstanding I/O of each workload is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyEffect:
    """An allocation's 95th percentile of latency under both policies, by Little's law.

    Over the congested windows, or over all if there are none. None has its reason in `gap`.
    `starved` counts minutes in which it would get no I/O at all.
    """

    p95_before_ms: float | None
    p95_after_ms: float | None
    starved_min_before: float
    starved_min_after: float
    gap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationEffect:
    """One allocation: `past` over all windows, `contended` over the congested ones or None.

    `change` is that of the congested windows if there are any.
    """

    allocation: int
    workload: str
    host: str
    change: Change
    past: WorkloadBacktest
    contended: WorkloadBacktest | None
    latency: LatencyEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfactual:
    """The past under a candidate; `idle_ratio` is capacity unused because of limits.

    Windows may differ in length, so their number is not a measure of time.
    """

    hours: float
    congested_hours: float
    windows: int
    congested_windows: int
    idle_ratio_before: float
    idle_ratio_after: float
    allocations: tuple[AllocationEffect, ...]

    def of(self, change: Change) -> tuple[AllocationEffect, ...]:
        """The allocations with this change."""
        return tuple(one for one in self.allocations if one.change is change)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedAllocation:
    """An allocation by its number, with the names to show."""

    allocation: int
    workload: str
    host: str


def counterfactual(
    allocations: Sequence[PlayedAllocation],
    past: Past,
    comparison: Comparison,
    *,
    bounds: Bounds = (),
) -> Counterfactual | None:
    """Simulate the past under both policies; None without windows or allocations.

    `bounds` are the known maximum demands; rates do not exceed them.
    """
    if not allocations or not len(past.windows):
        return None
    names = _names(allocations)
    windows = bounded(past, bounds)
    played = comparison.play(windows, past.pressure)
    whole, contended, congested = backtest_of(names, windows, played), None, None
    if past.congested.any():
        congested = past.contended()
        # Windows are independent of each other: what was played of all holds for these.
        contended = backtest_of(
            names, windows.chosen(past.congested), _chosen(played, past.congested)
        )
    latencies = _latencies(allocations, congested or past, comparison)
    of_all = round_all(whole.workloads)
    of_contended = round_all(contended.workloads) if contended else ()
    return Counterfactual(
        hours=rounded(past.hours),
        congested_hours=rounded(congested.hours) if congested else 0.0,
        windows=len(past.windows),
        congested_windows=int(past.congested.sum()),
        idle_ratio_before=rounded(whole.idle_ratio_before),
        idle_ratio_after=rounded(whole.idle_ratio_after),
        allocations=tuple(
            AllocationEffect(
                allocation=one.allocation,
                workload=one.workload,
                host=one.host,
                change=(of_contended or of_all)[index].change,
                past=of_all[index],
                contended=of_contended[index] if of_contended else None,
                latency=latencies[index],
            )
            for index, one in enumerate(allocations)
        ),
    )


def _chosen(played: tuple[Played, Played], which: Booleans) -> tuple[Played, Played]:
    """Those of the windows, (windows)."""
    old, new = played
    return old.chosen(which), new.chosen(which)


def _latencies(
    allocations: Sequence[PlayedAllocation], past: Past, comparison: Comparison
) -> Sequence[LatencyEffect]:
    if past.outstanding is None:
        return [unknown_latency(past.latency_gap or NO_OUTSTANDING)] * len(allocations)
    waited = latency_backtest(
        _names(allocations), past.windows, past.outstanding, comparison, pressure=past.pressure
    )
    return [_effect(one) for one in waited]


def _names(allocations: Sequence[PlayedAllocation]) -> list[str]:
    return [str(one.allocation) for one in allocations]


def unknown_latency(gap: str) -> LatencyEffect:
    """No latency, for this reason."""
    return LatencyEffect(
        p95_before_ms=None,
        p95_after_ms=None,
        starved_min_before=0.0,
        starved_min_after=0.0,
        gap=gap,
    )


def _effect(found: WorkloadLatency) -> LatencyEffect:
    gap = ""
    if found.windows < ENOUGH_WINDOWS:
        gap = f"{found.windows} windows with I/O outstanding, {ENOUGH_WINDOWS} are needed"
    elif found.p95_before_ms is None or found.p95_after_ms is None:
        gap = "no I/O would complete in any window"
    return LatencyEffect(
        p95_before_ms=found.p95_before_ms,
        p95_after_ms=found.p95_after_ms,
        starved_min_before=found.starved_min_before,
        starved_min_after=found.starved_min_after,
        gap=gap,
    )


def latency_interval(
    latency: LatencyEffect, rate: float, interval: Interval | None
) -> Interval | None:
    """The interval of latency that belongs to an interval of rates, by Little's law.

    Outstanding I/O, the product of latency and rate, stays constant. None if the rate can be 0.
    """
    if latency.p95_after_ms is None or interval is None or interval.low <= 0 or rate <= 0:
        return None
    return round_all(
        Interval(
            low=latency.p95_after_ms * (rate / interval.high),
            high=latency.p95_after_ms * (rate / interval.low),
            level=interval.level,
        )
    )
