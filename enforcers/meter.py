"""Rates from the kernel's counters over a sliding window. Pure but for what it remembers."""

from collections import deque
from dataclasses import dataclass

from enforcers.contract import Measurement
from enforcers.mechanism import Counters

# A reading on the edge of the window belongs to it in spite of the loop's jitter.
EDGE_RATIO = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Counters at one moment of a monotonic clock."""

    at_s: float
    counters: Counters


class Meter:
    """Keeps the readings of each allocation that fall within the last `window_s`."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._readings: dict[str, deque[Reading]] = {}

    def add(self, allocation: str, reading: Reading) -> None:
        """Add a reading; one below the last starts anew, because the kernel did too."""
        readings = self._readings.setdefault(allocation, deque())
        if readings and reading.counters.total < readings[-1].counters.total:
            readings.clear()
        readings.append(reading)
        while reading.at_s - readings[0].at_s > self._window_s * EDGE_RATIO:
            readings.popleft()

    def forget(self, allocation: str) -> None:
        """Start anew, because what governs the rate has changed."""
        self._readings.pop(allocation, None)

    def keep_only(self, allocations: set[str]) -> None:
        """Forget all allocations but these."""
        self._readings = {
            key: value for key, value in self._readings.items() if key in allocations
        }

    def measure_all(self) -> dict[str, Measurement]:
        """The rates that are known, by allocation."""
        found = {key: self.measure(key) for key in self._readings}
        return {key: rate for key, rate in found.items() if rate is not None}

    def measure(self, allocation: str) -> Measurement | None:
        """The rate over the readings in the window; None with fewer than two."""
        readings = self._readings.get(allocation, deque())
        if len(readings) < 2:
            return None
        first, last = readings[0], readings[-1]
        window_s = last.at_s - first.at_s
        if window_s <= 0:
            return None
        return Measurement(
            rate=(last.counters.total - first.counters.total) / window_s,
            window_s=window_s,
            sample_count=len(readings),
            backlogged_samples=_backlogged([item.counters.backlog_bytes for item in readings]),
            backlog_bytes=last.counters.backlog_bytes,
            drops=_growth(first.counters.drops, last.counters.drops),
            overlimits=_growth(first.counters.overlimits, last.counters.overlimits),
            short_looks=_growth(first.counters.short_looks, last.counters.short_looks),
            full_looks=_growth(first.counters.full_looks, last.counters.full_looks),
        )


def _backlogged(backlogs: list[int | None]) -> int | None:
    known = [backlog for backlog in backlogs if backlog is not None]
    return sum(backlog > 0 for backlog in known) if known else None


def _growth(first: int | None, last: int | None) -> int | None:
    if first is None or last is None or last < first:
        return None
    return last - first
