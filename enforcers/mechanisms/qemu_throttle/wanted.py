"""What the disks of a policy shall have, and why others get nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from enforcers.contract import (
    Allocation,
    Control,
    ControlKind,
    Holds,
    LimitScope,
    Outcome,
    Unit,
)
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import Desired, Note
from enforcers.mechanisms.qemu_throttle.throttle import (
    NO_LIMIT,
    OWN_GROUP,
    Throttle,
    from_text,
    wanted_throttle,
)

if TYPE_CHECKING:
    from enforcers.mechanisms.qemu_throttle.guests import Disk, SeenGuest

VDISK = "vdisk"
SMALLEST_LIMIT = 1
HOLDS = Holds(
    reservation=Control(is_held=False, words="QEMU can hold a disk back, and guarantees nothing"),
    limit=Control(is_held=True, words="QEMU's throttling of the virtual disk"),
    shares=Control(is_held=False, words="QEMU's throttling knows no shares"),
)
_SHORTFALLS = {
    ControlKind.RESERVATION: Note(outcome=Outcome.UNSUPPORTED, reason=HOLDS.reservation.words),
    ControlKind.SHARES: Note(outcome=Outcome.UNSUPPORTED, reason=HOLDS.shares.words),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The guests that matter for a datastore; `gone` are entries of processes that ended."""

    device: str
    is_allowed: bool
    guests: tuple[SeenGuest, ...]
    entries: tuple[LedgerEntry, ...]
    gone: frozenset[LedgerEntry] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A disk of the policy; `found` is what it had before the agent, `throttle` what it shall."""

    item: Allocation
    guest: SeenGuest
    disk: Disk
    found: Throttle
    throttle: Throttle = NO_LIMIT

    @property
    def thing(self) -> str:
        """The disk's name on its host."""
        return self.item.selector.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The disks that are served, why others are not, and what falls short of the served ones."""

    targets: tuple[Target, ...] = ()
    notes: Mapping[str, Note] = field(default_factory=dict)
    shortfalls: Mapping[str, Mapping[ControlKind, Note]] = field(default_factory=dict)


def decide(desired: Desired, observed: Observed) -> Wanted:
    """By allocation: what its disk shall have, or why it gets nothing."""
    if desired.spec is None:
        return Wanted()
    unit = desired.spec.unit
    notes: dict[str, Note] = {}
    found: dict[str, Target] = {}
    for item in desired.allocations:
        one = _target(item, unit, observed)
        if isinstance(one, Target) and one.thing in found:
            one = _failed(f"{one.thing} belongs to another allocation already")
        if isinstance(one, Target):
            found[one.thing] = one
        else:
            notes[item.id] = one
    return _with_limits(list(found.values()), unit, observed.device, notes)


def lies_on(device: str, disk: Disk) -> bool:
    """Whether the disk's data is on a datastore; also where QEMU does not say where it is."""
    below = device.rstrip("/") + "/"
    return not disk.places or any(p == device or p.startswith(below) for p in disk.places)


def _target(item: Allocation, unit: Unit, observed: Observed) -> Target | Note:
    problem = _never(item, unit, observed)
    if problem is not None:
        return _unsupported(problem)
    key, _, name = item.selector.value.rpartition("/")
    guests = [guest for guest in observed.guests if guest.key == key]
    if len(guests) != 1:
        return _failed(_not_one(key, guests))
    guest = guests[0]
    if guest.problem is not None:
        return _failed(f"the guest {key} {guest.problem}")
    disk = guest.disks.get(name)
    if disk is None:
        has = ", ".join(sorted(guest.disks)) or "none"
        return _failed(f"the guest {key} has no disk {name}; it has {has}")
    if not lies_on(observed.device, disk):
        return _failed(f"{name} of {key} lies at {disk.places[-1]}, not on {observed.device}")
    beside = [n for n, d in guest.disks.items() if n != name and _are_together(d, disk)]
    if beside:
        return _unsupported(
            f"{name} of {key} is throttled together with {', '.join(sorted(beside))} in the group "
            f"{disk.throttle.group}; give it a group of its own"
        )
    return Target(item=item, guest=guest, disk=disk, found=_found(item, guest, disk, observed))


