"""The HTB tree that a policy asks for on one interface. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from enforcers.contract import Allocation, Outcome, ResourceSpec, Setting
from enforcers.mechanism import Note
from enforcers.mechanisms.tc_htb import sizing
from enforcers.mechanisms.tc_htb.classify import Kind, Match, match_for
from enforcers.mechanisms.tc_htb.fit import guarantee, host_rate_of, whole_problem
from enforcers.mechanisms.tc_htb.leaf_queue import (
    SMALLEST_FIFO_PACKETS,
    SMALLEST_HOST_FIFO_PACKETS,
    LeafQueue,
    fifo,
    leaf_queue,
)
from enforcers.mechanisms.tc_htb.observed import DEFAULT_CLASS, MAJOR, ROOT_CLASS, HtbObserved
from enforcers.mechanisms.tc_htb.sizing import ClassNumbers, Packets

SHARED_CLASSES = (ROOT_CLASS, DEFAULT_CLASS)
_SECOND_HOST = Note(
    outcome=Outcome.FAILED, reason="the host's own traffic belongs to another allocation already"
)
FIRST_MINOR = 0x10
LAST_MINOR = 0xFFFD


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """The class of one allocation, its queue, and how its packets find it."""

    allocation: Allocation
    classid: str
    match: Match
    numbers: ClassNumbers
    queue: LeafQueue


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Root class, class and queue of the host's own traffic, and one branch per workload.

    `host` is the allocation of the host's own traffic; without one it has its least part.
    """

    root: ClassNumbers
    host: Allocation | None
    default: ClassNumbers
    default_queue: LeafQueue
    branches: tuple[Branch, ...]
    base_quantum_bytes: int
    smallest_shares: int

    def classes(self) -> Iterator[tuple[Allocation, str, ClassNumbers, str | None]]:
        """Allocation, class and numbers of each, and the vNIC that it is recognised by."""
        if self.host is not None:
            yield self.host, DEFAULT_CLASS, self.default, None
        for branch in self.branches:
            yield branch.allocation, branch.classid, branch.numbers, branch.match.indev

    def setting(self, numbers: ClassNumbers, classid: str) -> Setting:
        """What a class with these numbers means in the policy's words."""
        is_unlimited = numbers.ceil_bits_per_s >= self.root.ceil_bits_per_s
        shares = numbers.quantum_bytes * self.smallest_shares / self.base_quantum_bytes
        return Setting(
            reservation=float(numbers.rate_bits_per_s),
            limit=None if is_unlimited else float(numbers.ceil_bits_per_s),
            shares=round(shares, 3),
            native=describe(classid, numbers),
        )


def describe(classid: str, numbers: ClassNumbers) -> str:
    """A class in the kernel's words."""
    return (
        f"class {classid} rate {numbers.rate_bits_per_s} ceil {numbers.ceil_bits_per_s} "
        f"quantum {numbers.quantum_bytes}"
    )


def wanted_tree(
    spec: ResourceSpec,
    allocations: tuple[Allocation, ...],
    observed: HtbObserved,
    *,
    has_fq_codel: bool,
) -> tuple[Tree | None, dict[str, Note]]:
    """The tree and what is to be said of allocations that are not in it.

    None means the resource as a whole is refused and the kernel must stay as it is.
    """
    hosts = [item for item in allocations if item.selector.kind == Kind.HOST_TRAFFIC]
    host = hosts[0] if hosts else None
    workloads = [item for item in allocations if item not in hosts]
    problem = whole_problem(spec, workloads, host)
    if problem is not None:
        return None, {item.id: problem for item in allocations}
    matches, notes = _matches(workloads, observed)
    notes |= {item.id: _SECOND_HOST for item in hosts[1:]}
    accepted = [item for item in workloads if item.id in matches]
    classids = _classids(accepted, matches, observed)
    for item in accepted:
        if item.id not in classids:
            notes[item.id] = Note(
                outcome=Outcome.FAILED, reason=f"no class number is free on {observed.device}"
            )
    placed = [item for item in accepted if item.id in classids]
    tree = _sized(spec, placed, matches, classids, observed, host=host, has_fq_codel=has_fq_codel)
    return tree, notes


def _matches(
    allocations: Sequence[Allocation], observed: HtbObserved
) -> tuple[dict[str, Match], dict[str, Note]]:
    matches: dict[str, Match] = {}
    notes: dict[str, Note] = {}
    for item in allocations:
        match = match_for(item.selector)
        if isinstance(match, str):
            notes[item.id] = Note(outcome=Outcome.UNSUPPORTED, reason=match)
        elif match in matches.values():
            notes[item.id] = Note(
                outcome=Outcome.FAILED,
                reason=f"{item.selector.kind} {item.selector.value!r} belongs to another "
                "allocation already",
            )
        elif item.selector.kind == Kind.VNIC and match.indev not in observed.links:
            notes[item.id] = Note(
                outcome=Outcome.FAILED,
                reason=f"there is no interface {match.indev!r}; does the workload run here?",
            )
        elif item.limit is not None and item.limit < sizing.MINIMUM_RATE_BITS_PER_S:
            notes[item.id] = Note(
                outcome=Outcome.UNSUPPORTED,
                reason=f"HTB cannot limit below {sizing.MINIMUM_RATE_BITS_PER_S} bit/s",
            )
        else:
            matches[item.id] = match
    return matches, notes


