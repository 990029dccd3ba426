"""Backtest the latency of workloads under a policy, by Little's law.

A workload with N I/Os outstanding and X per second waits N / X for each. The outstanding I/O was
measured; the rate comes from the solver. So the prediction assumes that clients keep as much
outstanding as they did.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.core.dependence import Floats
from advisor.core.explanation.rounding import round_all
from advisor.core.forecast.comparison import Comparison, Pressure
from advisor.core.forecast.past import Table, Windows

ENOUGH_WINDOWS = 30
PERCENTILE = 95
SLOWEST_IOPS = 1e-6
"""Less than one I/O in eleven days is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadLatency:
    """One workload's latency under both policies, over all its I/Os.

    None means too few windows with known outstanding I/O. `starved_min` is the time in which it
    wanted I/O and would get none, so that there is no latency.
    """

    workload: str
    p95_before_ms: float | None
    p95_after_ms: float | None
    starved_min_before: float
    starved_min_after: float
    windows: int


def latency_backtest(
    workloads: Sequence[str],
    windows: Windows,
    outstanding: Table,
    comparison: Comparison,
    *,
    pressure: Pressure = None,
) -> tuple[WorkloadLatency, ...]:
    """Simulate the windows under both policies; for datastores, because it needs rates of I/O.

    `outstanding` and `pressure` are (windows, workloads). Workloads,
    demands and grants are in one order.
    """
    if len(workloads) != len(comparison.before):
        raise ValueError("both policies must have one grant per workload")
    waited = _waited(len(workloads), windows, outstanding)
    if not len(windows) or not workloads:
        return tuple(_nothing(name) for name in workloads)
    old, new = comparison.play(windows, pressure)
    return round_all(
        tuple(
            _latency(name, waited.only([index]), (old.rates[:, [index]], new.rates[:, [index]]))
            for index, name in enumerate(workloads)
        )
    )


def joint_latency(
    windows: Windows,
    outstanding: Table,
    members: Sequence[int],
    comparison: Comparison,
    *,
    pressure: Pressure = None,
) -> WorkloadLatency:
    """The same for several workloads together; `members` are their indexes."""
    name = "together"
    if not len(windows) or not members:
        return _nothing(name)
    waited = _waited(len(comparison.before), windows, outstanding)
    places = list(members)
    old, new = (one.rates[:, places] for one in comparison.play(windows, pressure))
    return round_all(_latency(name, waited.only(places), (old, new)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waited:
    """Outstanding I/Os (windows, workloads), NaN if not measured; minutes (windows)."""

    outstanding: Floats
    minutes: Floats

    def only(self, places: Sequence[int]) -> "_Waited":
        """The columns of these workloads."""
        return _Waited(outstanding=self.outstanding[:, list(places)], minutes=self.minutes)


def _waited(workloads: int, windows: Windows, outstanding: Table) -> _Waited:
    rows = np.array(outstanding, dtype=np.float64)
    if len(rows) != len(windows):
        raise ValueError("every window must have a row of outstanding I/O")
    if len(rows) and not windows.demands.shape[1] == rows.shape[1] == workloads:
        raise ValueError("every window must have one demand and one number outstanding each")
    if len(wrong := rows[np.isinf(rows) | (rows < 0)]):
        raise ValueError(f"outstanding is {wrong[0]}; it must be a finite number of at least 0")
    return _Waited(outstanding=rows, minutes=windows.window_s / 60)


def _nothing(name: str) -> WorkloadLatency:
    return WorkloadLatency(
        workload=name,
        p95_before_ms=None,
        p95_after_ms=None,
        starved_min_before=0.0,
        starved_min_after=0.0,
        windows=0,
    )


def _latency(name: str, waited: _Waited, rates: tuple[Floats, Floats]) -> WorkloadLatency:
    known = ~np.isnan(waited.outstanding) & (waited.outstanding > 0)
    count = int(np.count_nonzero(known.any(axis=1)))
    minutes = np.broadcast_to(waited.minutes[:, None], known.shape)[known]
    waiting = waited.outstanding[known]
    p95 = [_p95(waiting, rate[known], minutes) for rate in rates]
    if count < ENOUGH_WINDOWS:
        p95 = [None, None]
    starved = [float(minutes[rate[known] < SLOWEST_IOPS].sum()) for rate in rates]
    return WorkloadLatency(
        workload=name,
        p95_before_ms=p95[0],
        p95_after_ms=p95[1],
        starved_min_before=starved[0],
        starved_min_after=starved[1],
        windows=count,
    )


def _p95(waiting: Floats, rate: Floats, minutes: Floats) -> float | None:
    """95th percentile over I/Os: each window counts by the I/Os that complete in it."""
    served = rate >= SLOWEST_IOPS
    if not served.any():
        return None
    with np.errstate(over="ignore"):
        latency = 1000 * waiting[served] / rate[served]
        weight = rate[served] / rate[served].max() * minutes[served]
    order = np.argsort(latency, kind="stable")
    part = np.cumsum(weight[order]) / weight.sum()
    place = min(int(np.searchsorted(part, PERCENTILE / 100)), len(order) - 1)
    found = float(latency[order][place])
    return found if np.isfinite(found) else None
