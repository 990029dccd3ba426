"""Enforces limits and shares of a block device through cgroup v2 `io.max` and `io.weight`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar

from enforcers.contract import (
    Allocation,
    Control,
    Holds,
    MechanismSupport,
    Outcome,
    ResourceSpec,
    Setting,
    Unit,
)
from enforcers.errors import ValueRefused
from enforcers.executor import Execution, Executor
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import Counters, Desired, HostAccess, Note, Plan, Seen
from enforcers.mechanisms.cgroup_io import controls
from enforcers.mechanisms.cgroup_io.io_text import UNLIMITED, WEIGHT_FOLLOWS_DEFAULT
from enforcers.mechanisms.cgroup_io.observed import (
    Group,
    IoObserved,
    has_iocost,
    io_mount,
    observe,
    why_no_io,
)

CGROUP = "cgroup"
SMALLEST_LIMIT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupIoConfig:
    """The devices, and the paths below the cgroup mount, whose controls may be changed."""

    subtrees: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for subtree in sorted(self.subtrees):
            path = PurePosixPath(subtree)
            if not path.is_absolute() or str(path) != subtree or ".." in path.parts:
                rule = "must be paths below the cgroup mount, like /machine.slice"
                raise ValueRefused("subtrees", subtree, rule)


class CgroupIo:
    """Limit is `io.max`, shares are `io.weight`; a reservation has no counterpart."""

    name: ClassVar[str] = controls.NAME
    Config: ClassVar[type[CgroupIoConfig]] = CgroupIoConfig

    def __init__(self, host: HostAccess, config: CgroupIoConfig) -> None:
        self._host_fs = host.host_fs
        self._subtrees = config.subtrees
        self._devices = config.devices

    def support(self) -> MechanismSupport:
        mount = io_mount(self._host_fs)
        return MechanismSupport(
            mechanism=self.name,
            supported=mount is not None,
            reason=why_no_io(self._host_fs)
            if mount is None
            else f"io controller at {mount}: limits; shares where iocost is on; no reservations",
            units=(Unit.IOPS, Unit.BYTES_PER_S),
            selectors=(CGROUP,),
            holds=_holds(has_iocost=mount is not None and has_iocost(self._host_fs, mount)),
        )

    def observe(self, desired: Desired, entries: tuple[LedgerEntry, ...]) -> IoObserved:
        groups = {
            item.selector.value
            for item in desired.allocations
            if self._group_problem(item) is None
        }
        noted = controls.groups_of(entries)
        return observe(
            self._host_fs,
            desired.device,
            groups=groups | noted,
            allowed_devices=self._devices,
            entries=entries,
        )

    def plan(self, desired: Desired, observed: IoObserved) -> Plan:
        if desired.spec is None or not desired.allocations:
            if observed.problem is not None:
                return Plan()
            changes, restored = controls.restoring_changes(set(), observed)
            return Plan(changes=tuple(changes), restored=tuple(restored))
        problem = _obstacle(desired.spec, observed)
        if problem is not None:
            note = Note(outcome=Outcome.UNSUPPORTED, reason=problem)
            return Plan(notes={item.id: note for item in desired.allocations})
        return self._plan_groups(desired.spec.unit, desired.allocations, observed)

    def apply(self, plan: Plan, executor: Executor) -> Execution:
        return executor.run(plan.changes, plan.found)

    def read_back(self, desired: Desired, observed: IoObserved) -> Mapping[str, Seen]:
        if desired.spec is None or observed.problem is not None:
            return {}
        unit = desired.spec.unit
        if unit is Unit.BITS_PER_S:
            return {}
        scale = controls.weight_scale(desired.allocations)
        return {
            item.id: _seen(observed.groups[item.selector.value], unit, scale, observed)
            for item in desired.allocations
            if item.selector.value in observed.groups
        }

    def _plan_groups(
        self, unit: Unit, allocations: tuple[Allocation, ...], observed: IoObserved
    ) -> Plan:
        changes, found = [], []
        wanted: dict[str, Setting] = {}
        notes: dict[str, Note] = {}
        kept: set[str] = set()
        scale = controls.weight_scale(allocations)
        shares_differ = len({item.shares for item in allocations}) > 1
        for item in allocations:
            group = item.selector.value
            problem = self._group_problem(item) or _missing(group, observed) or _too_small(item)
            if problem is None and group in kept:
                problem = Note(
                    outcome=Outcome.FAILED,
                    reason=f"cgroup {group} belongs to another allocation already",
                )
            if problem is not None:
                notes[item.id] = problem
                continue
            kept.add(group)
            target = controls.wanted_controls(
                item, unit=unit, scale=scale, is_iocost_enabled=observed.is_iocost_enabled
            )
            more, before = controls.control_changes(group, target, observed, item.id)
            changes += more
            found += before
            wanted[item.id] = _setting(target.io_max, target.weight, unit, scale, observed)
            note = _shortfall(item, observed.groups[group], observed, shares_differ=shares_differ)
            if note is not None:
                notes[item.id] = note
        undo, restored = controls.restoring_changes(kept, observed)
        return Plan(
            changes=(*changes, *undo),
            wanted=wanted,
            notes=notes,
            found=tuple(found),
            restored=tuple(restored),
        )

    def _group_problem(self, item: Allocation) -> Note | None:
        """Why an allocation's group may not be touched."""
        if item.selector.kind != CGROUP:
            return Note(
                outcome=Outcome.UNSUPPORTED,
                reason=f"cgroup_io recognises a workload by cgroup, not by {item.selector.kind}",
            )
        path = PurePosixPath(item.selector.value)
        is_allowed = (
            str(path) == item.selector.value
            and ".." not in path.parts
            and any(path.is_relative_to(subtree) for subtree in self._subtrees)
        )
        if is_allowed:
            return None
        allowed = ", ".join(sorted(self._subtrees)) or "none"
        return Note(
            outcome=Outcome.UNSUPPORTED,
            reason=f"cgroup {item.selector.value!r} is not below one of cgroup_io.subtrees "
            f"(now: {allowed})",
        )


