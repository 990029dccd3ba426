"""What pools and their members are guaranteed, and how their shares count. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from enforcers.contract import Allocation, Pool, ResourceSpec
from enforcers.mechanisms.tc_htb import sizing
from enforcers.mechanisms.tc_htb.fit import guarantee, guarantees
from enforcers.pools import members_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPool:
    """A pool and its inner class."""

    pool: Pool
    classid: str


def fitted_rates(
    spec: ResourceSpec, allocations: Sequence[Allocation], pools: Sequence[Pool], room: float
) -> dict[str, int]:
    """By id the rate of each pool and each allocation; those of members fit that of their pool.

    Above what its members reserve, a pool's rate is for whichever of them wants it.
    """
    rates = sizing.fit_rates(guarantees(spec, allocations, pools), room)
    for pool in pools:
        own = {item.id: guarantee(spec, item) for item in members_of(pool.id, allocations)}
        rates |= sizing.fit_rates(own, rates[pool.id])
    return rates


def top_level(allocations: Sequence[Allocation], pools: Sequence[Pool]) -> list[str]:
    """The ids of what is directly below the root: pools, and allocations without one."""
    return [item.id for item in allocations if item.pool is None] + [pool.id for pool in pools]


def counted_shares(
    allocations: Sequence[Allocation],
    pools: Sequence[Pool],
    idle: frozenset[str] = frozenset(),
) -> dict[str, float]:
    """By id the shares with which each allocation counts beside all others.

    Members of a pool with shares divide these among those that are not idle. What is idle counts
    as if it alone came to those that are not, for it may begin at any time.
    """
    counted = {item.id: float(item.shares) for item in allocations}
    for pool in pools:
        if pool.shares is None:
            continue
        members = members_of(pool.id, allocations)
        busy = sum(item.shares for item in members if item.id not in idle)
        for item in members:
            beside = busy + item.shares if item.id in idle else busy
            counted[item.id] = pool.shares * item.shares / beside
    return counted


def smallest_stated(allocations: Sequence[Allocation], pools: Sequence[Pool]) -> int:
    """The smallest shares that count beside others as the policy states them, 1 without any."""
    stated = {pool.id: pool.shares for pool in pools if pool.shares is not None}
    own = [item.shares for item in allocations if item.pool not in stated]
    return min([*own, *stated.values()], default=1)
