"""Names and places of the write-ahead log (WAL), computed from names alone.

A segment of 16 MiB has a name of 24 hexadecimal digits: timeline, and its number in two parts
(PostgreSQL's documentation, "WAL Internals"). A place in the log (LSN) is counted in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

SEGMENT_BYTES = 16 << 20
PER_LOG = (1 << 32) // SEGMENT_BYTES
SEGMENT = re.compile(r"[0-9A-F]{24}")
HISTORY = re.compile(r"[0-9A-F]{8}\.history")


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A timeline that was left at a place of the log, for the next one of a history."""

    timeline: int
    at_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The segments from a backup to the end of a timeline, in order, as far as they are there.

    `missing` is the first one that is not, though later ones are; None if the way is whole.
    """

    segments: tuple[str, ...]
    missing: str | None


def lsn_bytes(text: str) -> int:
    """The place of an LSN as PostgreSQL writes it, such as `0/3000028`."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def segment_name(timeline: int, number: int) -> str:
    """The name of a segment."""
    return f"{timeline:08X}{number // PER_LOG:08X}{number % PER_LOG:08X}"


def segment_at(timeline: int, lsn: str) -> str:
    """The segment in which a place is."""
    return segment_name(timeline, lsn_bytes(lsn) // SEGMENT_BYTES)


def number_of(segment: str) -> int:
    """The number of a segment, which grows over all timelines."""
    return int(segment[8:16], 16) * PER_LOG + int(segment[16:], 16)


def timeline_of(name: str) -> int:
    """The timeline of a segment or of a history file."""
    return int(name[:8], 16)


def read_history(text: str) -> tuple[Switch, ...]:
    """The timelines before one, oldest first, of its history file."""
    rows = [line.split() for line in text.splitlines() if line.strip() and line[0] != "#"]
    return tuple(Switch(timeline=int(row[0]), at_bytes=lsn_bytes(row[1])) for row in rows)


def newest_timeline(names: Collection[str]) -> int:
    """The newest timeline of which there is a history file; the first has none."""
    return max((timeline_of(name) for name in names if HISTORY.fullmatch(name)), default=1)


def leads_on(timeline: int, *, end_bytes: int, to: int, history: Sequence[Switch]) -> bool:
    """Whether what was whole at a place of a timeline is a past of timeline `to`."""
    if timeline == to:
        return True
    return any(one.timeline == timeline and end_bytes <= one.at_bytes for one in history)


def way(names: Collection[str], *, first: str, to: int, history: Sequence[Switch]) -> Way:
    """What leads from segment `first` to the end of timeline `to`.

    The segment in which a timeline begins repeats the end of the one before, so it counts as
    the newer one's.
    """
    there = {name for name in names if SEGMENT.fullmatch(name)}
    last = max((number_of(name) for name in there if timeline_of(name) == to), default=-1)
    found: list[str] = []
    for number in range(number_of(first), last + 1):
        name = segment_name(_timeline_at(number, to=to, history=history), number)
        if name not in there:
            return Way(segments=tuple(found), missing=name)
        found.append(name)
    return Way(segments=tuple(found), missing=None)


def _timeline_at(number: int, *, to: int, history: Sequence[Switch]) -> int:
    for one in history:
        if number < one.at_bytes // SEGMENT_BYTES:
            return one.timeline
    return to


def not_needed(names: Collection[str], *, first_needed: str) -> Iterator[str]:
    """Segments before the first that a kept backup needs, whatever their timeline."""
    for name in sorted(names):
        if SEGMENT.fullmatch(name) and number_of(name) < number_of(first_needed):
            yield name
