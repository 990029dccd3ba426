"""The past as input of a simulation: capacity and demands."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from advisor.core.number_checks import check_amount, check_aware, check_positive
from advisor.core.observation import Observation
from advisor.core.standing import demand


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
    observations: Sequence[Observation],
    workloads: Sequence[str],
    *,
    capacity: float,
    congested: Collection[datetime],
) -> list[HistoryWindow]:
    """Past windows in order of time; a workload that is absent from a window has no demand.

    `congested` has the ends of the congested windows: there the capacity is what was delivered,
    and a workload that kept up may have wanted more. In the others every demand was met.
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
    """Demand of each workload over all its allocations; None if any of them is unknown."""
    middle = median(
        [allocation.rate for allocation in observation.allocations if allocation.rate > 0] or [0.0]
    )
    wanted: dict[str, float | None] = {}
    for allocation in observation.allocations:
        one = demand(allocation, middle) if is_congested else allocation.rate
        so_far = wanted.get(allocation.workload, 0.0)
        wanted[allocation.workload] = None if one is None or so_far is None else so_far + one
    return wanted
