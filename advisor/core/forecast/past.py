"""The past of a resource as input of advice, what-if and simulation: capacity and demands.

Under contention a demand is unknown and counts as unlimited, so a simulated rate can be many times
what an allocation ever took. A bound limits it to the known maximum, or to the measured rate if
that was higher.
Latency is simulated without bounds, because it depends on how fast an allocation is served.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from statistics import fmean

import numpy as np

from advisor.core.forecast.prediction_interval import Outcome
from advisor.core.number_checks import check_amount, check_aware, check_positive
from advisor.core.standing import wanted
from advisor.core.waterfill import Floats

Row = tuple[float | None, ...]
"""One number per allocation, in the order of the allocations; None means not measured."""

HEADROOM = 1.05
ENOUGH_CALM_WINDOWS = 30

Bounds = Sequence[float | None]
"""The known maximum demand of each allocation, None if unknown; empty means no bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryWindow:
    """One past window: the capacity, and the demand of each workload.

    `demands` are in the order of the workloads; None means more than it got, by an unknown amount.
    """

    at: datetime
    window_s: float
    capacity: float
    demands: tuple[float | None, ...]

    def __post_init__(self) -> None:
        check_aware("at", self.at)
        check_positive("window_s", self.window_s)
        check_amount("capacity", self.capacity)
        for value in self.demands:
            check_amount("demand", value)


def history_of(
    ends: Sequence[datetime],
    rate: Floats,
    backlogged: Floats,
    *,
    window_s: float,
    capacity: float,
    congested: Sequence[bool],
) -> list[HistoryWindow]:
    """Past windows in order; an allocation that is absent from a window has no demand.

    `rate` and `backlogged` (1, 0 or NaN) are (windows, allocations); NaN is absent. In `congested`
    windows the capacity is what was delivered, and an allocation that kept up may have wanted
    more. In the others every demand was met.
    """
    known = np.where(np.isnan(rate), 0.0, rate)
    delivered = known.sum(axis=1)
    bad = np.array(congested, dtype=np.bool_)
    # Idle allocations do not tell how much the others keep up with.
    asked = wanted(np.where(known > 0, rate, np.nan), backlogged)
    asked = np.where((backlogged == 1) & ~np.isnan(rate), np.inf, asked)
    demands = np.where(bad[:, None], np.where(np.isnan(asked), known, asked), known)
    capacities = np.where(bad, delivered, np.maximum(capacity, delivered))
    return [
        HistoryWindow(
            at=at,
            window_s=window_s,
            capacity=offered,
            demands=tuple(None if value == inf else value for value in row),
        )
        for at, offered, row in zip(ends, capacities.tolist(), demands.tolist(), strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Windows with one demand per allocation, and the outcomes of earlier predictions.

    `congested` says of each window whether the resource was congested. `rates` (windows,
    allocations) may be empty. `latency_ms` is the device's latency in each window; if it is empty,
    `latency_gap` says why. `gap` says why windows are missing.
    """

    windows: tuple[HistoryWindow, ...] = ()
    congested: tuple[bool, ...] = ()
    rates: tuple[Row, ...] = ()
    latency_ms: Row = ()
    outcomes: tuple[Outcome, ...] = ()
    gap: str = ""
    latency_gap: str = ""

    def __post_init__(self) -> None:
        count = len(self.windows)
        if len(self.congested) != count:
            raise ValueError("congested must have one value per window")
        if len({len(window.demands) for window in self.windows}) > 1:
            raise ValueError("every window must have one demand per allocation")
        if self.rates and len(self.rates) != count:
            raise ValueError("rates must have one row per window")
        if self.latency_ms and len(self.latency_ms) != count:
            raise ValueError("latency_ms must have one value per window")
        for window, row in zip(self.windows, self.rates, strict=False):
            if len(row) != len(window.demands):
                raise ValueError("rates must have one number per allocation")
            _check_row("rate", row)
        _check_row("latency_ms", self.latency_ms)

    @property
    def hours(self) -> float:
        """The time that the windows cover."""
        return sum(window.window_s for window in self.windows) / 3600

    @property
    def outstanding(self) -> tuple[Row, ...]:
        """Outstanding I/Os of each allocation, by Little's law; empty if unknown."""
        if not self.rates or not self.latency_ms:
            return ()
        return tuple(
            tuple(None if rate is None or ms is None else rate * (ms / 1000) for rate in row)
            for row, ms in zip(self.rates, self.latency_ms, strict=True)
        )

    @property
    def pressure(self) -> tuple[tuple[float, ...], ...]:
        """How strongly each allocation competed, as weights: its rates; empty if unknown."""
        return tuple(tuple(rate or 0.0 for rate in row) for row in self.rates)

    def contended(self) -> "Past":
        """The congested windows only."""
        places = [place for place, bad in enumerate(self.congested) if bad]
        return Past(
            windows=tuple(self.windows[place] for place in places),
            congested=(True,) * len(places),
            rates=tuple(self.rates[place] for place in places if self.rates),
            latency_ms=tuple(self.latency_ms[place] for place in places if self.latency_ms),
            outcomes=self.outcomes,
            gap=self.gap,
            latency_gap=self.latency_gap,
        )


def _check_row(name: str, row: Sequence[float | None]) -> None:
    for value in row:
        check_amount(name, value)


def bounds_of(past: Past) -> Bounds:
    """1.05 times the 95th percentile of what each allocation took in calm windows.

    None with fewer than `ENOUGH_CALM_WINDOWS` windows of known demand, and for an allocation that
    took more than that in the congested windows, because its demand there is unknown.
    """
    if not past.windows:
        return ()
    return tuple(_bound(past, place) for place in range(len(past.windows[0].demands)))


def _bound(past: Past, place: int) -> float | None:
    calm = [
        demand
        for window, bad in zip(past.windows, past.congested, strict=True)
        if not bad and (demand := window.demands[place]) is not None
    ]
    if len(calm) < ENOUGH_CALM_WINDOWS or not past.rates:
        return None
    crowded = [
        rate
        for row, bad in zip(past.rates, past.congested, strict=True)
        if bad and (rate := row[place]) is not None
    ]
    bound = HEADROOM * float(np.percentile(calm, 95))
    return None if crowded and fmean(crowded) > bound else bound


def bounded(past: Past, bounds: Bounds) -> tuple[HistoryWindow, ...]:
    """The windows of the past with unknown demands replaced by known bounds."""
    if not past.rates or all(bound is None for bound in bounds):
        return past.windows
    return tuple(
        replace(
            window,
            demands=tuple(
                _least(demand, got, bound)
                for demand, got, bound in zip(window.demands, row, bounds, strict=True)
            ),
        )
        for window, row in zip(past.windows, past.rates, strict=True)
    )


def _least(demand: float | None, got: float | None, bound: float | None) -> float | None:
    if demand is not None or bound is None:
        return demand
    return max(bound, got or 0.0)
