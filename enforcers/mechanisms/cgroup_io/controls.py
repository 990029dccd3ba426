"""The io control values of a policy, and the changes to reach them. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from enforcers.change import Change, Effect, FileWrite
from enforcers.contract import Allocation, ControlKind, LimitScope, Unit
from enforcers.entitlement import Claim
from enforcers.ledger import LedgerEntry
from enforcers.mechanisms.cgroup_io import io_text
from enforcers.mechanisms.cgroup_io.io_text import UNLIMITED, WEIGHT_FOLLOWS_DEFAULT
from enforcers.mechanisms.cgroup_io.observed import IO_MAX, IO_WEIGHT, IoObserved
from enforcers.mechanisms.cgroup_io.pooled_limit import SMALLEST_PART

NAME = "cgroup_io"
DEFAULT_WEIGHT = 100

# tg_set_limit in block/blk-throttle.c takes UINT_MAX, and U64_MAX, for no limit.
_LIMITLESS_FROM = {Unit.IOPS: 2**32 - 1, Unit.BYTES_PER_S: 2**64 - 1}
# io.max limits each direction by itself; there is no limit for both together.
_LIMIT_KEYS = {Unit.IOPS: ("riops", "wiops"), Unit.BYTES_PER_S: ("rbps", "wbps")}
_STAT_KEYS = {Unit.IOPS: ("rios", "wios"), Unit.BYTES_PER_S: ("rbytes", "wbytes")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """What one group shall have; `weight` None means it is left alone."""

    io_max: Mapping[str, str]
    weight: int | None


def claim_of(item: Allocation) -> Claim:
    """What the policy lets a workload claim."""
    return Claim(reservation=item.reservation, limit=item.limit, shares=float(item.shares))


def limit_of(item: Allocation, unit: Unit) -> float | None:
    """The limit per second that io.max can hold; None also of one that it takes for none."""
    return None if is_limitless(item, unit) else item.limit


def disks_of(item: Allocation, kept: Sequence[Allocation]) -> tuple[Allocation, ...]:
    """All allocations that one limit holds together: the disks of a workload, or one alone."""
    if not _has_sum(item):
        return (item,)
    return tuple(one for one in kept if _has_sum(one) and one.workload == item.workload)


def limit_over(disks: Sequence[Allocation], unit: Unit) -> float | None:
    """The limit of disks that it holds together; if they state several, the smallest."""
    limits = [limit for disk in disks if (limit := limit_of(disk, unit)) is not None]
    return min(limits, default=None)


def is_limitless(item: Allocation, unit: Unit) -> bool:
    """Whether the policy's limit is beyond what io.max counts."""
    return item.limit is not None and item.limit >= _LIMITLESS_FROM.get(unit, math.inf)


def _has_sum(item: Allocation) -> bool:
    return item.limit is not None and item.limit_scope is LimitScope.POOLED


def limit_keys(unit: Unit) -> tuple[str, str]:
    """The io.max keys that limit this unit, reading and writing."""
    return _LIMIT_KEYS[unit]


def stat_keys(unit: Unit) -> tuple[str, str]:
    """The io.stat keys that count this unit, reading and writing."""
    return _STAT_KEYS[unit]


def wanted_controls(
    allocation: Allocation,
    *,
    unit: Unit,
    weight: int | None,
    parts: Mapping[str, str] | None = None,
    disks: Sequence[Allocation] = (),
) -> Controls:
    """The values of an allocation's group. Without iocost a weight cannot even be written.

    `parts` divides the limit among the directions, once it is known which it uses; `disks` are
    all that it holds together.
    """
    together = disks or (allocation,)
    limit = limit_over(together, unit)
    value = UNLIMITED if limit is None else str(max(SMALLEST_PART, int(limit / len(together))))
    return Controls(io_max=parts or dict.fromkeys(limit_keys(unit), value), weight=weight)


def control_changes(
    group: str, controls: Controls, observed: IoObserved, allocation: str
) -> tuple[list[Change], list[LedgerEntry]]:
    """The changes for one group, and what they would replace."""
    present = observed.groups[group]
    changes, found = [], []
    if present.io_max is not None:
        wanted = {**_noted_io_max(group, observed), **controls.io_max}
        now = {key: present.io_max[key] for key in wanted}
        if now != wanted:
            changes.append(_io_max_change(group, now, wanted, observed, allocation))
            found.append(_io_max_entry(group, present.io_max, observed))
    if controls.weight is not None and present.weight is not None:
        weight = str(controls.weight)
        if present.weight != weight:
            changes.append(_weight_change(group, present.weight, weight, observed, allocation))
            found.append(_entry(group, IO_WEIGHT, present.weight, observed))
    return changes, found


def _noted_io_max(group: str, observed: IoObserved) -> dict[str, str]:
    """What was found, if anything was changed: also a former policy's limit of the other unit."""
    identity = observed.groups[group].identity
    for entry in observed.entries:
        if entry.thing == f"{group} {IO_MAX}" and entry.identity in {None, identity}:
            return _words(entry.found)
    return {}


