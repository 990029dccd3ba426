"""Finds what this agent has left in the kernel and the ledger does not tell."""

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from enforcers.device_locks import DeviceLocks
from enforcers.errors import CommandError, DeviceTaken, MonitorError
from enforcers.ledger import Ledger, LedgerEntry
from enforcers.mechanism import (
    EnforcementMechanism,
    FindsItsMark,
    FindsUnlikeDefault,
    SeesObstacles,
)

log = logging.getLogger(__name__)

Mechanisms = Mapping[str, EnforcementMechanism[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """What was noted anew, and what may be the agent's but carries no mark of it.

    `unseen` are the devices, with the reason, of which nobody can tell now what is on them.
    """

    noted: tuple[LedgerEntry, ...]
    doubtful: tuple[LedgerEntry, ...]
    unseen: tuple[str, ...] = ()


def recover(
    mechanisms: Mechanisms,
    ledger: Ledger,
    locks: DeviceLocks,
    *,
    was_in_force: bool,
    by_force: bool = False,
    is_configured: bool = True,
) -> Recovery:
    """Note what carries the agent's mark, by force also what may be its own, and mend the ledger.

    `was_in_force` says that a policy governed the kernel in this boot, or that nobody can tell:
    then a ledger that is not there is lost. What another agent governs is its own. Without a
    configuration the mechanisms cannot look for more than their mark, so a lost ledger stays
    lost. Raises StateError if the ledger cannot be written.
    """
    if ledger.is_missing and was_in_force:
        ledger.lose("the ledger is gone, though a policy was in force")
    marked = _unknown(_asked(mechanisms.values(), FindsItsMark, _find_marked), ledger, locks)
    if marked:
        log.warning("found what the ledger does not tell", extra={"devices": _devices(marked)})
        ledger.record(marked)
    doubtful: tuple[LedgerEntry, ...] = ()
    unseen = () if by_force or ledger.lost is None else _out_of_sight(mechanisms)
    if by_force or ledger.lost is not None:
        everything = _asked(mechanisms.values(), FindsUnlikeDefault, _find_unlike_default)
        doubtful = _unknown(everything, ledger, locks)
    if by_force:
        ledger.record(doubtful)
        marked, doubtful = (*marked, *doubtful), ()
    if is_configured and not doubtful and not unseen:
        ledger.find_again()
    ledger.mend()
    return Recovery(noted=marked, doubtful=doubtful, unseen=unseen)


def why_doubtful(ledger: Ledger, doubtful: tuple[LedgerEntry, ...]) -> str:
    """What a person is told about things that nobody knows the origin of."""
    things = ", ".join(f"{entry.thing} of {entry.device}" for entry in doubtful)
    return (
        f"{ledger.lost}; this may be the agent's doing or somebody else's: {things}; "
        "to put it to the kernel's default: sluice-enforcer restore --force"
    )


def why_unseen(ledger: Ledger, unseen: tuple[str, ...]) -> str:
    """What a person is told where a device that may be changed is out of sight."""
    return (
        f"{ledger.lost}; nobody can tell what is left on {'; '.join(unseen)}; once it is there, "
        "or to take it for as it was found: sluice-enforcer restore --force"
    )


def _out_of_sight(mechanisms: Mechanisms) -> tuple[str, ...]:
    """The devices that cannot be looked at.

    Of a group that is gone nothing is left, nor on a host that has not what a mechanism sets.
    """
    return tuple(
        f"{device} ({obstacle.reason})"
        for mechanism in mechanisms.values()
        if isinstance(mechanism, FindsUnlikeDefault) and isinstance(mechanism, SeesObstacles)
        if mechanism.support().supported
        for device, obstacle in sorted(mechanism.obstacles().items())
        if obstacle is not None and obstacle.is_total and not device.startswith("/")
    )


def _find_marked(mechanism: FindsItsMark) -> tuple[LedgerEntry, ...]:
    return mechanism.find_marked()


def _find_unlike_default(mechanism: FindsUnlikeDefault) -> tuple[LedgerEntry, ...]:
    return mechanism.find_unlike_default()


def _asked(
    mechanisms: Iterable[Any], kind: type[Any], ask: Callable[[Any], tuple[LedgerEntry, ...]]
) -> tuple[LedgerEntry, ...]:
    """The answers of the mechanisms of a kind; one without its tools has changed nothing."""
    found: list[LedgerEntry] = []
    for mechanism in mechanisms:
        if not isinstance(mechanism, kind):
            continue
        try:
            found += ask(mechanism)
        except (CommandError, MonitorError, OSError, ValueError) as error:
            log.warning("cannot look for what was left", extra={"reason": str(error)})
    return tuple(found)


def _unknown(
    found: tuple[LedgerEntry, ...], ledger: Ledger, locks: DeviceLocks
) -> tuple[LedgerEntry, ...]:
    keys = {entry.key for entry in ledger.entries()}
    things = {(entry.mechanism, entry.thing, entry.identity) for entry in ledger.entries()}
    new = tuple(
        entry
        for entry in found
        if entry.key not in keys and (entry.mechanism, entry.thing, entry.identity) not in things
    )
    return tuple(entry for entry in new if _is_free(entry, locks))


def _is_free(entry: LedgerEntry, locks: DeviceLocks) -> bool:
    try:
        locks.hold((entry.mechanism, entry.device), may_lack=True)
    except DeviceTaken as error:
        log.warning("left alone", extra={"device": entry.device, "reason": str(error)})
        return False
    return True


def _devices(entries: tuple[LedgerEntry, ...]) -> str:
    return ", ".join(sorted({entry.device for entry in entries}))
