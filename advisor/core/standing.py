"""Who gets more and who less of a resource than the policy entitles them to, in one window.

Everything is compared in device time: rate times what a unit of it costs at the I/O's size. What
the resource delivered in the window is what there was to divide.
"""

from dataclasses import dataclass
from statistics import median
from typing import assert_never

from advisor.core.allocation import Claim, ReservationMode, allocate
from advisor.core.iosize import REFERENCE_BYTES, size_cost
from advisor.core.observation import (
    ClaimObservation,
    DatastoreObservation,
    Observation,
    UplinkObservation,
)
from advisor.core.resource import Unit

UNCLAIMED = "(unclaimed)"
"""The name of traffic that belongs to no claim."""
UNCLAIMED_RATIO = 0.05
"""Less than this part of the load is measurement error, not a claimant."""
UNCLAIMED_SHARES = 1000.0
"""Traffic without a claim counts like a workload of the medium tier."""
KEEPS_UP_RATIO = 0.5
"""Who gets this part of the median rate under congestion is presumed to want more."""
TRICKLE_RATIO = 0.05
"""Who uses less than this part of a reservation is idle, not held back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One claim in one window; `cost` and `entitlement` are device time per second.

    `rate_per_cost` turns them into the resource's unit at this claim's I/O size.
    """

    workload: str
    cost: float
    entitlement: float
    reservation: float
    rate_per_cost: float


def standings(observation: Observation, mode: ReservationMode) -> tuple[Standing, ...]:
    """Each claim's use against its entitlement in a congested window, in the order given.

    A claim that was held back may want anything; one that was not wants what it got. Use that
    belongs to no claim is listed last, as a claim of its own.
    """
    claims = [claim for claim in observation.claims if claim.rate > 0 or claim.backlogged]
    unclaimed = _unclaimed(observation)
    if unclaimed is not None:
        claims.append(unclaimed)
    if not claims:
        return ()
    per_unit = [device_cost(observation, claim.mean_io_bytes) for claim in claims]
    costs = [claim.rate * cost for claim, cost in zip(claims, per_unit, strict=True)]
    middle = median(claim.rate for claim in claims)
    entitlements = allocate(
        sum(costs),
        [_claim(claim, cost, middle) for claim, cost in zip(claims, per_unit, strict=True)],
        mode,
    )
    return tuple(
        Standing(
            workload=claim.workload,
            cost=cost,
            entitlement=entitlement,
            reservation=claim.reservation,
            rate_per_cost=1 / each,
        )
        for claim, cost, entitlement, each in zip(
            claims, costs, entitlements, per_unit, strict=True
        )
    )


def demand(claim: ClaimObservation, median_rate: float) -> float | None:
    """What the claim would take under congestion; None means more than it got, nobody knows what.

    Where nobody measured whether more was waiting, it is presumed of a claim that is below its
    reservation, and of one that keeps up with the others.
    """
    if claim.backlogged is True and not claim.throttled:
        return None
    if claim.backlogged is False or claim.throttled:
        return claim.rate
    if claim.usual_rate is not None:
        return max(claim.rate, claim.usual_rate)
    if TRICKLE_RATIO * claim.reservation < claim.rate < claim.reservation:
        return None
    return None if claim.rate >= KEEPS_UP_RATIO * median_rate else claim.rate


def _claim(claim: ClaimObservation, per_unit: float, median_rate: float) -> Claim:
    wanted = demand(claim, median_rate)
    return Claim(
        reservation=claim.reservation * per_unit,
        limit=None if claim.limit is None else claim.limit * per_unit,
        shares=claim.shares,
        demand=None if wanted is None else wanted * per_unit,
    )


def device_cost(observation: Observation, mean_io_bytes: float | None) -> float:
    """Device time of one unit of a rate; the bits of an uplink all cost the same."""
    match observation:
        case DatastoreObservation():
            return unit_cost(observation.unit, mean_io_bytes)
        case UplinkObservation():
            return 1.0
        case _:
            assert_never(observation)


def unit_cost(unit: Unit, mean_io_bytes: float | None) -> float:
    """Device time of one I/O of this size, or of one byte of it, in I/Os of the reference size.

    An unknown size counts as the reference size.
    """
    if unit is not Unit.BYTES_PER_S:
        return size_cost(mean_io_bytes)
    # Nothing is smaller than a byte.
    size = max(mean_io_bytes or REFERENCE_BYTES, 1.0)
    return size_cost(size) / size


def delivered(observation: Observation) -> float | None:
    """The rate of everything that passed, in the unit of the claims; None if not measured."""
    match observation:
        case DatastoreObservation():
            sizes = (
                one.io_count * (one.mean_io_bytes or 0.0)
                if observation.unit is Unit.BYTES_PER_S
                else one.io_count
                for one in observation.hosts
            )
            return sum(sizes) / observation.window_s
        case UplinkObservation():
            return observation.tx_bits_per_s
        case _:
            assert_never(observation)


def _unclaimed(observation: Observation) -> ClaimObservation | None:
    load = delivered(observation) or 0.0
    rest = load - sum(claim.rate for claim in observation.claims)
    if rest <= UNCLAIMED_RATIO * load:
        return None
    return ClaimObservation(workload=UNCLAIMED, rate=rest, shares=UNCLAIMED_SHARES)
