"""What cannot be done for an allocation on this host, and what would help. Pure."""

import math
from collections.abc import Sequence
from pathlib import PurePosixPath

from enforcers.contract import (
    Allocation,
    Control,
    ControlKind,
    Holds,
    Outcome,
    ResourceSpec,
    Unit,
)
from enforcers.mechanism import Note
from enforcers.mechanisms.cgroup_io.controls import disks_of, is_limitless
from enforcers.mechanisms.cgroup_io.file_systems import unattributed_writes
from enforcers.mechanisms.cgroup_io.located import CGROUP, NAMING
from enforcers.mechanisms.cgroup_io.observed import IoObserved
from enforcers.mechanisms.cgroup_io.ownership import Ownership
from enforcers.mechanisms.cgroup_io.pooled_limit import SMALLEST_PART
from enforcers.results import RIGHT_ALREADY


def holds(*, has_iocost: bool) -> Holds:
    """How the host holds the three controls."""
    needs = (
        "io.weight needs iocost, and a device of cgroup_io.capacity_is_measured or "
        "cgroup_io.models to switch it on for"
    )
    return Holds(
        reservation=Control(
            is_held=has_iocost,
            words="io.weight in proportion of what each is entitled to, renewed each half second"
            if has_iocost
            else needs,
        ),
        limit=Control(
            is_held=True,
            words="io.max, divided among reads and writes by their mix each half second",
        ),
        shares=Control(is_held=has_iocost, words="io.weight" if has_iocost else needs),
    )


def obstacle(spec: ResourceSpec, observed: IoObserved) -> str | None:
    """Why nothing can be done on the device."""
    if observed.problem is not None or observed.refusal is not None:
        return observed.problem or observed.refusal
    if spec.unit is Unit.BITS_PER_S:
        return f"cgroup_io enforces {Unit.IOPS} and {Unit.BYTES_PER_S}, not {spec.unit}"
    return None


def group_problem(item: Allocation, subtrees: frozenset[str]) -> Note | None:
    """Why an allocation's group may not be touched."""
    if item.selector.kind != CGROUP:
        return Note(
            outcome=Outcome.UNSUPPORTED,
            reason=f"cgroup_io recognises a workload by {CGROUP}, {', '.join(NAMING)}, "
            f"not by {item.selector.kind}",
        )
    path = PurePosixPath(item.selector.value)
    is_allowed = (
        str(path) == item.selector.value
        and ".." not in path.parts
        and any(path.is_relative_to(subtree) for subtree in subtrees)
    )
    if is_allowed:
        return None
    allowed = ", ".join(sorted(subtrees)) or "none"
    return Note(
        outcome=Outcome.UNSUPPORTED,
        reason=f"cgroup {item.selector.value!r} is not below one of cgroup_io.subtrees "
        f"(now: {allowed})",
    )


def missing(group: str, observed: IoObserved) -> Note | None:
    """Why a group that may be touched cannot be."""
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


def too_small(item: Allocation) -> Note | None:
    """Why a limit would be exceeded."""
    if item.limit is None or item.limit >= SMALLEST_PART:
        return None
    return Note(
        outcome=Outcome.UNSUPPORTED,
        reason=f"io.max takes whole numbers from {SMALLEST_PART}; a limit of {item.limit:g} "
        "would be exceeded",
    )


def of_controls(
    ownership: Ownership, observed: IoObserved, kept: Sequence[Allocation], capacity: float
) -> dict[ControlKind, Note]:
    """What the device cannot do for the groups that are there, by control."""
    note = ownership.problem or _weightless(observed, kept) or _without_grip(observed)
    if note is not None:
        return {ControlKind.SHARES: note, ControlKind.RESERVATION: note}
    reserved = math.fsum(item.reservation for item in kept)
    if reserved <= capacity:
        return {}
    reason = (
        f"reservations of {reserved:g} do not fit a capacity of {capacity:g}; each is held in "
        "proportion"
    )
    return {ControlKind.RESERVATION: Note(outcome=Outcome.INEFFECTIVE, reason=reason)}


def _weightless(observed: IoObserved, kept: Sequence[Allocation]) -> Note | None:
    groups = [item.selector.value for item in kept]
    if any(observed.groups[group].weight is None for group in groups):
        reason = "this kernel has no io.weight (CONFIG_BLK_CGROUP_IOCOST is off)"
        return Note(outcome=Outcome.INEFFECTIVE, reason=reason)
    parents = sorted({str(PurePosixPath(group).parent) for group in groups})
    if len(parents) > 1:
        reason = (
            "weights compare groups of one parent, and the workloads lie below "
            f"{len(parents)}: {', '.join(parents[:3])}"
        )
        return Note(outcome=Outcome.INEFFECTIVE, reason=reason)
    return None


def _without_grip(observed: IoObserved) -> Note | None:
    reason = observed.standing.no_grip
    return None if reason is None else Note(outcome=Outcome.INEFFECTIVE, reason=reason)


def of_limit(
    item: Allocation, others: Sequence[Allocation], spec: ResourceSpec, observed: IoObserved
) -> dict[ControlKind, Note]:
    """What io.max cannot do of a limit; it is set all the same, as an upper bound."""
    disks = disks_of(item, others)
    measured = observed.standing.exceeded.get(item.selector.value)
    if is_limitless(item, spec.unit):
        remark = f"io.max takes {item.limit:g} for no limit, and so high a limit holds nobody"
        return {ControlKind.LIMIT: Note(outcome=Outcome.UNCHANGED, reason=remark)}
    if len({disk.limit for disk in disks}) > 1:
        reason = f"the disks of {item.workload} state different sums; the smallest holds"
        return {ControlKind.LIMIT: Note(outcome=Outcome.UNSUPPORTED, reason=reason)}
    if measured is not None:
        reason = (
            f"the limit does not hold: {measured:.0f} {spec.unit} were measured, and it is "
            f"{item.limit:g}; does somebody else write io.max of {item.selector.value}?"
        )
        return {ControlKind.LIMIT: Note(outcome=Outcome.INEFFECTIVE, reason=reason)}
    if item.limit is not None and observed.unattributed is not None:
        remark = f"{RIGHT_ALREADY}; {unattributed_writes(observed.unattributed)}"
        return {ControlKind.LIMIT: Note(outcome=Outcome.UNCHANGED, reason=remark)}
    return {}
