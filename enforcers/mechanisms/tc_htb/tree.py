"""An HTB tree: the root class, the host's own traffic by kind, and a class per workload."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from enforcers.contract import Allocation, Pool, Setting
from enforcers.mechanisms.tc_htb.classify import Match
from enforcers.mechanisms.tc_htb.leaf_queue import LeafQueue
from enforcers.mechanisms.tc_htb.observed import DEFAULT_CLASS, HOST_CLASS
from enforcers.mechanisms.tc_htb.signs import Sign, Table
from enforcers.mechanisms.tc_htb.sizing import ClassNumbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A class that packets wait in, its queue, and how they find it.

    `allocation` is that of a kind of the host's own traffic, if it has one.
    """

    classid: str
    parent: str
    numbers: ClassNumbers
    queue: LeafQueue
    matches: tuple[Match, ...]
    signs: tuple[Sign, ...]
    allocation: Allocation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPart:
    """The host's own traffic: one class, or an inner class with a leaf per kind.

    Without an `allocation` it has its least part. `inner` None means that kinds are not told
    apart. The first leaf has what nothing else claims.
    """

    allocation: Allocation | None
    inner: ClassNumbers | None
    leaves: tuple[Leaf, ...]

    @property
    def classid(self) -> str:
        """The class of all of it."""
        return DEFAULT_CLASS if self.inner is None else HOST_CLASS

    @property
    def numbers(self) -> ClassNumbers:
        """Those of the class of all of it."""
        return self.leaves[0].numbers if self.inner is None else self.inner

    @property
    def owner(self) -> str | None:
        """The allocation that its changes belong to."""
        return None if self.allocation is None else self.allocation.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """The class of one workload's allocation; `thing` is what its packets come from."""

    allocation: Allocation
    leaf: Leaf
    thing: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPart:
    """The inner class of a pool, and the allocations whose classes are below it."""

    pool: Pool
    classid: str
    numbers: ClassNumbers
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """All classes of one interface; `program` looks up the signs of the leaves.

    `share_bytes` is what a share is in the quantum of members whose pool has shares of its own.
    """

    root: ClassNumbers
    host: HostPart
    branches: tuple[Branch, ...]
    base_quantum_bytes: int
    smallest_shares: float
    pools: tuple[PoolPart, ...] = ()
    share_bytes: Mapping[str, float] = field(default_factory=dict)
    program: str = ""

    def classes(self) -> Iterator[tuple[Allocation, str, ClassNumbers, str | None]]:
        """Allocation, class and numbers of each, and the thing that its packets come from."""
        if self.host.allocation is not None:
            yield self.host.allocation, self.host.classid, self.host.numbers, None
        for leaf in self.host.leaves:
            if leaf.allocation is not None:
                yield leaf.allocation, leaf.classid, leaf.numbers, None
        for branch in self.branches:
            yield branch.allocation, branch.leaf.classid, branch.leaf.numbers, branch.thing

    def leaves(self) -> Iterator[tuple[str | None, Leaf]]:
        """Every leaf with the allocation that it belongs to."""
        for leaf in self.host.leaves:
            yield self.host.owner if leaf.allocation is None else leaf.allocation.id, leaf
        for branch in self.branches:
            yield branch.allocation.id, branch.leaf

    @property
    def table(self) -> Table | None:
        """What the BPF program looks up, None if it has nothing to look up."""
        classes = {sign: leaf.classid for _, leaf in self.leaves() for sign in leaf.signs}
        return Table(program=self.program, classes=classes) if classes else None

    def part_of(self, allocation: Allocation) -> PoolPart | None:
        """The pool that it is in."""
        return next((part for part in self.pools if part.pool.id == allocation.pool), None)

    def setting(self, numbers: ClassNumbers, classid: str, *, above: str = "") -> Setting:
        """What a class with these numbers means in the policy's words, `above` of its pool."""
        is_unlimited = numbers.ceil_bits_per_s >= self.root.ceil_bits_per_s
        share_bytes = self.base_quantum_bytes / self.smallest_shares
        shares = numbers.quantum_bytes / self.share_bytes.get(classid, share_bytes)
        return Setting(
            reservation=float(numbers.rate_bits_per_s),
            limit=None if is_unlimited else float(numbers.ceil_bits_per_s),
            shares=round(shares, 3),
            native=describe(classid, numbers) + above,
        )


def describe(classid: str, numbers: ClassNumbers) -> str:
    """A class in the kernel's words."""
    return (
        f"class {classid} rate {numbers.rate_bits_per_s} ceil {numbers.ceil_bits_per_s} "
        f"quantum {numbers.quantum_bytes}"
    )


def describe_pool(part: PoolPart, numbers: ClassNumbers) -> str:
    """The class of a pool, told after that of a member."""
    return f"; in pool {part.pool.name!r}: {describe(part.classid, numbers)}"
