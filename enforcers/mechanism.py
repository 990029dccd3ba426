"""What every mechanism offers, and the values that pass between it and the agent."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from enforcers.change import Change
from enforcers.contract import (
    Allocation,
    ControlKind,
    CorrectedModel,
    MechanismSupport,
    Outcome,
    Pool,
    ResourceSpec,
    Setting,
)
from enforcers.executor import Execution, Executor
from enforcers.fix import Fix
from enforcers.host_fs import HostFs
from enforcers.joint_post import Post
from enforcers.kernel_news import Hear, deaf
from enforcers.ledger import LedgerEntry
from enforcers.qmp import Monitors, SocketMonitors
from enforcers.runner import Runner

ObservedT = TypeVar("ObservedT")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAccess:
    """The host as mechanisms reach it; `clock_s` goes forward only.

    By `post` other hosts are told what is done on shared datastores; None if nobody is told.
    `hear` listens to what the kernel tells of network interfaces.
    """

    runner: Runner
    host_fs: HostFs
    monitors: Monitors = field(default_factory=SocketMonitors)
    clock_s: Callable[[], float] = time.monotonic
    post: Post | None = None
    hear: Hear = deaf


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """What one device shall enforce; no allocations means: as it was found.

    `left` is by thing what an agent before this one has left of the very same.
    """

    device: str
    spec: ResourceSpec | None
    allocations: tuple[Allocation, ...]
    pools: tuple[Pool, ...] = ()
    left: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A remark on an allocation or one of its controls, and the outcome that it causes."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes from the observed to the desired state.

    `wanted` is what each allocation will have once the changes are made, after mapping and
    rounding; an allocation that is not in it gets nothing, and `notes` says why. `shortfalls`
    says what the kernel cannot do of those that are in it, by control, whether the policy asks
    for that or not; with `unchanged` it is a remark. `found` must be kept before the first
    change; `restored` lists what is back as it was found.
    """

    changes: tuple[Change, ...] = ()
    wanted: Mapping[str, Setting] = field(default_factory=dict)
    notes: Mapping[str, Note] = field(default_factory=dict)
    shortfalls: Mapping[str, Mapping[ControlKind, Note]] = field(default_factory=dict)
    found: tuple[LedgerEntry, ...] = ()
    restored: tuple[LedgerEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """The kernel's running totals for one allocation; None where it keeps none.

    `total` counts what the resource's unit is a rate of: bits, bytes or I/Os. In `full_looks` of
    `short_looks` the limit was used up.
    """

    total: float
    drops: int | None
    overlimits: int | None
    backlog_bytes: int | None
    short_looks: int | None = None
    full_looks: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the kernel shows for one allocation; None where it has nothing for it.

    `thing` names what it is set on, as long as that lives: another one means that the workload
    was started again.
    """

    setting: Setting | None
    counters: Counters | None
    thing: str | None = None


class EnforcementMechanism(Protocol[ObservedT]):
    """Enforces allocations by one kernel facility.

    Everything but `apply` changes nothing, and `plan` and `read_back` are pure. `name` is also
    that of its configuration table, whose keys are the fields of the dataclass `Config`: what
    it may touch, by default nothing.
    """

    name: ClassVar[str]
    Config: ClassVar[type[Any]]

    def __init__(self, host: HostAccess, config: Any) -> None: ...

    def support(self) -> MechanismSupport:
        """Whether this host can run it, found out without changing the host."""
        ...

    def observe(self, desired: Desired, entries: tuple[LedgerEntry, ...]) -> ObservedT:
        """The kernel's present state, as far as it matters here.

        Raises CommandError, MonitorError, OSError, or ValueError for an answer without sense.
        """
        ...

    def plan(self, desired: Desired, observed: ObservedT) -> Plan:
        """The changes that lead from observed to desired."""
        ...

    def apply(self, plan: Plan, executor: Executor) -> Execution:
        """Make the plan's changes."""
        ...

    def read_back(self, desired: Desired, observed: ObservedT) -> Mapping[str, Seen]:
        """What the kernel shows for each allocation id."""
        ...


@runtime_checkable
class FollowingMechanism(Protocol):
    """A mechanism whose kernel facility has to follow what workloads do."""

    def follow(
        self,
        desired: Desired,
        entries: tuple[LedgerEntry, ...],
        executor: Executor,
        clock_s: Callable[[], float],
    ) -> None:
        """One period (`enforcers.following`), for a device where the policy is in force.

        `clock_s` is asked where something is read: a rate is true only over its own time.

        Raises OSError and StateError once all else is done; the next pass finds what is not as
        it should be.
        """
        ...

    def leave(self, desired: Desired, executor: Executor) -> None:
        """Set what may stand while nobody follows. Raises OSError and StateError."""
        ...

    def left(self, desired: Desired) -> Mapping[str, str]:
        """By thing what stands, with which the next agent may begin."""
        ...


@runtime_checkable
class LooksShortly(Protocol):
    """A mechanism that finds in short looks what its periods hide."""

    def look(self, desired: Desired, clock_s: Callable[[], float]) -> None:
        """Begin a look, or end it `enforcers.following.LOOK_S` later. It only reads.

        Raises OSError.
        """
        ...


@runtime_checkable
class CorrectsModels(Protocol):
    """A mechanism that finds out that a device does less than its policy states."""

    def corrected(self, device: str) -> CorrectedModel | None:
        """What the device is taken for now; None where it does what is stated."""
        ...


@runtime_checkable
class FindsItsMark(Protocol):
    """A mechanism whose doing carries a mark in the kernel, and replaces the default only."""

    def find_marked(self) -> tuple[LedgerEntry, ...]:
        """All that carries the mark, as entries that put the kernel's default back.

        Raises CommandError, OSError or ValueError.
        """
        ...


@runtime_checkable
class FindsUnlikeDefault(Protocol):
    """A mechanism whose doing does not show who did it."""

    def find_unlike_default(self) -> tuple[LedgerEntry, ...]:
        """All that it may touch and is not the kernel's default, with that default as found.

        Raises OSError or ValueError.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """What cannot be enforced on a device and why, and what a person can do about it.

    `is_total` False: only some of the controls; the reason says which.
    """

    reason: str
    remedy: str
    is_total: bool = True


@runtime_checkable
class SeesObstacles(Protocol):
    """A mechanism that looks at the devices of its configuration before any policy comes."""

    def obstacles(self) -> Mapping[str, Obstacle | None]:
        """By device that it may change, None if nothing stands in the way. Changes nothing."""
        ...


@runtime_checkable
class KnowsFixes(Protocol):
    """A mechanism that knows files of the host's configuration by which it could do more."""

    def fixes(self) -> tuple[Fix, ...]:
        """The files for what is missing here, whether they are written already or not.

        Changes nothing. What no file can mend has no fix.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclaimed:
    """A workload that may be changed and that no allocation means.

    `names` are the selectors that would mean it, as KIND=VALUE.
    """

    place: str
    names: tuple[str, ...]


@runtime_checkable
class SeesUnclaimed(Protocol):
    """A mechanism that knows the workloads of its host by name."""

    def unclaimed(self, allocations: Sequence[Allocation]) -> tuple[Unclaimed, ...]:
        """The workloads that none of these allocations means. Changes nothing."""
        ...
