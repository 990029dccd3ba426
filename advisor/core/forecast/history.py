"""The past as it can be played again: what there was to divide, and what everybody wanted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from advisor.core.number_checks import check_amount, check_aware, check_positive
from advisor.core.observation import Observation
from advisor.core.standing import demand


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
        delivered = sum(allocation.rate for allocation in observation.allocations)
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
    """Demand of each workload over all its allocations; None where any of them is not known."""
    middle = median(
        [allocation.rate for allocation in observation.allocations if allocation.rate > 0] or [0.0]
    )
    wanted: dict[str, float | None] = {}
    for allocation in observation.allocations:
        one = demand(allocation, middle) if is_congested else allocation.rate
        so_far = wanted.get(allocation.workload, 0.0)
        wanted[allocation.workload] = None if one is None or so_far is None else so_far + one
    return wanted
