"""Backtest the latency of workloads under a policy, by Little's law.

A workload with N I/Os outstanding and X per second waits N / X for each. The outstanding I/O was
measured; the rate comes from the solver. So the prediction assumes that clients keep as much
outstanding as they did.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from advisor.core.dependence import Flags, Floats, alike
from advisor.core.explanation.rounding import round_all
from advisor.core.forecast.comparison import Comparison, Pressure
from advisor.core.forecast.past import Table, Windows

Integers = npt.NDArray[np.intp]

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
    counts = np.count_nonzero(waited.known, axis=0)
    return round_all(tuple(_latencies(workloads, waited, (old.rates, new.rates), counts)))


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
    old, new = (one.rates[:, places].reshape(-1, 1) for one in comparison.play(windows, pressure))
    together = waited.only(places)
    # A window in which one of them waited is one, and its I/Os are those of all.
    counts = np.array([np.count_nonzero(together.known.any(axis=1))])
    (found,) = _latencies([name], together.in_one_column, (old, new), counts)
    return round_all(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waited:
    """Outstanding I/Os, NaN if not measured, and minutes; both (windows, workloads)."""

    outstanding: Floats
    minutes: Floats

    @property
    def known(self) -> Flags:
        """Where something was outstanding."""
        result: Flags = self.outstanding > 0
        return result

    def only(self, places: Sequence[int]) -> "_Waited":
        """The columns of these workloads."""
        own = list(places)
        return _Waited(outstanding=self.outstanding[:, own], minutes=self.minutes[:, own])

    @property
    def in_one_column(self) -> "_Waited":
        """All of them as one."""
        return _Waited(
            outstanding=self.outstanding.reshape(-1, 1), minutes=self.minutes.reshape(-1, 1)
        )


def _waited(workloads: int, windows: Windows, outstanding: Table) -> _Waited:
    rows = np.array(outstanding, dtype=np.float64)
    if len(rows) != len(windows):
        raise ValueError("every window must have a row of outstanding I/O")
    if len(rows) and not windows.demands.shape[1] == rows.shape[1] == workloads:
        raise ValueError("every window must have one demand and one number outstanding each")
    if len(wrong := rows[np.isinf(rows) | (rows < 0)]):
        raise ValueError(f"outstanding is {wrong[0]}; it must be a finite number of at least 0")
    minutes = np.repeat(windows.window_s[:, None] / 60, workloads, axis=1)
    return _Waited(outstanding=rows, minutes=minutes)


def _nothing(name: str) -> WorkloadLatency:
    return WorkloadLatency(
        workload=name,
        p95_before_ms=None,
        p95_after_ms=None,
        starved_min_before=0.0,
        starved_min_after=0.0,
        windows=0,
    )


def _latencies(
    names: Sequence[str], waited: _Waited, rates: tuple[Floats, Floats], counts: Integers
) -> Iterator[WorkloadLatency]:
    """Of each column, by the rates under both policies; `counts` are its known windows."""
    p95s = [_p95s(waited, rate) for rate in rates]
    is_starved = [waited.known & (rate < SLOWEST_IOPS) for rate in rates]
    starved = [np.where(one, waited.minutes, 0.0).sum(axis=0).tolist() for one in is_starved]
    for place, (name, count) in enumerate(zip(names, counts.tolist(), strict=True)):
        before, after = (one[place] if count >= ENOUGH_WINDOWS else None for one in p95s)
        yield WorkloadLatency(
            workload=name,
            p95_before_ms=before,
            p95_after_ms=after,
            starved_min_before=starved[0][place],
            starved_min_after=starved[1][place],
            windows=count,
        )


def _p95s(waited: _Waited, rate: Floats) -> list[float | None]:
    """95th percentile over I/Os: each window counts by the I/Os that complete in it."""
    found: list[float | None] = [None] * rate.shape[1]
    for columns, windows in alike((waited.known & (rate >= SLOWEST_IOPS)).T):
        if not windows.any():
            continue
        cells = np.ix_(windows, columns)
        # A line for each workload: sums are those of its windows alone.
        waiting, served, minutes = (
            np.ascontiguousarray(one[cells].T)
            for one in (waited.outstanding, rate, waited.minutes)
        )
        for place, p95 in zip(columns.tolist(), _p95(waiting, served, minutes), strict=True):
            found[place] = p95 if np.isfinite(p95) else None
    return found


def _p95(waiting: Floats, served: Floats, minutes: Floats) -> list[float]:
    """That of each line; infinite where an I/O takes longer than can be said."""
    with np.errstate(over="ignore"):
        latency = 1000 * waiting / served
        weight = served / served.max(axis=1, keepdims=True) * minutes
    order = np.argsort(latency, axis=1, kind="stable")
    part = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
    is_below = part / weight.sum(axis=1, keepdims=True) < PERCENTILE / 100
    place = np.minimum(np.count_nonzero(is_below, axis=1), served.shape[1] - 1)[:, None]
    chosen = np.take_along_axis(order, place, axis=1)
    result: list[float] = np.take_along_axis(latency, chosen, axis=1)[:, 0].tolist()
    return result
