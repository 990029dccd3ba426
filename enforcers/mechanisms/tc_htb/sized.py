"""Gives every class of a tree its rate, ceiling, quantum, bursts and queue. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from enforcers.contract import Allocation, Pool, ResourceSpec
from enforcers.mechanisms.tc_htb import sizing
from enforcers.mechanisms.tc_htb.classify import Claim, Match
from enforcers.mechanisms.tc_htb.fit import host_rate_of
from enforcers.mechanisms.tc_htb.header_matches import TrafficKind
from enforcers.mechanisms.tc_htb.host_kinds import NORMAL_SHARES, HostKind
from enforcers.mechanisms.tc_htb.leaf_queue import (
    SMALLEST_FIFO_PACKETS,
    SMALLEST_HOST_FIFO_PACKETS,
    LeafQueue,
    fifo,
    fifo_at_limit,
    leaf_queue,
)
from enforcers.mechanisms.tc_htb.observed import (
    DEFAULT_CLASS,
    HOST_CLASS,
    KIND_CLASSES,
    ROOT_CLASS,
)
from enforcers.mechanisms.tc_htb.pooled import (
    PlacedPool,
    counted_shares,
    fitted_rates,
    smallest_stated,
    top_level,
)
from enforcers.mechanisms.tc_htb.signs import Sign
from enforcers.mechanisms.tc_htb.sizing import ClassNumbers, Packets
from enforcers.mechanisms.tc_htb.tree import Branch, HostPart, Leaf, PoolPart, Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """An allocation of a workload, its class and how its packets are told."""

    allocation: Allocation
    classid: str
    claim: Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class _Host:
    """The host's own traffic: its allocation, its rate, and its kinds or none of them.

    `stated` are the allocations of kinds, whose reservations come on top of the rate.
    """

    allocation: Allocation | None
    rate: int
    kinds: Sequence[TrafficKind]
    stated: Mapping[HostKind, Allocation]

    @property
    def whole_rate(self) -> int:
        """With what is reserved for kinds."""
        reserved = sum(item.reservation for item in self.stated.values())
        return sizing.shown_rate_bits_per_s(self.rate + reserved)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turns:
    """What the classes of one tree have in common, and the quantum of each.

    `rest` is what the rates leave, in bit/s, if all classes want more.
    """

    capacity: int
    packets: Packets
    base_bytes: int
    smallest_shares: float
    host_shares: int
    quanta: Mapping[str, int]
    kind_quanta: Mapping[HostKind, int]
    rest: float

    @property
    def host_bytes(self) -> int:
        """The quantum of the host's shares."""
        return sizing.quantum_bytes(self.base_bytes, self.host_shares, self.smallest_shares)

    @property
    def round_bytes(self) -> int:
        """What a turn of all classes sends, those of the host's own traffic included."""
        own = sum(self.kind_quanta.values()) if self.kind_quanta else self.host_bytes
        return sum(self.quanta.values()) + own

    @property
    def round_s(self) -> float:
        """How long a turn of all classes lasts."""
        return self.round_bytes * 8 / self.capacity


def sized_tree(
    spec: ResourceSpec,
    placed: Sequence[Placed],
    packets: Packets,
    *,
    pools: Sequence[PlacedPool],
    host: Allocation | None,
    kinds: Sequence[TrafficKind],
    stated: Mapping[HostKind, Allocation],
    has_fq_codel: bool,
) -> Tree:
    """The tree of a policy that fits the interface (`fit.whole_problem`).

    `stated` are the allocations of kinds of the host's own traffic.
    """
    capacity = sizing.shown_rate_bits_per_s(spec.capacity)
    host_rate = host_rate_of(spec, host)
    own = _Host(allocation=host, rate=host_rate, kinds=kinds, stated=stated)
    allocations = [item.allocation for item in placed]
    known = [item.pool for item in pools]
    rates = fitted_rates(spec, allocations, known, capacity - own.whole_rate)
    turns = _turns(allocations, known, own, capacity, packets, rates=rates)
    parts = {item.pool.id: _pool_part(turns, item, rates, allocations) for item in pools}

    def branch(item: Placed) -> Branch:
        key = item.allocation.id
        part = parts.get(item.allocation.pool or "")
        numbers = _numbers(
            turns, rates[key], limit=item.allocation.limit, quantum_bytes=turns.quanta[key]
        )
        leaf = Leaf(
            classid=item.classid,
            parent=ROOT_CLASS if part is None else part.classid,
            numbers=numbers,
            queue=_queue(turns, _within(numbers, part), has_fq_codel=has_fq_codel),
            matches=(item.claim.told,) if isinstance(item.claim.told, Match) else (),
            signs=(item.claim.told,) if isinstance(item.claim.told, Sign) else (),
        )
        return Branch(allocation=item.allocation, leaf=leaf, thing=item.claim.thing)

    return Tree(
        root=_root_numbers(turns),
        host=_host_part(turns, own, has_fq_codel=has_fq_codel),
        branches=tuple(branch(item) for item in placed),
        pools=tuple(parts.values()),
        base_quantum_bytes=turns.base_bytes,
        smallest_shares=turns.smallest_shares,
    )


