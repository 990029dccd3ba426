"""What a policy would have done to the past: who wins, who loses, and who is throttled how long.

Measured demand is played through the solver window by window, once with the policy in force and
once with the candidate, so that both are judged by the same model. Where a workload was held back
its demand is unknown: it then takes whatever it can get, and such windows are counted.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import median

import numpy as np

from advisor.core.allocation import ReservationMode, solve
from advisor.core.grant import Grant
from advisor.core.number_checks import check_amount, check_aware, check_positive
from advisor.core.observation import Observation
from advisor.core.standing import demand
from advisor.core.waterfill import Booleans, Floats, groups_of

CHANGE_TOLERANCE = 0.05
"""A mean rate that changes by a smaller part has not changed."""
BINDING_TOLERANCE = 1e-6
"""Relative; a rate this near to its limit or reservation is at it."""


class Change(StrEnum):
    """What a policy does to one workload."""

    GAINS = "gains"
    LOSES = "loses"
    SAME = "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryWindow:
    """One past window: what there was to divide, and what each workload wanted.

    `demands` are in the order of the workloads; None means more than it got, nobody knows what.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadBacktest:
    """One workload under both policies: mean rates, and minutes of two kinds of want.

    `throttled` counts windows in which its own limit kept it from what it wanted, `unmet` those
    in which it wanted its reservation and did not get it.
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
    """`idle_ratio` is the part of the capacity that limits left unused, though it was wanted."""

    began_at: datetime
    ended_at: datetime
    windows: int
    workloads: tuple[WorkloadBacktest, ...]
    idle_ratio_before: float
    idle_ratio_after: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoHistory:
    """There was nothing to play."""

    reason: str


def history_of(
    observations: Sequence[Observation],
    workloads: Sequence[str],
    *,
    capacity: float,
    congested: Collection[datetime],
) -> list[HistoryWindow]:
    """Past windows in order of time; a workload that is absent from a window wanted nothing.

    `congested` holds the ends of the congested windows: there what was delivered was all there
    was, and who kept up may have wanted more. In the others everybody got what they wanted.
    """
    windows = []
    for observation in sorted(observations, key=lambda one: one.at):
        delivered = sum(claim.rate for claim in observation.claims)
        is_congested = observation.at in congested
        wanted = _demands(observation, is_congested=is_congested)
        windows.append(
            HistoryWindow(
                at=observation.at,
                window_s=observation.window_s,
                capacity=delivered if is_congested else max(capacity, delivered),
                demands=tuple(wanted.get(name, 0.0) for name in workloads),
            )
        )
    return windows


def _demands(observation: Observation, *, is_congested: bool) -> dict[str, float | None]:
    """Demand of each workload over all its claims; None where any of them is not known."""
    middle = median([claim.rate for claim in observation.claims if claim.rate > 0] or [0.0])
    wanted: dict[str, float | None] = {}
    for claim in observation.claims:
        one = demand(claim, middle) if is_congested else claim.rate
        so_far = wanted.get(claim.workload, 0.0)
        wanted[claim.workload] = None if one is None or so_far is None else so_far + one
    return wanted


def backtest(
    workloads: Sequence[str],
    windows: Sequence[HistoryWindow],
    *,
    mode: ReservationMode,
    before: Sequence[Grant],
    after: Sequence[Grant],
    capacity_ratio: float = 1.0,
) -> Backtest | NoHistory:
    """Play the windows under two policies; grants are in the order of the workloads.

    With the second policy there is `capacity_ratio` times as much to divide in every window.
    """
    check_positive("capacity_ratio", capacity_ratio)
    if not len(workloads) == len(before) == len(after):
        raise ValueError("both policies must have one grant per workload")
    if not workloads or not windows:
        return NoHistory(reason="no workloads" if not workloads else "no windows")
    if any(len(window.demands) != len(workloads) for window in windows):
        raise ValueError("every window must have one demand per workload")
    minutes = np.array([window.window_s / 60 for window in windows])
    old, new = _play(windows, before, mode), _play(windows, after, mode, capacity_ratio)
    return Backtest(
        began_at=min(window.at for window in windows),
        ended_at=max(window.at for window in windows),
        windows=len(windows),
        workloads=tuple(
            _workload(name, index, minutes, old, new) for index, name in enumerate(workloads)
        ),
        idle_ratio_before=old.idle_ratio(minutes),
        idle_ratio_after=new.idle_ratio(minutes),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Played:
    """Rates, demands (infinite where unknown) and what bound them; a row per window."""

    rates: Floats
    demands: Floats
    capacity: Floats
    throttled: Booleans
    unmet: Booleans

    def idle_ratio(self, minutes: Floats) -> float:
        """Part of the capacity left unused in windows in which somebody was throttled."""
        idle = np.where(
            self.throttled.any(axis=1), self.capacity - self.rates.sum(axis=1), 0.0
        ).clip(min=0.0)
        total = float(self.capacity @ minutes)
        return float(idle @ minutes) / total if total > 0 else 0.0


def _play(
    windows: Sequence[HistoryWindow],
    policy: Sequence[Grant],
    mode: ReservationMode,
    capacity_ratio: float = 1.0,
) -> _Played:
    """Solve all windows at once under one policy."""
    demands = np.array(
        [[np.inf if value is None else value for value in window.demands] for window in windows]
    )
    capacity = np.array([window.capacity * capacity_ratio for window in windows])
    limit = np.array([np.inf if grant.limit is None else grant.limit for grant in policy])
    reservation = np.array([grant.reservation for grant in policy])
    shares = np.array([float(grant.shares) for grant in policy])
    shape = demands.shape
    rates = solve(
        capacity,
        np.broadcast_to(reservation, shape).ravel(),
        np.minimum(demands, limit).ravel(),
        np.broadcast_to(shares, shape).ravel(),
        mode=mode,
        groups=groups_of(np.full(shape[0], shape[1])),
    ).reshape(shape)
    due = np.minimum(np.minimum(reservation, limit), demands)
    return _Played(
        rates=rates,
        demands=demands,
        capacity=capacity,
        throttled=(rates >= limit * (1 - BINDING_TOLERANCE)) & (demands > limit),
        unmet=rates < due * (1 - BINDING_TOLERANCE),
    )


def _workload(
    name: str, index: int, minutes: Floats, old: _Played, new: _Played
) -> WorkloadBacktest:
    weight = minutes / minutes.sum()
    before = float(old.rates[:, index] @ weight)
    after = float(new.rates[:, index] @ weight)
    return WorkloadBacktest(
        workload=name,
        change=_change(before, after),
        rate_before=before,
        rate_after=after,
        throttled_min_before=float(minutes[old.throttled[:, index]].sum()),
        throttled_min_after=float(minutes[new.throttled[:, index]].sum()),
        unmet_min_before=float(minutes[old.unmet[:, index]].sum()),
        unmet_min_after=float(minutes[new.unmet[:, index]].sum()),
        unknown_demand_min=float(minutes[np.isinf(old.demands[:, index])].sum()),
    )


def _change(before: float, after: float) -> Change:
    if abs(after - before) <= CHANGE_TOLERANCE * max(before, after):
        return Change.SAME
    return Change.GAINS if after > before else Change.LOSES
