"""Names that stand for those of hosts, devices and workloads, the same for the same key.

Without the key nobody can find out which name was meant, even who knows all names that there are
(HMAC; RFC 2104).
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

DIGITS = 10
"""Hexadecimal digits of a pseudonym: two of a million names are alike once in a million fleets."""
EPOCH_WEEK = datetime(2001, 1, 1, tzinfo=UTC)
"""A Monday, to whose week times are moved."""
_WEEK = timedelta(weeks=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pseudonyms:
    """Gives names by a secret `key`."""

    key: bytes

    def of(self, what: str, name: str) -> str:
        """The name of a `what`, such as a host."""
        found = hmac.new(self.key, f"{what}\0{name}".encode(), hashlib.sha256).hexdigest()
        return f"{what}-{found[:DIGITS]}"

    def of_cgroup(self, path: str) -> str:
        """The same of a path."""
        return f"/{self.of('cgroup', path)}"


def week_shift(first: datetime) -> timedelta:
    """By how much times move, so that the first lies in the week of `EPOCH_WEEK`."""
    return -((first - EPOCH_WEEK) // _WEEK) * _WEEK