def weight_adjustment(group: str, wanted: int, observed: IoObserved) -> FileWrite:
    """Another weight for a group that has one of ours."""
    return _weight_write(group, str(wanted), observed)


def limit_adjustment(group: str, wanted: Mapping[str, str], observed: IoObserved) -> FileWrite:
    """Other parts of a limit that is in force."""
    return _io_max_write(group, wanted, observed)


def found_weight(group: str, now: int, observed: IoObserved) -> LedgerEntry:
    """What a weight was found to be, before it is adjusted for the first time."""
    return _entry(group, IO_WEIGHT, str(now), observed)


def found_limit(group: str, observed: IoObserved) -> tuple[LedgerEntry, ...]:
    """What a limit was found to be, before it is adjusted for the first time."""
    found = observed.groups[group].io_max
    return () if found is None else (_io_max_entry(group, found, observed),)


def restoring_changes(
    kept: set[str], observed: IoObserved
) -> tuple[list[Change], list[LedgerEntry]]:
    """Put back every noted value of groups that are not kept, and list what is back already.

    A group that is gone has taken its values with it, also if its name is used again.
    """
    changes: list[Change] = []
    restored: list[LedgerEntry] = []
    for entry in observed.entries:
        group, _, control = entry.thing.rpartition(" ")
        if group in kept or not group:
            continue
        change = _restoring_change(entry, group, control, observed)
        if change is None:
            restored.append(entry)
        else:
            changes.append(change)
    return changes, restored


def groups_of(entries: tuple[LedgerEntry, ...]) -> set[str]:
    """The groups that noted values belong to; those of the device itself have none."""
    return {entry.thing.rpartition(" ")[0] for entry in entries} - {""}


def _restoring_change(
    entry: LedgerEntry, group: str, control: str, observed: IoObserved
) -> Change | None:
    present = observed.groups.get(group)
    if present is None or entry.identity not in {None, present.identity}:
        return None
    if control == IO_WEIGHT:
        if present.weight in {None, entry.found}:
            return None
        return _weight_change(group, present.weight or "", entry.found, observed, None)
    found = _words(entry.found)
    if present.io_max is None or dict(present.io_max) == found:
        return None
    return _io_max_change(group, present.io_max, found, observed, None)


def _io_max_change(
    group: str,
    now: Mapping[str, str],
    wanted: Mapping[str, str],
    observed: IoObserved,
    allocation: str | None,
) -> Change:
    tightens = any(_as_number(wanted[key]) < _as_number(now[key]) for key in wanted)
    return Change(
        target=f"{group} {IO_MAX} {observed.number}",
        before=io_text.format_io_max(now),
        after=io_text.format_io_max(wanted),
        write=_io_max_write(group, wanted, observed),
        effect=Effect.SHRINK if tightens else Effect.GROW,
        depth=_depth(group),
        allocation=allocation,
        controls=frozenset({ControlKind.LIMIT}),
    )


def _weight_change(
    group: str, now: str, wanted: str, observed: IoObserved, allocation: str | None
) -> Change:
    return Change(
        target=f"{group} {IO_WEIGHT} {observed.number}",
        before=now,
        after=wanted,
        write=_weight_write(group, wanted, observed),
        effect=Effect.SHRINK if _as_weight(wanted) < _as_weight(now) else Effect.GROW,
        depth=_depth(group),
        allocation=allocation,
        controls=frozenset({ControlKind.SHARES, ControlKind.RESERVATION}),
    )


def _io_max_write(group: str, wanted: Mapping[str, str], observed: IoObserved) -> FileWrite:
    return FileWrite(
        path=observed.control_path(group, IO_MAX),
        text=f"{observed.number} {io_text.format_io_max(wanted)}",
    )


def _weight_write(group: str, wanted: str, observed: IoObserved) -> FileWrite:
    return FileWrite(
        path=observed.control_path(group, IO_WEIGHT), text=f"{observed.number} {wanted}"
    )


def _io_max_entry(group: str, found: Mapping[str, str], observed: IoObserved) -> LedgerEntry:
    return _entry(group, IO_MAX, io_text.format_io_max(found), observed)


def _entry(group: str, control: str, found: str, observed: IoObserved) -> LedgerEntry:
    return LedgerEntry(
        mechanism=NAME,
        device=observed.device,
        thing=f"{group} {control}",
        found=found,
        identity=observed.groups[group].identity,
    )


def _words(found: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in found.split())


def _as_number(value: str) -> float:
    return float("inf") if value == UNLIMITED else float(value)


def _as_weight(value: str) -> int:
    return DEFAULT_WEIGHT if value == WEIGHT_FOLLOWS_DEFAULT else int(value)


def _depth(group: str) -> int:
    return len([part for part in group.split("/") if part])