def _holds(*, has_iocost: bool) -> Holds:
    return Holds(
        reservation=Control(is_held=False, words="cgroup v2 has no reservation of I/O"),
        limit=Control(is_held=True, words="io.max, for reads and for writes each by itself"),
        shares=Control(
            is_held=has_iocost,
            words="io.weight"
            if has_iocost
            else "io.weight needs iocost with a measured model of the device",
        ),
    )


def _obstacle(spec: ResourceSpec, observed: IoObserved) -> str | None:
    if observed.problem is not None or observed.refusal is not None:
        return observed.problem or observed.refusal
    if spec.unit is Unit.BITS_PER_S:
        return f"cgroup_io enforces {Unit.IOPS} and {Unit.BYTES_PER_S}, not {spec.unit}"
    return None


def _missing(group: str, observed: IoObserved) -> Note | None:
    present = observed.groups.get(group)
    if present is None:
        return Note(
            outcome=Outcome.FAILED,
            reason=f"there is no cgroup {group}; does the workload run here?",
        )
    if present.io_max is None:
        parent = PurePosixPath(group).parent
        return Note(
            outcome=Outcome.UNSUPPORTED,
            reason=f"the io controller is off for {group}; "
            f"write +io to cgroup.subtree_control of {parent} and of every group above it",
        )
    return None


def _too_small(item: Allocation) -> Note | None:
    if item.limit is None or item.limit >= SMALLEST_LIMIT:
        return None
    return Note(
        outcome=Outcome.UNSUPPORTED,
        reason=f"io.max takes whole numbers from {SMALLEST_LIMIT}; a limit of {item.limit:g} "
        "would be exceeded",
    )


def _shortfall(
    item: Allocation, present: Group, observed: IoObserved, *, shares_differ: bool
) -> Note | None:
    """What the policy asks for this allocation and the kernel cannot do.

    Equal shares are what a kernel without weights gives.
    """
    without_shares = None
    if present.weight is None:
        without_shares = "this kernel has no io.weight (CONFIG_BLK_CGROUP_IOCOST is off)"
    elif not observed.is_iocost_enabled:
        without_shares = (
            f"shares have no effect: iocost is off for {observed.number}, for the kernel has no "
            "measured model of this device; the limit needs none"
        )
    if item.reservation > 0:
        reason = "cgroup v2 has no reservation of I/O"
        if without_shares is not None and shares_differ:
            reason = f"{reason}; {without_shares}"
        return Note(outcome=Outcome.UNSUPPORTED, reason=reason)
    if without_shares is not None and shares_differ:
        return Note(outcome=Outcome.INEFFECTIVE, reason=without_shares)
    return None


def _setting(
    io_max: Mapping[str, str],
    weight: int | None,
    unit: Unit,
    scale: float,
    observed: IoObserved,
) -> Setting:
    limits = [io_max[key] for key in controls.limit_keys(unit)]
    words = " ".join(f"{key}={io_max[key]}" for key in controls.limit_keys(unit))
    native = f"{observed.number} {words}"
    return Setting(
        reservation=None,
        limit=None if UNLIMITED in limits else max(float(value) for value in limits),
        shares=None if weight is None else round(weight / scale, 3),
        native=native if weight is None else f"{native} weight={weight}",
    )


def _seen(present: Group, unit: Unit, scale: float, observed: IoObserved) -> Seen:
    weight = present.weight if observed.is_iocost_enabled else None
    if weight == WEIGHT_FOLLOWS_DEFAULT:
        weight = str(controls.DEFAULT_WEIGHT)
    setting = None
    if present.io_max is not None:
        shown = None if weight is None else int(weight)
        setting = _setting(present.io_max, shown, unit, scale, observed)
    counters = None
    if present.stat is not None:
        total = sum(present.stat.get(key, 0) for key in controls.stat_keys(unit))
        counters = Counters(total=float(total), drops=None, overlimits=None, backlog_bytes=None)
    return Seen(setting=setting, counters=counters, thing=present.identity)
