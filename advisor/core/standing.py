"""Who gets more and who less of a resource than the policy entitles them to, in one window.

Everything is compared in device time: rate times the cost of the I/O's size. What the resource
delivered in the window is what there was to divide.
"""

from dataclasses import dataclass
from statistics import median
from typing import assert_never

from advisor.core.allocation import Claim, ReservationMode, allocate
from advisor.core.iosize import size_cost
from advisor.core.observation import (
    ClaimObservation,
    DatastoreObservation,
    Observation,
    UplinkObservation,
)

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
    per_io = [size_cost(_size(observation, claim)) for claim in claims]
    costs = [claim.rate * cost for claim, cost in zip(claims, per_io, strict=True)]
    middle = median(claim.rate for claim in claims)
    entitlements = allocate(
        sum(costs),
        [_claim(claim, cost, middle) for claim, cost in zip(claims, per_io, strict=True)],
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
        for claim, cost, entitlement, each in zip(claims, costs, entitlements, per_io, strict=True)
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


def _claim(claim: ClaimObservation, per_io: float, median_rate: float) -> Claim:
    wanted = demand(claim, median_rate)
    return Claim(
        reservation=claim.reservation * per_io,
        limit=None if claim.limit is None else claim.limit * per_io,
        shares=claim.shares,
        demand=None if wanted is None else wanted * per_io,
    )


def _size(observation: Observation, claim: ClaimObservation) -> float | None:
    """The I/O size where device time depends on it; the bytes of an uplink all cost the same."""
    match observation:
        case DatastoreObservation():
            return claim.mean_io_bytes
        case UplinkObservation():
            return None
        case _:
            assert_never(observation)


def _unclaimed(observation: Observation) -> ClaimObservation | None:
    match observation:
        case DatastoreObservation():
            load = sum(host.io_count for host in observation.hosts) / observation.window_s
        case UplinkObservation():
            load = observation.tx_bits_per_s or 0.0
        case _:
            assert_never(observation)
    rest = load - sum(claim.rate for claim in observation.claims)
    if rest <= UNCLAIMED_RATIO * load:
        return None
    return ClaimObservation(workload=UNCLAIMED, rate=rest, shares=UNCLAIMED_SHARES)
