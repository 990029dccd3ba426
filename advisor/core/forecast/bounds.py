"""Bound past demands by the most that each allocation is known to have wanted.

Under contention a demand is unknown and counts as unlimited, so a simulated rate can be many times
what an allocation ever took. A bound limits it to the known maximum, or to the measured rate if
that was higher.
Latency is simulated without bounds, because it depends on how fast an allocation is served.
"""

from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from advisor.core.forecast.past import HistoryWindow, Past

HEADROOM = 1.05
ENOUGH_CALM_WINDOWS = 30

Bounds = Sequence[float | None]
"""The known maximum demand of each allocation, None if unknown; empty means no bounds."""


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
