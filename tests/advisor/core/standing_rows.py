"""Who took part in one window, with use and entitlement."""

from dataclasses import dataclass

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.observation import Observation
from advisor.core.standing import standing_columns, table_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One allocation; `cost` and `entitlement` are device time per second."""

    workload: str
    cost: float
    entitlement: float
    reservation: float


def standings(observation: Observation, mode: ReservationMode) -> tuple[Standing, ...]:
    """In the order given; use without an allocation comes last."""
    (found,) = standing_columns([table_of(observation, mode)])
    return tuple(
        Standing(
            workload=found.workloads[place],
            cost=float(found.cost[0, place]),
            entitlement=float(found.entitlement[0, place]),
            reservation=float(found.reservation[place]),
        )
        for place in np.flatnonzero(found.active[0]).tolist()
    )