def _classids(
    allocations: list[Allocation], matches: Mapping[str, Match], observed: HtbObserved
) -> dict[str, str]:
    """Class numbers: that of the filter which is there already, else one no filter leads to."""
    result: dict[str, str] = {}
    for item in allocations:
        present = next((f for f in observed.filters if matches[item.id].is_in(f)), None)
        flowid = "" if present is None else present.flowid or ""
        if flowid in observed.classes and flowid not in {*SHARED_CLASSES, *result.values()}:
            result[item.id] = flowid
    taken = {*(item.flowid for item in observed.filters), *result.values()}
    numbers = (f"{MAJOR}:{minor:x}" for minor in range(FIRST_MINOR, LAST_MINOR + 1))
    free = (classid for classid in numbers if classid not in taken)
    for item in allocations:
        if item.id not in result and (classid := next(free, "")):
            result[item.id] = classid
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turns:
    """What the classes of one tree have in common, and the quantum of each allocation."""

    capacity: int
    packets: Packets
    base_bytes: int
    smallest_shares: int
    host_bytes: int
    quanta: Mapping[str, int]

    @property
    def round_bytes(self) -> int:
        """What a turn of all classes sends, that of the host's own traffic included."""
        return sum(self.quanta.values()) + self.host_bytes

    @property
    def round_s(self) -> float:
        """How long a turn of all classes lasts."""
        return self.round_bytes * 8 / self.capacity


def _sized(
    spec: ResourceSpec,
    allocations: list[Allocation],
    matches: Mapping[str, Match],
    classids: Mapping[str, str],
    observed: HtbObserved,
    *,
    host: Allocation | None,
    has_fq_codel: bool,
) -> Tree:
    packets = _packets(observed, [matches[item.id] for item in allocations])
    capacity = sizing.shown_rate_bits_per_s(spec.capacity)
    host_rate = host_rate_of(spec, host)
    rates = sizing.fit_rates(
        {item.id: guarantee(spec, item) for item in allocations}, capacity - host_rate
    )
    highest = max([host_rate, *rates.values()])
    turns = _turns(allocations, host, capacity, packets, highest_rate=highest)
    rest = capacity - host_rate - sum(rates.values())
    default = _branch_numbers(
        turns,
        host_rate,
        limit=None if host is None else host.limit,
        quantum_bytes=turns.host_bytes,
    )

    def branch(item: Allocation) -> Branch:
        numbers = _branch_numbers(
            turns, rates[item.id], limit=item.limit, quantum_bytes=turns.quanta[item.id]
        )
        return Branch(
            allocation=item,
            classid=classids[item.id],
            match=matches[item.id],
            numbers=numbers,
            queue=_queue(turns, numbers, rest, has_fq_codel=has_fq_codel),
        )

    return Tree(
        root=_root_numbers(turns),
        host=host,
        default=default,
        default_queue=_host_queue(turns, default, rest, has_fq_codel=has_fq_codel),
        branches=tuple(branch(item) for item in allocations),
        base_quantum_bytes=turns.base_bytes,
        smallest_shares=turns.smallest_shares,
    )


def _queue(turns: _Turns, numbers: ClassNumbers, rest: float, *, has_fq_codel: bool) -> LeafQueue:
    """The queue of a class by what HTB gives it when all classes want more than they get."""
    if not has_fq_codel:
        return fifo(
            rate_bits_per_s=turns.capacity,
            smallest_packets=SMALLEST_FIFO_PACKETS,
            packets=turns.packets,
        )
    own_turn = numbers.quantum_bytes / turns.round_bytes
    return leaf_queue(
        rate_bits_per_s=min(
            numbers.rate_bits_per_s + max(rest, 0.0) * own_turn, numbers.ceil_bits_per_s
        ),
        ceil_bits_per_s=numbers.ceil_bits_per_s,
        packets=turns.packets,
    )


def _host_queue(
    turns: _Turns, numbers: ClassNumbers, rest: float, *, has_fq_codel: bool
) -> LeafQueue:
    """The same for the host's own traffic, whose FIFO is by its own rate."""
    if has_fq_codel:
        return _queue(turns, numbers, rest, has_fq_codel=True)
    return fifo(
        rate_bits_per_s=numbers.rate_bits_per_s,
        smallest_packets=SMALLEST_HOST_FIFO_PACKETS,
        packets=turns.packets,
    )


def _turns(
    allocations: list[Allocation],
    host: Allocation | None,
    capacity: int,
    packets: Packets,
    *,
    highest_rate: int,
) -> _Turns:
    """The quanta by shares; without an allocation the host has the smallest shares."""
    shares = [item.shares for item in allocations]
    host_shares = min(shares, default=1) if host is None else host.shares
    smallest = min([*shares, host_shares])
    burst = sizing.leaf_burst_bytes(highest_rate, packets)
    base = sizing.base_quantum_bytes(capacity, [*shares, host_shares], burst, packets)
    return _Turns(
        capacity=capacity,
        packets=packets,
        base_bytes=base,
        smallest_shares=smallest,
        host_bytes=sizing.quantum_bytes(base, host_shares, smallest),
        quanta={
            item.id: sizing.quantum_bytes(base, item.shares, smallest) for item in allocations
        },
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


def _branch_numbers(
    turns: _Turns, rate: int, *, limit: float | None, quantum_bytes: int
) -> ClassNumbers:
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


def _packets(observed: HtbObserved, matches: list[Match]) -> Packets:
    """Packet sizes on this path: the uplink's and those of the interfaces that feed it.

    Offload packets of a vNIC reach the uplink's queue whole, whatever the uplink can do.
    """
    links = [observed.links[observed.device]]
    links += [link for m in matches if (link := observed.links.get(m.indev or ""))]
    return Packets(
        frame_bytes=max(link.frame_bytes for link in links),
        largest_bytes=max(link.largest_bytes for link in links),
    )