def _never(item: Allocation, unit: Unit, observed: Observed) -> str | None:
    """Why the mechanism does not do this, whatever runs on the host."""
    if not observed.is_allowed:
        return f"{observed.device} is not among qemu_throttle.devices"
    if unit is Unit.BITS_PER_S:
        return f"qemu_throttle enforces {Unit.IOPS} and {Unit.BYTES_PER_S}, not {unit}"
    if item.selector.kind != VDISK:
        return f"qemu_throttle recognises workloads by {VDISK}, not by {item.selector.kind}"
    if not all(item.selector.value.rpartition("/")):
        return f"{item.selector.value!r} names no disk of a guest, such as qemu/101/scsi0"
    if item.limit is not None and item.limit < SMALLEST_LIMIT:
        return f"QEMU takes whole numbers from {SMALLEST_LIMIT}; {item.limit:g} would be exceeded"
    return None


def _not_one(key: str, guests: Sequence[SeenGuest]) -> str:
    if not guests:
        return f"no guest {key} runs here"
    processes = ", ".join(guest.identity.partition("/")[0] for guest in guests)
    return f"{len(guests)} guests are called {key}: processes {processes}; give each its own name"


def _are_together(one: Disk, other: Disk) -> bool:
    """Whether somebody else put both into one group."""
    throttle = one.throttle
    is_shared = throttle.group is not None and throttle.group == other.throttle.group
    return is_shared and not throttle.is_own


def _found(item: Allocation, guest: SeenGuest, disk: Disk, observed: Observed) -> Throttle:
    """As noted before the first write to this process; else as it is now."""
    for entry in observed.entries:
        if (entry.thing, entry.identity) == (item.selector.value, guest.identity):
            return from_text(entry.found)
    # What carries the agent's mark nobody else had.
    return NO_LIMIT if disk.throttle.is_own else disk.throttle


def _with_limits(
    targets: Sequence[Target], unit: Unit, device: str, notes: dict[str, Note]
) -> Wanted:
    served: list[Target] = []
    shortfalls: dict[str, Mapping[ControlKind, Note]] = {}
    for one in targets:
        pool = [other for other in targets if _are_pooled(one, other)]
        if len(pool) > 1 and any(other.found.values_beside(unit) for other in pool):
            notes[one.item.id] = _unsupported(
                "a disk of the workload has a limit in another unit, which one limit for all its "
                "disks would replace; take it away, or limit each disk"
            )
            continue
        served.append(_limited(one, pool, unit, device))
        shortfalls[one.item.id] = {**_SHORTFALLS, **_of_pool(one, pool, targets)}
    return Wanted(targets=tuple(served), notes=notes, shortfalls=shortfalls)


def _are_pooled(one: Target, other: Target) -> bool:
    """Whether both are of one limit. A group holds disks of one process."""
    return (
        all(_has_pooled_limit(target) for target in (one, other))
        and one.item.workload == other.item.workload
        and one.guest.identity == other.guest.identity
    )


def _has_pooled_limit(one: Target) -> bool:
    return one.item.limit_scope is LimitScope.POOLED and one.item.limit is not None


def _limited(one: Target, pool: Sequence[Target], unit: Unit, device: str) -> Target:
    limits = [other.item.limit for other in pool if other.item.limit is not None]
    _, _, name = one.thing.rpartition("/")
    throttle = wanted_throttle(
        pool[0].item if pool else one.item,
        min(limits) if limits else one.item.limit,
        unit=unit,
        found=one.found,
        group=f"{OWN_GROUP}{device}/{one.item.workload}" if pool else f"{OWN_GROUP}{name}",
    )
    return Target(
        item=one.item, guest=one.guest, disk=one.disk, found=one.found, throttle=throttle
    )


def _of_pool(
    one: Target, pool: Sequence[Target], targets: Sequence[Target]
) -> dict[ControlKind, Note]:
    """What a throttle group cannot do of a limit over several disks; it is set all the same."""
    reason = None
    elsewhere = [
        other.guest.key
        for other in targets
        if pool
        and _has_pooled_limit(other)
        and other.item.workload == one.item.workload
        and other.guest.identity != one.guest.identity
    ]
    if elsewhere:
        reason = (
            f"QEMU holds the disks of one guest together, and {one.item.workload} has some in "
            f"{elsewhere[0]} too; each guest is held to the limit"
        )
    elif len({other.item.limit for other in pool}) > 1:
        reason = f"the disks of {one.item.workload} state different sums; the smallest holds"
    elif len({other.item.io_count for other in pool}) > 1:
        reason = f"the disks of {one.item.workload} count I/Os in different ways; one counts"
    return {} if reason is None else {ControlKind.LIMIT: _unsupported(reason)}


def _failed(reason: str) -> Note:
    return Note(outcome=Outcome.FAILED, reason=reason)


def _unsupported(reason: str) -> Note:
    return Note(outcome=Outcome.UNSUPPORTED, reason=reason)