def _pool_part(
    turns: _Turns, item: PlacedPool, rates: Mapping[str, int], allocations: Sequence[Allocation]
) -> PoolPart:
    """HTB gives an inner class no turn of its own: it has those of its leaves."""
    members = tuple(one.id for one in allocations if one.pool == item.pool.id)
    quantum_bytes = min(sum(turns.quanta[key] for key in members), sizing.LARGEST_QUANTUM_BYTES)
    return PoolPart(
        pool=item.pool,
        classid=item.classid,
        numbers=_numbers(
            turns, rates[item.pool.id], limit=item.pool.limit, quantum_bytes=quantum_bytes
        ),
        members=members,
    )


def _within(numbers: ClassNumbers, part: PoolPart | None) -> ClassNumbers:
    """What a member's queue is sized by: its pool's limit holds for it as well."""
    if part is None:
        return numbers
    ceil = min(numbers.ceil_bits_per_s, part.numbers.ceil_bits_per_s)
    return replace(numbers, ceil_bits_per_s=ceil)


def _turns(
    allocations: Sequence[Allocation],
    pools: Sequence[Pool],
    host: _Host,
    capacity: int,
    packets: Packets,
    *,
    rates: Mapping[str, int],
) -> _Turns:
    """The quanta by shares; without an allocation the host has the smallest shares.

    Each kind of the host's own traffic has a turn of its own: 100 of its shares are the host's.
    """
    counted = counted_shares(allocations, pools)
    host_shares = smallest_stated(allocations, pools)
    if host.allocation is not None:
        host_shares = host.allocation.shares
    of_kinds = {
        item.kind: float(host.stated[item.kind].shares)
        if item.kind in host.stated
        else host_shares * item.shares / NORMAL_SHARES
        for item in host.kinds
    }
    every = [*counted.values(), *(of_kinds.values() or [host_shares])]
    smallest = min(every)
    burst = sizing.leaf_burst_bytes(max([host.whole_rate, *rates.values()]), packets)
    base = sizing.base_quantum_bytes(capacity, every, burst, packets)
    top = top_level(allocations, pools)
    return _Turns(
        capacity=capacity,
        packets=packets,
        base_bytes=base,
        smallest_shares=smallest,
        host_shares=host_shares,
        quanta={key: sizing.quantum_bytes(base, own, smallest) for key, own in counted.items()},
        kind_quanta={
            kind: sizing.quantum_bytes(base, own, smallest) for kind, own in of_kinds.items()
        },
        rest=max(capacity - host.whole_rate - sum(rates[key] for key in top), 0.0),
    )


