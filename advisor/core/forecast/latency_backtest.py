"""What a policy would have done to the latency that workloads feel, by Little's law.

A workload that keeps N I/Os outstanding and gets X per second waits N / X for each. What it kept
outstanding was measured; what it would have got comes from the solver. So the prediction takes
for granted that clients keep as much outstanding as they did.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.core.allocation import Claim, ReservationMode, allocate
from advisor.core.dependence import Floats
from advisor.core.explanation.rounding import round_all
from advisor.core.forecast.backtest import HistoryWindow
from advisor.core.grant import Grant
from advisor.core.number_checks import check_amount

ENOUGH_WINDOWS = 30
PERCENTILE = 95
SLOWEST_IOPS = 1e-6
"""Less than one I/O in eleven days is none."""
WORTH_RATIO = 0.05
"""A 95th percentile has to fall by so much to count as better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadLatency:
    """One workload's latency under both policies, over all its I/Os.

    None: it had I/O in too few windows with a known number outstanding. `starved_min` is the time
    in which it wanted I/O and would get none: no latency is long enough for that.
    """

    workload: str
    p95_before_ms: float | None
    p95_after_ms: float | None
    starved_min_before: float
    starved_min_after: float
    windows: int
    is_better: bool
    is_worse: bool


def latency_backtest(
    workloads: Sequence[str],
    windows: Sequence[HistoryWindow],
    outstanding: Sequence[Sequence[float | None]],
    *,
    mode: ReservationMode,
    before: Sequence[Grant],
    after: Sequence[Grant],
) -> tuple[WorkloadLatency, ...]:
    """Play the windows under two policies; `outstanding` has a row per window, None not measured.

    Rates of I/O, so it is for datastores. Workloads, demands and grants are in one order.
    """
    if not len(workloads) == len(before) == len(after):
        raise ValueError("both policies must have one grant per workload")
    if len(outstanding) != len(windows):
        raise ValueError("every window must have a row of outstanding I/O")
    for window, row in zip(windows, outstanding, strict=True):
        if not len(window.demands) == len(row) == len(workloads):
            raise ValueError("every window must have one demand and one number outstanding each")
        for value in row:
            check_amount("outstanding", value)
    minutes = np.array([window.window_s / 60 for window in windows])
    waiting = np.array(
        [[np.nan if value is None else value for value in row] for row in outstanding]
    ).reshape(len(windows), len(workloads))
    old, new = _rates(windows, before, mode), _rates(windows, after, mode)
    return round_all(
        tuple(
            _workload(name, waiting[:, i], (old[:, i], new[:, i]), minutes)
            for i, name in enumerate(workloads)
        )
    )


def _rates(
    windows: Sequence[HistoryWindow], policy: Sequence[Grant], mode: ReservationMode
) -> Floats:
    rows = [
        allocate(
            window.capacity,
            [
                Claim(grant.reservation, grant.limit, grant.shares, demand)
                for grant, demand in zip(policy, window.demands, strict=True)
            ],
            mode,
        )
        for window in windows
    ]
    return np.array(rows, dtype=np.float64).reshape(len(windows), len(policy))


def _workload(
    name: str, waiting: Floats, rates: tuple[Floats, Floats], minutes: Floats
) -> WorkloadLatency:
    known = ~np.isnan(waiting) & (waiting > 0)
    count = int(np.count_nonzero(known))
    p95 = [_p95(waiting[known], rate[known], minutes[known]) for rate in rates]
    if count < ENOUGH_WINDOWS:
        p95 = [None, None]
    starved = [float(minutes[known & (rate < SLOWEST_IOPS)].sum()) for rate in rates]
    old, new = p95
    return WorkloadLatency(
        workload=name,
        p95_before_ms=old,
        p95_after_ms=new,
        starved_min_before=starved[0],
        starved_min_after=starved[1],
        windows=count,
        is_better=old is not None and new is not None and new <= old * (1 - WORTH_RATIO),
        is_worse=old is not None and new is not None and new >= old * (1 + WORTH_RATIO),
    )


def _p95(waiting: Floats, rate: Floats, minutes: Floats) -> float | None:
    """95th percentile over I/Os: each window counts by the I/Os that would be done in it."""
    served = rate >= SLOWEST_IOPS
    if not served.any():
        return None
    latency = 1000 * waiting[served] / rate[served]
    weight = rate[served] * minutes[served]
    order = np.argsort(latency, kind="stable")
    part = np.cumsum(weight[order]) / weight.sum()
    place = min(int(np.searchsorted(part, PERCENTILE / 100)), len(order) - 1)
    return float(latency[order][place])
