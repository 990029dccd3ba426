"""Backtest a policy: which workloads gain or lose, and how long each is throttled.

The solver divides the capacity of every past window by measured demand, once with the policy in
force and once with the candidate, so that both use the same model. If a workload was held back its
demand is unknown: it then takes what it can get, and such windows are counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import numpy as np

from advisor.core.forecast.comparison import Comparison, Played, Pressure
from advisor.core.forecast.past import Windows

CHANGE_TOLERANCE = 0.05
"""A mean rate that changes by a smaller fraction is unchanged."""


class Change(StrEnum):
    """The effect of a policy on one workload."""

    GAINS = "gains"
    LOSES = "loses"
    SAME = "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadBacktest:
    """One workload under both policies: mean rates, and minutes throttled and unmet.

    `throttled` counts windows in which its own limit or that of its pool held it below its
    demand, `unmet` those in which it wanted its reservation and did not get it.
    """

    workload: str
    change: Change
    rate_before: float
    rate_after: float
    throttled_min_before: float
    throttled_min_after: float
    unmet_min_before: float
    unmet_min_after: float
    unknown_demand_min: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Backtest:
    """The result; `idle_ratio` is the fraction of capacity unused because of limits."""

    began_at: datetime
    ended_at: datetime
    windows: int
    workloads: tuple[WorkloadBacktest, ...]
    idle_ratio_before: float
    idle_ratio_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoHistory:
    """There is no history to simulate."""

    reason: str


def backtest(
    workloads: Sequence[str],
    windows: Windows,
    comparison: Comparison,
    *,
    pressure: Pressure = None,
) -> Backtest | NoHistory:
    """Simulate the windows under both policies; grants are in the order of the workloads.

    `pressure` (windows, workloads) is how strongly each workload competed.
    """
    if len(workloads) != len(comparison.before):
        raise ValueError("both policies must have one grant per workload")
    if not workloads or not len(windows):
        return NoHistory(reason="no workloads" if not workloads else "no windows")
    if windows.demands.shape[1] != len(workloads):
        raise ValueError("every window must have one demand per workload")
    return backtest_of(workloads, windows, comparison.play(windows, pressure))


def backtest_of(
    workloads: Sequence[str], windows: Windows, played: tuple[Played, Played]
) -> Backtest:
    """The backtest of windows, at least one, that were played under both policies."""
    old, new = played
    minutes = windows.window_s / 60
    began_at, ended_at = windows.bounds
    weight = minutes / minutes.sum()
    # Of all workloads at once, in the order of the fields.
    happened = (old.throttled, new.throttled, old.unmet, new.unmet, np.isinf(old.demands))
    columns = [old.rates.T @ weight, new.rates.T @ weight, *(one.T @ minutes for one in happened)]
    return Backtest(
        began_at=began_at,
        ended_at=ended_at,
        windows=len(windows),
        workloads=tuple(
            _workload(name, *numbers)
            for name, numbers in zip(workloads, np.array(columns).T.tolist(), strict=True)
        ),
        idle_ratio_before=old.idle_ratio(minutes),
        idle_ratio_after=new.idle_ratio(minutes),
    )


def _workload(name: str, before: float, after: float, *minutes: float) -> WorkloadBacktest:
    throttled_before, throttled_after, unmet_before, unmet_after, unknown_demand = minutes
    return WorkloadBacktest(
        workload=name,
        change=change_between(before, after),
        rate_before=before,
        rate_after=after,
        throttled_min_before=throttled_before,
        throttled_min_after=throttled_after,
        unmet_min_before=unmet_before,
        unmet_min_after=unmet_after,
        unknown_demand_min=unknown_demand,
    )


def change_between(before: float, after: float) -> Change:
    """Whether a mean rate differs by more than `CHANGE_TOLERANCE` of the higher one."""
    if abs(after - before) <= CHANGE_TOLERANCE * max(before, after):
        return Change.SAME
    return Change.GAINS if after > before else Change.LOSES
