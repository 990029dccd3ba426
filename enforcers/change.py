"""A planned change to the kernel: data until the executor makes it."""

import shlex
from dataclasses import dataclass
from enum import StrEnum

from enforcers.outcomes import ALL_CONTROLS, ControlKind
from enforcers.qmp import Monitor, Order


class Effect(StrEnum):
    """Whether a change shrinks or grows a place in the tree."""

    SHRINK = "shrink"
    GROW = "grow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A change made by running a program.

    `batch` is the program that makes many such changes in one run: it reads the words after
    the program's name, one change a line, stops at the first line that fails, and names it as
    `Command failed -:LINE` (tc-batch in iproute2's tc(8)). None: it has no such form.
    """

    argv: tuple[str, ...]
    batch: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return shlex.join(self.argv)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWrite:
    """A change made by writing a control file; `path` is a host path."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"write {self.text!r} to {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorOrder:
    """A change made by telling a QEMU process over its monitor, whose path is a host path."""

    monitor: Monitor
    order: Order

    def __str__(self) -> str:
        return f"{self.order} to process {self.monitor.pid} at {self.monitor.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One write, with what it replaces.

    `target` names the thing, `before` and `after` are None where it does not exist. `depth`
    is its level in the tree, the root being 0. `allocation` is the id it belongs to, None
    for what all share; `controls` are those of its controls that it changes. `also_of` are more
    allocations that it changes, where one write is for many.
    """

    target: str
    before: str | None
    after: str | None
    write: Command | FileWrite | MonitorOrder
    effect: Effect
    depth: int
    allocation: str | None
    controls: frozenset[ControlKind] = ALL_CONTROLS
    also_of: frozenset[str] = frozenset()

    def is_of(self, allocation: str) -> bool:
        """Whether it changes something of this allocation."""
        return allocation == self.allocation or allocation in self.also_of

    def __str__(self) -> str:
        return f"{self.target}: {self.before or 'absent'} -> {self.after or 'absent'}"


def in_safe_order(changes: tuple[Change, ...]) -> list[Change]:
    """First what shrinks, children before parents; then what grows, parents before children.

    So the children's sum never exceeds their parent on the way.
    """
    shrinking = [change for change in changes if change.effect is Effect.SHRINK]
    growing = [change for change in changes if change.effect is Effect.GROW]
    return [
        *sorted(shrinking, key=lambda change: -change.depth),
        *sorted(growing, key=lambda change: change.depth),
    ]
