"""A pool of allocations on one uplink, as it was approved, and what it reserves."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.core.admission import TOLERANCE, Admission, RequestedReservation
from advisor.core.enumeration import listed
from advisor.core.number_checks import check_amount, check_positive
from advisor.core.quantity import format_rate


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTerms:
    """What is granted to a group of allocations together, in the unit of the resource.

    `shares` None means that each member counts with its own. `members` are allocations.
    """

    pool: int
    name: str
    reservation: float
    limit: float | None
    shares: int | None
    members: tuple[int, ...]

    def __post_init__(self) -> None:
        check_amount(f"reservation of pool {self.name}", self.reservation)
        check_positive(f"limit of pool {self.name}", self.limit)
        if self.limit is not None and self.limit < self.reservation:
            raise ValueError(
                f"limit of pool {self.name} is {self.limit:g}; "
                f"it must be at least its reservation of {self.reservation:g}"
            )
        if self.shares is not None and self.shares < 1:
            raise ValueError(f"shares of pool {self.name} is {self.shares}; it must be at least 1")


def pool_terms_text(pool: PoolTerms, unit: str) -> str:
    """Its terms in words."""
    reserved = f"{format_rate(pool.reservation, unit)} reserved" if pool.reservation else ""
    limited = "" if pool.limit is None else f"at most {format_rate(pool.limit, unit)}"
    counts = "shares of its members" if pool.shares is None else f"{pool.shares} shares"
    return ", ".join(part for part in (reserved, limited, counts) if part)


def changed_pools(
    before: Sequence[PoolTerms], after: Sequence[PoolTerms], names: Mapping[int, str], unit: str
) -> list[str]:
    """What differs between the pools of two policies, in words; `names` are of allocations."""
    known = {pool.pool: pool for pool in before}
    words = []
    for pool in after:
        if pool != known.pop(pool.pool, None):
            who = listed(names[member] for member in pool.members if member in names)
            words.append(f"pool {pool.name} of {who} ({pool_terms_text(pool, unit)})")
    return words + [f"no pool {pool.name}" for pool in known.values()]


def check_members(pools: Sequence[PoolTerms], reservations: Mapping[int, float]) -> None:
    """Refuse a pool whose members reserve more than its limit; `reservations` by allocation."""
    for pool in pools:
        reserved = sum(reservations.get(member, 0.0) for member in pool.members)
        if pool.limit is not None and reserved > pool.limit * (1 + TOLERANCE):
            raise ValueError(
                f"the members of pool {pool.name} reserve {reserved:g}, "
                f"and its limit is {pool.limit:g}"
            )


def admit_beside_pools(
    reservable: float,
    requests: Sequence[tuple[int, RequestedReservation]],
    pools: Sequence[PoolTerms],
) -> Admission:
    """As `admit`, of allocations of which some are in pools, whose reservations come first.

    What members reserve is in their pool's; beyond it, it counts besides, up to the pool's limit.
    """
    check_amount("reservable", reservable)
    pool_of = {member: pool for pool in pools for member in pool.members}
    inside = {pool.pool: 0.0 for pool in pools}
    reserved, refused = sum(pool.reservation for pool in pools), []
    for allocation, request in requests:
        pool, more, most = pool_of.get(allocation), request.reservation, math.inf
        if pool is not None:
            members = inside[pool.pool] + request.reservation
            more = max(pool.reservation, members) - max(pool.reservation, inside[pool.pool])
            most = math.inf if pool.limit is None else pool.limit - inside[pool.pool]
        is_in_pool = request.reservation <= most * (1 + TOLERANCE)
        if is_in_pool and (more == 0 or reserved + more <= reservable * (1 + TOLERANCE)):
            reserved += more
            if pool is not None:
                inside[pool.pool] += request.reservation
        else:
            refused.append(request.workload)
    return Admission(reservable=reservable, reserved=reserved, refused=tuple(refused))


def reserved_together(
    requests: Sequence[tuple[RequestedReservation, int | None]],
    pools: Mapping[int, RequestedReservation],
) -> dict[int | str, RequestedReservation]:
    """What is reserved, by pool, or by workload without one.

    Each request has the pool that it is in; what members reserve is in the pool's reservation.
    """
    members = dict.fromkeys(pools, 0.0)
    alone: dict[int | str, RequestedReservation] = {}
    for request, pool in requests:
        if pool is not None:
            members[pool] += request.reservation
            continue
        before = alone.get(request.workload)
        total = request.reservation + (before.reservation if before else 0.0)
        alone[request.workload] = RequestedReservation(
            workload=request.workload, reservation=total
        )
    return alone | {
        key: RequestedReservation(
            workload=pool.workload, reservation=max(pool.reservation, members[key])
        )
        for key, pool in pools.items()
    }
