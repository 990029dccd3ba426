"""Windows of time: their ends, and the rates that belong to them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from advisor.core.interval_mean import Rates

RatesT = TypeVar("RatesT", bound=Rates)

LONG = 1.5
"""An interval of at least this many windows covers more than one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The windows of one length that end in (since, until]; they start at the epoch.

    A rate belongs to the window that contains the middle of its interval, because collectors are
    late by some varying milliseconds. A rate over an interval longer than a window
    holds for every window whose middle the interval covers.
    """

    since: datetime
    until: datetime
    window_s: float

    @property
    def read_since(self) -> datetime:
        """Rates from here on may belong to one of the windows."""
        return self.since - timedelta(seconds=self.window_s / 2)

    @property
    def read_until(self) -> datetime:
        """Rates up to here may belong to one of the windows."""
        return self.until + timedelta(seconds=self.window_s / 2)

    def group(self, rates: Iterable[RatesT]) -> dict[datetime, list[RatesT]]:
        """Rates by the end of their window, in order of time, without those of other times."""
        windows: dict[datetime, list[RatesT]] = defaultdict(list)
        for item in sorted(rates, key=lambda one: one.at):
            for end, part in self._parts(item):
                if self.since < end <= self.until:
                    windows[end].append(part)
        return windows

    def _parts(self, item: RatesT) -> list[tuple[datetime, RatesT]]:
        if item.seconds < LONG * self.window_s:
            middle = item.at - timedelta(seconds=item.seconds / 2)
            return [(window_end(middle, self.window_s), item)]
        half = timedelta(seconds=self.window_s / 2)
        end = window_end(item.at - timedelta(seconds=item.seconds) + half, self.window_s)
        parts = []
        while end - half <= item.at:
            parts.append((end, replace(item, seconds=self.window_s)))
            end += 2 * half
        return parts


def window_end(moment: datetime, window_s: float) -> datetime:
    """The end of the window that this moment lies in."""
    index = math.floor(moment.timestamp() / window_s) + 1
    return datetime.fromtimestamp(index * window_s, UTC)


def last_window_end(moment: datetime, window_s: float) -> datetime:
    """The end of the last window that was over at this moment."""
    # Collectors may stamp a sample slightly before the edge of the window.
    index = math.floor((moment.timestamp() + 0.001) / window_s)
    return datetime.fromtimestamp(index * window_s, UTC)
