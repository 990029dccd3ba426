"""A rate as a bucket that fills evenly, and may be overdrawn.

Whoever finds anything in it is admitted, and pays afterwards what the body had; a debt has to be
filled before the next one. So no body is too large to pass, and in the long run nobody gets more
than the rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

BURST_S = 60.0
"""A full bucket holds what comes in this time: collectors send every few seconds, all at once."""
LONGEST_RETRY_S = 600
"""Telegraf and the agent's reader wait no longer, whatever they are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """What was left at a time in seconds, of any clock; a debt is negative."""

    rate_per_s: float
    level: float
    at_s: float

    @property
    def full(self) -> float:
        """The most that it holds."""
        return self.rate_per_s * BURST_S

    def at(self, now_s: float) -> Bucket:
        """The bucket at a later time; a clock that goes back fills nothing."""
        grown = max(0.0, now_s - self.at_s) * self.rate_per_s
        level = min(self.full, self.level + grown)
        return Bucket(rate_per_s=self.rate_per_s, level=level, at_s=now_s)

    def less(self, used: float) -> Bucket:
        """After this much was taken, more than there was or not."""
        return Bucket(rate_per_s=self.rate_per_s, level=self.level - used, at_s=self.at_s)

    def of_rate(self, rate_per_s: float) -> Bucket:
        """The same with another rate: what is saved or owed stays, as far as it fits."""
        most = rate_per_s * BURST_S
        return Bucket(rate_per_s=rate_per_s, level=min(most, self.level), at_s=self.at_s)

    def wait_s(self, *, keep_ratio: float = 0.0) -> float | None:
        """The time until more than this part of a full one is there; None if it is."""
        missing = keep_ratio * self.full - self.level
        return None if missing < 0 else missing / self.rate_per_s


def full_bucket(rate_per_s: float, *, now_s: float) -> Bucket:
    """A bucket that nobody has taken from."""
    return Bucket(rate_per_s=rate_per_s, level=rate_per_s * BURST_S, at_s=now_s)


def retry_after_s(wait_s: float, *, random_part: float) -> int:
    """Whole seconds: up to half longer by chance (0-1), or all come back at the same moment."""
    return min(LONGEST_RETRY_S, max(1, math.ceil(wait_s * (1 + random_part / 2))))
