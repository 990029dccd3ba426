"""Past windows solved at once under a policy, and two policies compared on the same windows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.forecast.past import Windows
from advisor.core.grant import Grant
from advisor.core.number_checks import check_positive
from advisor.core.pooled import PoolPlaces, solve_pooled
from advisor.core.waterfill import Booleans, Floats

BINDING_TOLERANCE = 1e-6
"""Relative tolerance for a rate at its limit or reservation."""
Pressure = Floats | None
"""Weights (windows, workloads); None if the policy's shares and reservations count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """Rates, demands (infinite if unknown) and what limited them, each (windows, workloads).

    `capacity` is (windows).
    """

    rates: Floats
    demands: Floats
    capacity: Floats
    throttled: Booleans
    unmet: Booleans

    def chosen(self, which: Booleans) -> "Played":
        """Those of the windows, (windows)."""
        return Played(
            rates=self.rates[which],
            demands=self.demands[which],
            capacity=self.capacity[which],
            throttled=self.throttled[which],
            unmet=self.unmet[which],
        )

    def idle_ratio(self, minutes: Floats) -> float:
        """Fraction of capacity unused in windows with a throttled workload."""
        idle = np.where(
            self.throttled.any(axis=1), self.capacity - self.rates.sum(axis=1), 0.0
        ).clip(min=0.0)
        total = float(self.capacity @ minutes)
        return float(idle @ minutes) / total if total > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The policy in force and a candidate, with a grant per allocation in one order, and pools.

    The candidate has `capacity_ratio` times the capacity. With `before_as_measured` the first is
    the measured rate where known: without a policy no model knows which workload competes hardest.
    With `after_as_pressed` workloads compete as strongly under the second, held only by limits;
    this is for limits where shares are in force and did not help.
    """

    mode: ReservationMode
    before: Sequence[Grant]
    after: Sequence[Grant]
    capacity_ratio: float = 1.0
    before_as_measured: bool = False
    after_as_pressed: bool = False
    pools_before: Sequence[PoolPlaces] = ()
    pools_after: Sequence[PoolPlaces] = ()

    def __post_init__(self) -> None:
        check_positive("capacity_ratio", self.capacity_ratio)
        if len(self.before) != len(self.after):
            raise ValueError("both policies must have one grant per workload")

    def play(self, windows: Windows, pressure: Pressure = None) -> tuple[Played, Played]:
        """The windows under each; `pressure` (windows, allocations) is None if unknown."""
        return (
            play(
                windows,
                self.before,
                self.mode,
                pressure=pressure if self.before_as_measured else None,
                pools=self.pools_before,
            ),
            play(
                windows,
                self.after,
                self.mode,
                capacity_ratio=self.capacity_ratio,
                pressure=pressure if self.after_as_pressed else None,
                pools=self.pools_after,
            ),
        )


def play(
    windows: Windows,
    policy: Sequence[Grant],
    mode: ReservationMode,
    *,
    capacity_ratio: float = 1.0,
    pressure: Pressure = None,
    pools: Sequence[PoolPlaces] = (),
) -> Played:
    """Solve all windows at once under one policy.

    With `pressure` only the policy's limits count: the capacity is divided by how strongly each
    workload competed. A pool's limit throttles a member that wants more than it gets.
    """
    demands, capacity = windows.demands, windows.capacity * capacity_ratio
    limit = np.array([np.inf if grant.limit is None else grant.limit for grant in policy])
    stated = np.array([grant.reservation for grant in policy])
    reservation = stated if pressure is None else np.zeros(len(policy))
    shape = demands.shape
    weights = np.array([float(grant.shares) for grant in policy])
    shares = np.broadcast_to(weights if pressure is None else pressure, shape)
    if pressure is not None:
        pools = [replace(pool, reservation=0.0, shares=None) for pool in pools]
    rates = solve_pooled(
        capacity,
        np.broadcast_to(reservation, shape),
        np.minimum(demands, limit),
        shares,
        mode=mode,
        pools=pools,
    )
    due = np.minimum(np.minimum(reservation, limit), demands)
    throttled = (rates >= limit * (1 - BINDING_TOLERANCE)) & (demands > limit)
    return Played(
        rates=rates,
        demands=demands,
        capacity=capacity,
        throttled=throttled | _throttled_together(rates, demands, pools),
        unmet=rates < due * (1 - BINDING_TOLERANCE),
    )


def _throttled_together(rates: Floats, demands: Floats, pools: Sequence[PoolPlaces]) -> Booleans:
    """Who gets less than it wants because its pool has all that it may have."""
    found = np.zeros(rates.shape, dtype=bool)
    for pool in pools:
        if pool.limit is None:
            continue
        places = list(pool.places)
        is_full = rates[:, places].sum(axis=1) >= pool.limit * (1 - BINDING_TOLERANCE)
        wants_more = rates[:, places] < demands[:, places] * (1 - BINDING_TOLERANCE)
        found[:, places] = is_full[:, None] & wants_more
    return found