def _host_part(turns: _Turns, host: _Host, *, has_fq_codel: bool) -> HostPart:
    limit = None if host.allocation is None else host.allocation.limit
    whole = _numbers(turns, host.whole_rate, limit=limit, quantum_bytes=turns.host_bytes)

    def leaf(
        classid: str, parent: str, numbers: ClassNumbers, kind: TrafficKind | None = None
    ) -> Leaf:
        if has_fq_codel:
            queue = _queue(turns, numbers, has_fq_codel=True)
        else:
            queue = _fifo_of_host(turns, whole, numbers.quantum_bytes if host.kinds else 0)
        return Leaf(
            classid=classid,
            parent=parent,
            numbers=numbers,
            queue=queue,
            matches=() if kind is None else kind.matches,
            signs=() if kind is None else kind.signs,
            allocation=None if kind is None else host.stated.get(kind.kind),
        )

    if not host.kinds:
        leaves = [leaf(DEFAULT_CLASS, ROOT_CLASS, whole)]
        return HostPart(allocation=host.allocation, inner=None, leaves=tuple(leaves))
    rates = sizing.divided(host.rate, {item.kind: item.shares for item in host.kinds})
    leaves = [
        leaf(
            KIND_CLASSES[item.kind],
            HOST_CLASS,
            _kind_numbers(turns, rates[item.kind], host.stated.get(item.kind), limit, item.kind),
            item,
        )
        for item in host.kinds
    ]
    leaves.sort(key=lambda one: one.classid != DEFAULT_CLASS)
    return HostPart(allocation=host.allocation, inner=whole, leaves=tuple(leaves))


def _kind_numbers(
    turns: _Turns, part: int, own: Allocation | None, host_limit: float | None, kind: HostKind
) -> ClassNumbers:
    """Its part of the host's rate and what is reserved for it, within its own limit."""
    rate, limits = float(part), [host_limit]
    if own is not None:
        limits.append(own.limit)
        rate = min(part + own.reservation, own.limit or math.inf)
    limit = min((one for one in limits if one is not None), default=None)
    return _numbers(
        turns,
        sizing.shown_rate_bits_per_s(rate),
        limit=limit,
        quantum_bytes=turns.kind_quanta[kind],
    )


def _queue(turns: _Turns, numbers: ClassNumbers, *, has_fq_codel: bool) -> LeafQueue:
    """The queue of a class by what HTB gives it when all classes want more than they get."""
    if not has_fq_codel and numbers.ceil_bits_per_s < turns.capacity:
        return fifo_at_limit(limit_bits_per_s=numbers.ceil_bits_per_s, packets=turns.packets)
    if not has_fq_codel:
        return fifo(
            rate_bits_per_s=turns.capacity,
            smallest_packets=SMALLEST_FIFO_PACKETS,
            packets=turns.packets,
        )
    own_turn = numbers.quantum_bytes / turns.round_bytes
    return leaf_queue(
        rate_bits_per_s=min(
            numbers.rate_bits_per_s + turns.rest * own_turn, numbers.ceil_bits_per_s
        ),
        ceil_bits_per_s=numbers.ceil_bits_per_s,
        packets=turns.packets,
    )


def _fifo_of_host(turns: _Turns, whole: ClassNumbers, turn_bytes: int) -> LeafQueue:
    """A FIFO by the host's own rate, where the kernel has no fq_codel.

    It holds two turns: a kind whose queue ends before its turn does gives its shares away.
    """
    of_turns = round(2 * turn_bytes / turns.packets.largest_bytes)
    return fifo(
        rate_bits_per_s=whole.rate_bits_per_s,
        smallest_packets=max(SMALLEST_HOST_FIFO_PACKETS, of_turns),
        packets=turns.packets,
    )


def _root_numbers(turns: _Turns) -> ClassNumbers:
    burst = sizing.ceil_burst_bytes(turns.capacity, turns.packets)
    return ClassNumbers(
        rate_bits_per_s=turns.capacity,
        ceil_bits_per_s=turns.capacity,
        quantum_bytes=turns.base_bytes,
        burst_bytes=burst,
        cburst_bytes=burst,
    )


def _numbers(turns: _Turns, rate: int, *, limit: float | None, quantum_bytes: int) -> ClassNumbers:
    capacity, packets = turns.capacity, turns.packets
    ceil = capacity if limit is None else min(capacity, sizing.shown_rate_bits_per_s(limit))
    # Below the whole link the ceiling is a limit of its own, and waiting must not lower it.
    wait_s = turns.round_s if ceil < capacity else 0.0
    return ClassNumbers(
        rate_bits_per_s=rate,
        ceil_bits_per_s=max(ceil, rate),
        quantum_bytes=quantum_bytes,
        burst_bytes=sizing.leaf_burst_bytes(rate, packets),
        cburst_bytes=sizing.ceil_burst_bytes(ceil, packets, round_s=wait_s),
    )
