"""Limits virtual disks by QEMU's own throttling, also where no block device sees their I/O."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from enforcers.change import Change, Effect, MonitorOrder
from enforcers.contract import ControlKind, MechanismSupport, Setting, Unit
from enforcers.errors import MonitorError
from enforcers.executor import Execution, Executor
from enforcers.ledger import LedgerEntry
from enforcers.mechanism import Counters, Desired, HostAccess, Obstacle, Plan, Seen
from enforcers.mechanisms.qemu_throttle.config import QemuThrottleConfig
from enforcers.mechanisms.qemu_throttle.throttle import NO_LIMIT, Throttle, from_text, to_text
from enforcers.mechanisms.qemu_throttle.wanted import (
    HOLDS,
    VDISK,
    Observed,
    Target,
    decide,
    lies_on,
)

if TYPE_CHECKING:
    from enforcers.mechanisms.qemu_throttle.guests import Disk, GuestWatch, SeenGuest


class QemuThrottle:
    """The limit is `block_set_io_throttle`; QEMU has nothing for reservations and shares."""

    name: ClassVar[str] = "qemu_throttle"
    Config: ClassVar[type[QemuThrottleConfig]] = QemuThrottleConfig

    def __init__(self, host: HostAccess, config: QemuThrottleConfig) -> None:
        self._host = host
        self._devices = config.devices

    @cached_property
    def _watch(self) -> GuestWatch:
        """Imported once there is something to look for."""
        from enforcers.mechanisms.qemu_throttle.guests import GuestWatch

        return GuestWatch(self._host.host_fs, self._host.monitors)

    def support(self) -> MechanismSupport:
        return MechanismSupport(
            mechanism=self.name,
            supported=True,
            reason="limits disks of QEMU guests that have a QMP socket",
            units=(Unit.IOPS, Unit.BYTES_PER_S),
            selectors=(VDISK,),
            holds=HOLDS,
        )

    def observe(self, desired: Desired, entries: tuple[LedgerEntry, ...]) -> Observed:
        keys = {
            item.selector.value.rpartition("/")[0]
            for item in desired.allocations
            if item.selector.kind == VDISK
        }
        processes = {entry.identity for entry in entries if entry.identity is not None}
        observed = Observed(
            device=desired.device,
            is_allowed=desired.device in self._devices,
            guests=tuple(self._watch.look(keys, processes)),
            entries=entries,
            gone=frozenset(e for e in entries if not self._watch.is_alive(e.identity or "")),
        )
        if not desired.allocations:
            _check_nothing_is_left(observed)
        return observed

    def plan(self, desired: Desired, observed: Observed) -> Plan:
        wanted = decide(desired, observed)
        changed = [one for one in wanted.targets if one.disk.throttle != one.throttle]
        undo, restored = _restoring({one.thing for one in wanted.targets}, observed)
        return Plan(
            changes=(*(_enforcing(one) for one in changed), *undo),
            wanted={one.item.id: _setting(one.throttle, _unit(desired)) for one in wanted.targets},
            notes=wanted.notes,
            shortfalls=wanted.shortfalls,
            found=tuple(_entry(one, observed.device) for one in changed),
            restored=tuple(restored),
        )

    def apply(self, plan: Plan, executor: Executor) -> Execution:
        return executor.run(plan.changes, plan.found)

    def read_back(self, desired: Desired, observed: Observed) -> Mapping[str, Seen]:
        return {
            one.item.id: _seen(one, _unit(desired)) for one in decide(desired, observed).targets
        }

    def find_unlike_default(self) -> tuple[LedgerEntry, ...]:
        """Disks whose throttle group has the agent's mark; what it replaced nobody knows."""
        if not self._devices:
            return ()
        return tuple(
            LedgerEntry(
                mechanism=self.name,
                device=device,
                thing=f"{guest.key}/{name}",
                found=to_text(NO_LIMIT),
                identity=guest.identity,
            )
            for guest in self._watch.look(self._watch.running(), ())
            for name, disk in sorted(guest.disks.items())
            if disk.throttle.is_own
            for device in [d for d in sorted(self._devices) if lies_on(d, disk)][:1]
        )

    def obstacles(self) -> Mapping[str, Obstacle | None]:
        """By guest: whether it has a socket to be asked at. It is not asked."""
        if not self._devices:
            return {}
        from enforcers.mechanisms.qemu_throttle.guests import NO_MONITOR

        missing = Obstacle(
            reason="no QMP socket at which QEMU waits for clients", remedy=NO_MONITOR
        )
        return {
            key: None if all(one.guest.monitors for one in guests) else missing
            for key, guests in self._watch.running().items()
        }


