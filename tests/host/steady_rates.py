"""Rates of classes over windows in which everybody wanted more and the machine ran."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from enforcers.mechanisms.tc_htb.tc_text import ClassCounters
from tests.host.stillness import Stillness

Look = Callable[[], Mapping[str, ClassCounters]]
"""What the classes of the uplink count, by number, as of now."""

# What the machine's own pauses and TCP that waits for its timer take away says nothing of HTB.
MOST_STILL_RATIO = 0.02
# Of a window whose rates count, everybody waited for at least so much.
LEAST_WAITING_RATIO = 0.5
LOOKS = 20
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
class _Moment:
    """What the classes counted, and when; the machine stood still for `still_s` before."""

    counters: Mapping[str, ClassCounters]
    at_s: float
    still_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    mbps: Mapping[str, float]
    is_steady: bool


def median_rates(
    look: Look, classids: Mapping[str, str], window_s: float, *, others: Mapping[str, str] = {}
) -> Rates:
    """The median of three windows, for names and their classes; all of them must be busy.

    The rates of `others` are told too, which need not be busy. Raises RuntimeError if the machine
    had less than three steady windows.
    """
    windows: list[_Window] = []
    steady: list[_Window] = []
    while len(steady) < ROUNDS:
        if len(windows) == MOST_WINDOWS:
            raise RuntimeError(f"steady windows: {len(steady)} of {len(windows)}")
        windows.append(_window(look, classids, others, window_s))
        steady = [window for window in windows if window.is_steady]
    return Rates(
        mbps={
            name: statistics.median(one.mbps[name] for one in steady) for name in steady[0].mbps
        },
        windows=len(steady),
        left_out=len(windows) - len(steady),
    )


def _window(
    look: Look, classids: Mapping[str, str], others: Mapping[str, str], window_s: float
) -> _Window:
    """The rates over those parts of a window at whose both ends packets of every class waited.

    What a class gets that asks for nothing for a time says nothing of it, nor of the others.
    """
    moments = [_moment(look)]
    for _ in range(LOOKS):
        with Stillness() as machine:
            time.sleep(window_s / LOOKS)
            now = _moment(look)
        moments.append(replace(now, still_s=machine.still_s))
    busy = [
        (before, after)
        for before, after in pairwise(moments)
        if _all_wait(before, classids) and _all_wait(after, classids)
    ]
    busy_s = sum(after.at_s - before.at_s for before, after in busy)
    return _Window(
        mbps={
            name: sum(_sent_bytes(pair, own) for pair in busy) * 8e-6 / busy_s
            if busy
            else math.nan
            for name, own in {**classids, **others}.items()
        },
        is_steady=busy_s >= LEAST_WAITING_RATIO * window_s
        and sum(after.still_s for _, after in busy) <= MOST_STILL_RATIO * busy_s,
    )


def _moment(look: Look) -> _Moment:
    """Half-way between question and answer, which take their time."""
    asked_s = time.monotonic()
    counters = look()
    return _Moment(counters=counters, at_s=(asked_s + time.monotonic()) / 2)


def _all_wait(moment: _Moment, classids: Mapping[str, str]) -> bool:
    return all(moment.counters[own].backlog_bytes > 0 for own in classids.values())


def _sent_bytes(pair: tuple[_Moment, _Moment], classid: str) -> int:
    before, after = (moment.counters[classid].sent_bytes for moment in pair)
    return after - before
