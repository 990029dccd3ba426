"""Who of a pool has a turn: a pool's shares are those of whichever members send. Pure.

HTB gives an inner class one turn of each of its leaves, so the more members send the more their
pool would get. With shares of its own the pool's turn is divided among those that wait.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from enforcers.mechanisms.tc_htb import sizing
from enforcers.mechanisms.tc_htb.pooled import counted_shares
from enforcers.mechanisms.tc_htb.tc_text import ClassCounters
from enforcers.mechanisms.tc_htb.tree import Branch, Tree

# TCP leaves its queue empty between two bursts; after so many looks a member is idle.
LOOKS_UNTIL_IDLE = 4


@dataclass(slots=True)
class Waiting:
    """Below which classes packets wait; before the first look they may below all of them."""

    _looks_since: dict[str, int] = field(default_factory=dict)

    def look(self, counters: Mapping[str, ClassCounters]) -> None:
        """Take note of what the classes of one interface count."""
        self._looks_since = {
            classid: 0 if counted.backlog_bytes > 0 else self._looks_since.get(classid, 0) + 1
            for classid, counted in counters.items()
        }

    @property
    def idle(self) -> frozenset[str]:
        """The classes below which nothing waited for a while."""
        return frozenset(
            classid for classid, looks in self._looks_since.items() if looks >= LOOKS_UNTIL_IDLE
        )


def turned(tree: Tree, idle: frozenset[str]) -> Tree:
    """With the turns of pools with shares divided among members whose classes are not idle."""
    allocations = [branch.allocation for branch in tree.branches]
    pools = [part.pool for part in tree.pools]
    at_rest = {branch.allocation.id for branch in tree.branches if branch.leaf.classid in idle}
    counted = counted_shares(allocations, pools, frozenset(at_rest))
    quanta = {
        branch.leaf.classid: sizing.quantum_bytes(
            tree.base_quantum_bytes, counted[branch.allocation.id], tree.smallest_shares
        )
        for branch in _with_turns(tree)
    }
    branches = tuple(
        _with_quantum(branch, quanta[branch.leaf.classid])
        if branch.leaf.classid in quanta
        else branch
        for branch in tree.branches
    )
    return replace(
        tree,
        branches=branches,
        share_bytes={
            branch.leaf.classid: branch.leaf.numbers.quantum_bytes / branch.allocation.shares
            for branch in branches
            if branch.leaf.classid in quanta
        },
    )


def _with_quantum(branch: Branch, quantum_bytes: int) -> Branch:
    numbers = replace(branch.leaf.numbers, quantum_bytes=quantum_bytes)
    return replace(branch, leaf=replace(branch.leaf, numbers=numbers))


def _with_turns(tree: Tree) -> list[Branch]:
    """The members of pools with shares of their own."""
    pools = {part.pool.id for part in tree.pools if part.pool.shares is not None}
    return [branch for branch in tree.branches if branch.allocation.pool in pools]
