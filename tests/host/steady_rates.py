"""Rates of classes over windows in which everybody wanted more and the machine ran."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from enforcers.mechanisms.tc_htb.tc_text import ClassCounters
from tests.host.stillness import Stillness

Look = Callable[[], Mapping[str, ClassCounters]]
"""What the classes of the uplink count, by number, as of now."""

# What the machine's own pauses and TCP that waits for its timer take away says nothing of HTB.
MOST_STILL_RATIO = 0.02
LEAST_WAITING_RATIO = 0.8
LOOKS = 10
MOST_WINDOWS = 12
ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Median rates by name, of so many windows; others were left out."""

    mbps: Mapping[str, float]
    windows: int
    left_out: int

    @property
    def text(self) -> str:
        """The rates for a note."""
        shown = " / ".join(f"{rate:.1f}" for rate in self.mbps.values())
        return f"{shown}{f'; windows left out: {self.left_out}' if self.left_out else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    mbps: Mapping[str, float]
    is_steady: bool


def median_rates(look: Look, classids: Mapping[str, str], window_s: float) -> Rates:
    """The median of three windows, for names and their classes; all of them must be busy.

    Raises RuntimeError if the machine had less than three steady windows.
    """
    windows: list[_Window] = []
    steady: list[_Window] = []
    while len(steady) < ROUNDS:
        if len(windows) == MOST_WINDOWS:
            raise RuntimeError(f"steady windows: {len(steady)} of {len(windows)}")
        windows.append(_window(look, classids, window_s))
        steady = [window for window in windows if window.is_steady]
    return Rates(
        mbps={name: statistics.median(one.mbps[name] for one in steady) for name in classids},
        windows=len(steady),
        left_out=len(windows) - len(steady),
    )


def _window(look: Look, classids: Mapping[str, str], window_s: float) -> _Window:
    waiting: Counter[str] = Counter()
    before, began_s = look(), time.monotonic()
    with Stillness() as machine:
        for _ in range(LOOKS):
            time.sleep(window_s / LOOKS)
            now = look()
            waiting.update({name: now[own].backlog_bytes > 0 for name, own in classids.items()})
    after, took_s = look(), time.monotonic() - began_s
    return _Window(
        mbps={
            name: (after[own].sent_bytes - before[own].sent_bytes) * 8e-6 / took_s
            for name, own in classids.items()
        },
        is_steady=machine.still_s <= MOST_STILL_RATIO * took_s
        and all(waiting[name] >= LEAST_WAITING_RATIO * LOOKS for name in classids),
    )
