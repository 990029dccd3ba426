"""The size term of a datastore: its value, since when, and from what it was learnt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from advisor.core.iosize import SIZE_TERM_BYTES
from advisor.models import Resource

NOT_LOOKED = "its I/O was not looked at yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTermFacts:
    """The size term in force; `since` None is the default, and `reason` says why.

    `windows` are those that it was learnt from. `next_bytes` will hold from `next_since` on.
    """

    size_term_bytes: float
    since: datetime | None
    windows: int | None
    reason: str
    next_bytes: float | None
    next_since: datetime | None

    @property
    def text(self) -> str:
        """One sentence without its full stop."""
        value = f"Size term {_kilobytes(self.size_term_bytes)}"
        if self.since is None:
            value += f", the default: {self.reason}"
        else:
            value += f" since {_minute(self.since)}, learnt from {self.windows} windows"
        if self.next_bytes is None or self.next_since is None:
            return value
        return f"{value}; {_kilobytes(self.next_bytes)} from {_minute(self.next_since)} on"


def size_term_facts(row: Resource, *, now: datetime) -> SizeTermFacts | None:
    """None for a kind of which the size of an I/O does not tell the cost."""
    if not row.traits.costs_by_size:
        return None
    newest = list(row.learnt_size_terms.order_by("-since")[:2])
    coming = newest[0] if newest and newest[0].since > now else None
    held = next((one for one in newest if one.since <= now), None)
    learnt = None if held is None else held.size_term_bytes
    return SizeTermFacts(
        size_term_bytes=SIZE_TERM_BYTES if learnt is None else learnt,
        since=None if held is None or learnt is None else held.since,
        windows=None if held is None or learnt is None else held.windows,
        reason=NOT_LOOKED if held is None else held.reason,
        next_bytes=None if coming is None else coming.size_term_bytes,
        next_since=None if coming is None else coming.since,
    )


def _kilobytes(size_bytes: float) -> str:
    return f"{size_bytes / 1000:.3g} kB" if size_bytes < 1e6 else f"{size_bytes / 1e6:.3g} MB"


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
