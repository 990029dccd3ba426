"""The past as input of a simulation: capacity and demands."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf

import numpy as np

from advisor.core.number_checks import check_amount, check_aware, check_positive
from advisor.core.standing import wanted
from advisor.core.waterfill import Floats


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
