"""The HTB tree that a policy asks for on one interface. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from enforcers.contract import (
    Allocation,
    Outcome,
    ReservationMode,
    ResourceSpec,
    Setting,
    Unit,
)
from enforcers.mechanism import Note
from enforcers.mechanisms.tc_htb import sizing
from enforcers.mechanisms.tc_htb.classify import Kind, Match, match_for
from enforcers.mechanisms.tc_htb.leaf_queue import (
    SMALLEST_FIFO_PACKETS,
    SMALLEST_HOST_FIFO_PACKETS,
    LeafQueue,
    fifo,
    leaf_queue,
)
from enforcers.mechanisms.tc_htb.observed import DEFAULT_CLASS, MAJOR, ROOT_CLASS, HtbObserved
from enforcers.mechanisms.tc_htb.sizing import ClassNumbers, Guarantee, Packets

SHARED_CLASSES = (ROOT_CLASS, DEFAULT_CLASS)
FIRST_MINOR = 0x10
LAST_MINOR = 0xFFFD
# Rounding of sums, not slack: reservations that truly exceed the link are refused.
RELATIVE_ROUNDING = 1e-9


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
    """Root class, class and queue for unclassified traffic, and one branch per allocation."""

    root: ClassNumbers
    default: ClassNumbers
    default_queue: LeafQueue
    branches: tuple[Branch, ...]
    base_quantum_bytes: int
    smallest_shares: int

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
    problem = _whole_problem(spec, allocations)
    if problem is not None:
        return None, {item.id: problem for item in allocations}
    matches, notes = _matches(allocations, observed)
    accepted = [item for item in allocations if item.id in matches]
    classids = _classids(accepted, matches, observed)
    for item in accepted:
        if item.id not in classids:
            notes[item.id] = Note(
                outcome=Outcome.FAILED, reason=f"no class number is free on {observed.device}"
            )
    placed = [item for item in accepted if item.id in classids]
    tree = _sized(spec, placed, matches, classids, observed, has_fq_codel=has_fq_codel)
    return tree, notes


def guarantee(spec: ResourceSpec, allocation: Allocation) -> Guarantee:
    """What becomes the class's rate.

    HTB shares out what the rates leave, which is the additive meaning. For the floor meaning
    the rate is the solver's result, which has the shares in it already.
    """
    match spec.mode:
        case ReservationMode.ADDITIVE:
            entitlement = 0.0
        case ReservationMode.FLOOR:
            entitlement = allocation.entitlement
        case _:
            assert_never(spec.mode)
    return Guarantee(reservation=allocation.reservation, entitlement=entitlement)


def _whole_problem(spec: ResourceSpec, allocations: tuple[Allocation, ...]) -> Note | None:
    if spec.unit is not Unit.BITS_PER_S:
        return Note(
            outcome=Outcome.UNSUPPORTED,
            reason=f"tc_htb enforces {Unit.BITS_PER_S}, not {spec.unit}",
        )
    host_rate = sizing.host_rate_bits_per_s(spec.capacity)
    room = spec.capacity - host_rate
    if room < sizing.MINIMUM_RATE_BITS_PER_S * len(allocations):
        return Note(
            outcome=Outcome.UNSUPPORTED,
            reason=f"a link of {spec.capacity:.0f} bit/s is too small for {len(allocations)} "
            f"classes of {sizing.MINIMUM_RATE_BITS_PER_S} bit/s beside the {host_rate} bit/s "
            "for the host's own traffic",
        )
    guarantees = [guarantee(spec, item) for item in allocations]
    total = sum(max(item.reservation, item.entitlement) for item in guarantees)
    if total > spec.capacity * (1 + RELATIVE_ROUNDING):
        return Note(
            outcome=Outcome.FAILED,
            reason=f"guarantees of {total:.0f} bit/s exceed the {spec.capacity:.0f} bit/s of "
            f"{spec.device}; HTB would let them through together",
        )
    reserved = sum(item.reservation for item in guarantees)
    if reserved > room * (1 + RELATIVE_ROUNDING):
        return Note(
            outcome=Outcome.FAILED,
            reason=f"reservations of {reserved:.0f} bit/s exceed the {room:.0f} bit/s that "
            f"{spec.device} has beside the {host_rate} bit/s for the host's own traffic; "
            f"reserve {reserved - room:.0f} bit/s less",
        )
    return None


def _matches(
    allocations: tuple[Allocation, ...], observed: HtbObserved
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
    quanta: Mapping[str, int]

    @property
    def round_bytes(self) -> int:
        """What a turn of all classes sends, that of unclassified traffic included."""
        return sum(self.quanta.values()) + self.base_bytes

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
    has_fq_codel: bool,
) -> Tree:
    packets = _packets(observed, [matches[item.id] for item in allocations])
    capacity = sizing.shown_rate_bits_per_s(spec.capacity)
    host_rate = sizing.host_rate_bits_per_s(spec.capacity)
    rates = sizing.fit_rates(
        {item.id: guarantee(spec, item) for item in allocations}, capacity - host_rate
    )
    turns = _turns(allocations, capacity, packets, highest_rate=max([host_rate, *rates.values()]))
    rest = capacity - host_rate - sum(rates.values())
    default = _branch_numbers(turns, host_rate, limit=None, quantum_bytes=turns.base_bytes)

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
    allocations: list[Allocation], capacity: int, packets: Packets, *, highest_rate: int
) -> _Turns:
    """The quanta by shares; unclassified traffic counts as the smallest shares."""
    shares = [item.shares for item in allocations]
    smallest = min(shares, default=1)
    burst = sizing.leaf_burst_bytes(highest_rate, packets)
    base = sizing.base_quantum_bytes(capacity, [*shares, smallest], burst, packets)
    return _Turns(
        capacity=capacity,
        packets=packets,
        base_bytes=base,
        smallest_shares=smallest,
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
