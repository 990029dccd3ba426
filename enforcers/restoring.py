"""Puts everything back as it was found, by the ledger and by what can be told without it."""

import logging
import time
from dataclasses import dataclass

from enforcers.assembly import Parts
from enforcers.errors import StateError
from enforcers.recovery import recover, why_doubtful, why_unseen

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The devices that had been changed, and a text for each thing that is not as found."""

    devices: tuple[str, ...]
    problems: tuple[str, ...]


def put_back(parts: Parts, *, by_force: bool = False) -> Restored:
    """Restore the kernel. What a lost ledger does not tell is looked for (see `recover`)."""
    problems: list[str] = []
    try:
        recovery = recover(
            parts.mechanisms,
            parts.ledger,
            parts.locks,
            was_in_force=parts.store.may_have_been_in_force,
            by_force=by_force,
            is_configured=parts.is_configured,
        )
    except StateError as error:
        # With a full disk, too, what the ledger tells is put back.
        problems.append(str(error))
    else:
        if recovery.doubtful:
            problems.append(why_doubtful(parts.ledger, recovery.doubtful))
        elif recovery.unseen:
            problems.append(why_unseen(parts.ledger, recovery.unseen))
        elif parts.ledger.lost is not None:
            problems.append(
                f"{parts.ledger.lost}; which limits may be the agent's only its configuration "
                "says: write that again, and run sluice-enforcer restore"
            )
    devices = sorted({entry.device for entry in parts.ledger.entries()})
    result = parts.enforcement.run(None, previous=None, now_s=time.monotonic())
    return Restored(devices=tuple(devices), problems=(*problems, *result.problems))


def recover_at_start(parts: Parts) -> None:
    """Find what was left; with a full disk, too, the agent must run and restore."""
    try:
        found = recover(
            parts.mechanisms,
            parts.ledger,
            parts.locks,
            was_in_force=parts.store.may_have_been_in_force,
        )
    except StateError as error:
        log.warning("ledger not mended", extra={"error": str(error)})
    else:
        if found.doubtful:
            why = why_doubtful(parts.ledger, found.doubtful)
            log.error("the ledger was lost", extra={"why": why})
        elif found.unseen:
            why = why_unseen(parts.ledger, found.unseen)
            log.error("the ledger was lost", extra={"why": why})