def _check_nothing_is_left(observed: Observed) -> None:
    """Raise MonitorError once only guests are left that cannot be put back as found."""
    undo, _ = _restoring(set(), observed)
    left = [entry for entry in observed.entries if _is_hidden(entry, observed)]
    if left and not undo:
        names = ", ".join(sorted(entry.thing for entry in left))
        problems = [
            guest.problem
            for entry in left
            if (guest := _guest_of(entry, observed)) is not None and guest.problem is not None
        ]
        why = problems[0] if problems else "is not seen as a guest any more"
        raise MonitorError(f"{names} cannot be put back: the guest {why}")


def _restoring(kept: set[str], observed: Observed) -> tuple[list[Change], list[LedgerEntry]]:
    """Put back every noted disk that is not kept, and list what is back already.

    A process that ended, and a disk that was unplugged, took their limits along.
    """
    changes: list[Change] = []
    restored: list[LedgerEntry] = []
    for entry in observed.entries:
        if entry.thing in kept or _is_hidden(entry, observed):
            continue
        guest = _guest_of(entry, observed)
        disk = None if guest is None else guest.disks.get(entry.thing.rpartition("/")[2])
        found = from_text(entry.found)
        if guest is None or disk is None or disk.throttle == found:
            restored.append(entry)
        else:
            changes.append(_change(entry.thing, guest, disk, found, None))
    return changes, restored


def _is_hidden(entry: LedgerEntry, observed: Observed) -> bool:
    """Whether its process lives, and cannot be asked now."""
    guest = _guest_of(entry, observed)
    return entry not in observed.gone and (guest is None or guest.problem is not None)


def _guest_of(entry: LedgerEntry, observed: Observed) -> SeenGuest | None:
    same = [guest for guest in observed.guests if guest.identity == entry.identity]
    return same[0] if same else None


def _enforcing(one: Target) -> Change:
    return _change(one.thing, one.guest, one.disk, one.throttle, one.item.id)


def _change(
    thing: str, guest: SeenGuest, disk: Disk, wanted: Throttle, allocation: str | None
) -> Change:
    assert guest.monitor is not None
    return Change(
        target=f"{thing} throttle",
        before=str(disk.throttle),
        after=str(wanted),
        write=MonitorOrder(monitor=guest.monitor, order=wanted.order(disk.qdev)),
        effect=Effect.SHRINK if wanted.values else Effect.GROW,
        depth=0,
        allocation=allocation,
        controls=frozenset({ControlKind.LIMIT}),
    )


def _entry(one: Target, device: str) -> LedgerEntry:
    return LedgerEntry(
        mechanism=QemuThrottle.name,
        device=device,
        thing=one.thing,
        found=to_text(one.found),
        identity=one.guest.identity,
    )


def _unit(desired: Desired) -> Unit:
    return Unit.IOPS if desired.spec is None else desired.spec.unit


def _seen(one: Target, unit: Unit) -> Seen:
    total = one.disk.ios if unit is Unit.IOPS else one.disk.size_bytes
    return Seen(
        setting=_setting(one.disk.throttle, unit),
        counters=None
        if total is None
        else Counters(total=float(total), drops=None, overlimits=None, backlog_bytes=None),
        thing=one.guest.identity,
    )


def _setting(throttle: Throttle, unit: Unit) -> Setting:
    return Setting(reservation=None, limit=throttle.total(unit), shares=None, native=str(throttle))
