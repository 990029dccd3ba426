"""Pools: a limit, a reservation and shares over workloads, whichever of them send.

One workload of a pool sends beside three others, so that who counts pools by their members is off.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.fleet.rows import Row
from bench.testbed.asked import Asked
from bench.testbed.network.host import LINK_MBPS, Host, class_of, host
from bench.testbed.network.part import Effort, Part
from enforcers.contract import Allocation, Pool
from enforcers.following import following
from tests.enforcers.policies import member, pool, vnic
from tests.host.steady_rates import Rates, median_rates

# The agent sees in four of its looks, each 0.5 s, who does not send.
FOLLOWED_S = 2.5
LIMIT_MBPS = 30.0
RESERVED_MBPS = 50.0
_LIMIT = Asked(
    what="pool with a limit of 30 of 94 Mbit/s over two senders, off by",
    unit="ratio",
    word="<=",
    bound=0.02,
)
_RESERVATION = Asked(
    what="pool with a reservation of 50 of 94 Mbit/s, one of two members sends beside ten times "
    "its shares, below by",
    unit="ratio",
    word="<=",
    bound=0.02,
)
_SHARES = Asked(
    what="pools with shares 2:1, one sender beside three, off by",
    unit="ratio",
    word="<=",
    bound=0.05,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A policy for four workloads, in the order of their numbers, and which of them send."""

    allocations: Sequence[Allocation]
    pools: tuple[Pool, ...]
    senders: Sequence[int]


def _pool(**terms: float | None) -> Pool:
    return pool(**{"reservation": 0.0, "limit": None, **terms})


LIMITED = _Case(
    allocations=(member(1), member(2), vnic(3), vnic(4)),
    pools=(_pool(limit=LIMIT_MBPS * 1e6),),
    senders=(1, 2, 3, 4),
)
RESERVED = _Case(
    allocations=(member(1), member(2), vnic(3, shares=1000), vnic(4, shares=1000)),
    pools=(_pool(reservation=RESERVED_MBPS * 1e6),),
    senders=(1, 3, 4),
)
SHARED = _Case(
    allocations=(member(1), *(member(number, pool="pool-2") for number in (2, 3, 4))),
    pools=(
        _pool(shares=200),
        replace(_pool(shares=100), id="pool-2", name="db"),
    ),
    senders=(1, 2, 3, 4),
)


def off_limit(mbps: Mapping[str, float]) -> float:
    """By which part of it the members differ from their pool's limit."""
    return abs((mbps["vm1"] + mbps["vm2"]) / LIMIT_MBPS - 1)


def below_reservation(mbps: Mapping[str, float]) -> float:
    """Which part of its pool's reservation the one who sends does not have."""
    return max(0.0, 1 - mbps["vm1"] / RESERVED_MBPS)


def off_shares(mbps: Mapping[str, float]) -> float:
    """By which part the pools differ from two to one."""
    return abs(mbps["vm1"] / (mbps["vm2"] + mbps["vm3"] + mbps["vm4"]) / 2 - 1)


def _measure(effort: Effort) -> list[Row]:
    asked = (
        (_LIMIT, LIMITED, off_limit),
        (_RESERVATION, RESERVED, below_reservation),
        (_SHARES, SHARED, off_shares),
    )
    rows = []
    with host(4) as built:
        for row, case, off in asked:
            rates = _rates(built, case, effort)
            parts = {name: rate / LINK_MBPS for name, rate in rates.mbps.items()}
            rows.append(replace(row.row(off(rates.mbps), rates.text), values=parts))
    return rows


def _rates(built: Host, case: _Case, effort: Effort) -> Rates:
    built.listen()
    built.enforce(*case.allocations, pools=case.pools)
    classids = {f"vm{number}": class_of(number - 1) for number in case.senders}
    with following(built.follow, look=lambda: None):
        built.let_send(*case.senders)
        built.settle()
        time.sleep(FOLLOWED_S)
        rates = median_rates(built.counters, classids, effort.window_s)
    built.silence()
    built.put_back()
    return rates


POOLS = Part(name="pools", asked=[_LIMIT, _RESERVATION, _SHARES], measure=_measure)
