"""Whether Sluice is healthy enough to say so outside: every fault that speaks against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from advisor.core.duration import duration_text
from advisor.core.health.checks import SILENT_AFTER_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """The newest sign of life of whoever does one kind of work; None is none for an hour."""

    name: str
    silent_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at. Of the database and the queue's server: empty where they do.

    `lives` None is not known, which is a fault of the queue's server.
    """

    database: str
    queue_server: str
    resources: int
    stale: int
    lives: Sequence[Life] | None


def faults(seen: Seen) -> tuple[str, ...]:
    """Why it is not healthy, in words without names of organisations; empty if it is."""
    return (
        *(one for one in (seen.database, seen.queue_server) if one),
        *_detection(seen),
        *(_silence(one) for one in seen.lives or () if not _lives(one)),
    )


def _detection(seen: Seen) -> tuple[str, ...]:
    if not seen.stale:
        return ()
    return (f"{seen.stale} of {seen.resources} resources were not evaluated for two minutes",)


def _lives(one: Life) -> bool:
    return one.silent_s is not None and one.silent_s <= SILENT_AFTER_S


def _silence(one: Life) -> str:
    since = "an hour" if one.silent_s is None else duration_text(timedelta(seconds=one.silent_s))
    return f"{one.name} gave no sign of life for {since}"
