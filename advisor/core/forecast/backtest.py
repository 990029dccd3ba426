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
from advisor.core.waterfill import Floats

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

    `throttled` counts windows in which its own limit held it below its demand, `unmet` those in
    which it wanted its reservation and did not get it.
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
    ends = windows.ends
    return Backtest(
        began_at=min(ends),
        ended_at=max(ends),
        windows=len(windows),
        workloads=tuple(
            _workload(name, index, minutes, old, new) for index, name in enumerate(workloads)
        ),
        idle_ratio_before=old.idle_ratio(minutes),
        idle_ratio_after=new.idle_ratio(minutes),
    )


def _workload(
    name: str, index: int, minutes: Floats, old: Played, new: Played
) -> WorkloadBacktest:
    weight = minutes / minutes.sum()
    before = float(old.rates[:, index] @ weight)
    after = float(new.rates[:, index] @ weight)
    return WorkloadBacktest(
        workload=name,
        change=change_between(before, after),
        rate_before=before,
        rate_after=after,
        throttled_min_before=float(minutes[old.throttled[:, index]].sum()),
        throttled_min_after=float(minutes[new.throttled[:, index]].sum()),
        unmet_min_before=float(minutes[old.unmet[:, index]].sum()),
        unmet_min_after=float(minutes[new.unmet[:, index]].sum()),
        unknown_demand_min=float(minutes[np.isinf(old.demands[:, index])].sum()),
    )


def change_between(before: float, after: float) -> Change:
    """Whether a mean rate differs by more than `CHANGE_TOLERANCE` of the higher one."""
    if abs(after - before) <= CHANGE_TOLERANCE * max(before, after):
        return Change.SAME
    return Change.GAINS if after > before else Change.LOSES
