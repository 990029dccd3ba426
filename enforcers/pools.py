"""Pools: named groups of workloads on one uplink, as the wire has them, and what is refused."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from enforcers import field_checks
from enforcers.errors import ContractError

# Rounding of sums, not slack.
RELATIVE_ROUNDING = 1e-9

Member = tuple[str | None, str, float]
"""Of an allocation: the id of its pool, its resource and its reservation."""


class MayBeMember(Protocol):
    """What says which pool it is in."""

    @property
    def pool(self) -> str | None: ...

    @property
    def reservation(self) -> float: ...


MemberT = TypeVar("MemberT", bound=MayBeMember)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A group of allocations on one uplink; each says which pool it is in.

    `reservation` is for its members alone; what they reserve themselves is in it. `limit` is of
    all of them together, None is none. `shares` are those of the pool beside other pools and
    allocations without one; None: each member counts with its own.
    """

    id: str
    name: str
    resource: str
    reservation: float
    limit: float | None
    shares: int | None

    def __post_init__(self) -> None:
        for field in ("id", "name", "resource"):
            field_checks.check_name(field, getattr(self, field))
        field_checks.check_not_negative("reservation", self.reservation)
        if self.shares is not None:
            field_checks.check_shares("shares", self.shares)
        if self.limit is not None:
            field_checks.check_positive("limit", self.limit)
            if self.limit < self.reservation:
                raise ContractError("$.limit", "must not be below the reservation")


def check_pools(pools: Sequence[Pool], uplinks: Collection[str], taken: Collection[str]) -> None:
    """Refuse two of one name, and what is on no uplink; ids are not those of allocations."""
    field_checks.check_unique("pools", "id", [pool.id for pool in pools])
    seen: set[tuple[str, str]] = set()
    for place, pool in enumerate(pools):
        if pool.id in taken:
            raise ContractError(f"$.pools[{place}].id", f"{pool.id!r} is an allocation's")
        if pool.resource not in uplinks:
            raise ContractError(f"$.pools[{place}].resource", f"no uplink named {pool.resource!r}")
        if (pool.resource, pool.name) in seen:
            raise ContractError(
                f"$.pools[{place}].name", f"{pool.name!r} appears twice on {pool.resource}"
            )
        seen.add((pool.resource, pool.name))


def check_members(pools: Sequence[Pool], members: Sequence[Member]) -> None:
    """Refuse members of no pool, or on another resource, and more reserved than a limit."""
    by_id = {pool.id: pool for pool in pools}
    reserved = dict.fromkeys(by_id, 0.0)
    for place, (key, resource, reservation) in enumerate(members):
        if key is None:
            continue
        if key not in by_id:
            raise ContractError(f"$.allocations[{place}].pool", f"no pool with the id {key!r}")
        pool = by_id[key]
        if pool.resource != resource:
            raise ContractError(
                f"$.allocations[{place}].pool",
                f"pool {pool.name!r} is on {pool.resource}, and the allocation on {resource}",
            )
        reserved[key] += reservation
    for place, pool in enumerate(pools):
        most = math.inf if pool.limit is None else pool.limit
        if reserved[pool.id] > most * (1 + RELATIVE_ROUNDING):
            raise ContractError(
                f"$.pools[{place}].limit",
                f"the members of pool {pool.name!r} reserve {reserved[pool.id]:g}, and its limit "
                f"is {most:g}",
            )


def members_of(key: str, items: Sequence[MemberT]) -> list[MemberT]:
    """Those in the pool with this id."""
    return [item for item in items if item.pool == key]


def reserved_together(items: Sequence[MayBeMember], pools: Sequence[Pool]) -> float:
    """What these and the pools reserve: what members reserve is in the pool's reservation."""
    alone = sum(item.reservation for item in items if item.pool is None)
    return alone + sum(
        max(pool.reservation, sum(item.reservation for item in members_of(pool.id, items)))
        for pool in pools
    )
