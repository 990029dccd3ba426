"""Bursts into an own limit that averages do not show: full for 200 ms of each second, say.

A limit of a fifth of the time is a mean far below the limit. What shows it are looks. On an uplink
they are at the queue behind the limit: while something waits there, the limit lets through all
that it allows. On a disk they last as long as the kernel counts at a time, and find all done that
the limit lets through meanwhile. So the part of the looks that find the limit used up is the part
of the time at the limit, and it is at most the mean over the limit. A queue that waits while less
is sent waits for something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from advisor.core.explanation.rounding import rounded
from advisor.core.quantity import format_rate
from advisor.core.resource import Unit
from advisor.core.waterfill import Floats

FEWEST_LOOKS = 60
"""With fewer looks the part of the time is not known."""
FEWEST_FULL = 6
"""So many looks must find a queue: one or two are chance."""
LEAST_WAIT_S = 0.01
"""A queue that takes less time is that of packets which came together, not of a burst."""
MOST_MEAN_RATIO = 0.5
"""From this part of the limit on the mean itself tells of the limit."""
SPREAD = 1.645
"""Standard deviations on both sides of which 90 % lie."""
SURE_SPREAD = 4.0
"""So far from what is possible, looks are no chance."""
PER_SECOND_FROM = 0.05
"""From this part of the time on it is told by the second, below by the minute."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitLooks:
    """What an agent saw of one allocation at its limit, a place for each report; NaN is not known.

    In `full` of `looks` the limit was used up. Since the report before the mean was `rate`, under
    the `limit`, both in `unit`. `wait_s` is what was seen to wait; 0 where nobody sees it.
    """

    unit: Unit
    rate: Floats
    limit: Floats
    looks: Floats
    full: Floats
    wait_s: Floats


def looks_at_queue(
    *, rate: Floats, limit: Floats, waiting_bits: Floats, held: Floats
) -> LimitLooks:
    """One look a report at the queue behind the limit of an uplink.

    `waiting_bits` waited; the limit held something back `held` times since the report before.
    """
    known = ~np.isnan(waiting_bits + held) & (limit > 0)
    wait_s = np.divide(waiting_bits, limit, out=np.zeros_like(rate), where=known)
    # A look finds a burst where the limit made the queue.
    full = known & (wait_s >= LEAST_WAIT_S) & (held > 0)
    return LimitLooks(
        unit=Unit.BITS_PER_S,
        rate=rate,
        limit=limit,
        looks=np.where(known, 1.0, np.nan),
        full=np.where(known, full, np.nan),
        wait_s=np.where(full, wait_s, 0.0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBurst:
    """The part of the time at the own limit, and between which bounds it is by 9 of 10.

    `rate` is the mean over all looks, `wait_s` how long the longest queue that was seen takes;
    None where queues are not seen.
    """

    unit: Unit

    ratio: float
    low: float
    high: float
    rate: float
    limit: float
    wait_s: float | None
    looks: int

    @property
    def text(self) -> str:
        """What it does, in words that follow its name."""
        looked = "of 100 ms" if self.wait_s is None else "at its queue"
        waits = "" if self.wait_s is None else f" for up to {self.wait_s * 1000:.0f} ms"
        return (
            f"hits its own limit for {self._part}, "
            f"by {self.looks:,} looks {looked}), "
            f"while its mean is {format_rate(self.rate, self.unit)} "
            f"of {format_rate(self.limit, self.unit)}; "
            f"what comes then waits{waits}"
        )

    @property
    def _part(self) -> str:
        """The part of the time in units that people feel."""
        if self.ratio >= PER_SECOND_FROM:
            part, low, high = (f"{one * 1000:.0f}" for one in (self.ratio, self.low, self.high))
            return f"{part} ms of each second ({low} to {high} ms"
        part, low, high = (f"{one * 60:.1f}" for one in (self.ratio, self.low, self.high))
        return f"{part} s of each minute ({low} to {high} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoBurst:
    """Why no burst is told."""

    reason: str


def find_micro_burst(looks: LimitLooks) -> MicroBurst | NoBurst:
    """Whether the own limit is hit in bursts that the mean does not show."""
    own = ~np.isnan(looks.rate + looks.looks + looks.full) & (looks.limit > 0)
    count, hits = int(looks.looks[own].sum()), int(looks.full[own].sum())
    if count < FEWEST_LOOKS:
        return NoBurst(reason=f"{count} looks at its limit, {FEWEST_LOOKS} are needed")
    rate, limit = looks.rate[own], looks.limit[own]
    # The mean of the parts, should the limit have changed meanwhile.
    mean_ratio = float((rate / limit).mean())
    if mean_ratio >= MOST_MEAN_RATIO:
        return NoBurst(reason=f"its mean is {mean_ratio:.0%} of its limit, which averages show")
    if hits < FEWEST_FULL:
        return NoBurst(reason=f"{hits} of {count} looks found its limit used up")
    low, high = part_bounds(hits, count, SPREAD)
    if part_bounds(hits, count, SURE_SPREAD)[0] > mean_ratio:
        return NoBurst(
            reason=f"its limit seems used up for {hits / count:.0%} of the time, while its "
            f"mean is {mean_ratio:.0%} of it: it waits for something else"
        )
    wait_s = float(looks.wait_s[own].max())
    return MicroBurst(
        unit=looks.unit,
        ratio=rounded(min(hits / count, mean_ratio)),
        low=rounded(min(low, mean_ratio)),
        high=rounded(min(high, mean_ratio)),
        rate=rounded(float(rate.mean())),
        limit=rounded(float(limit[-1])),
        wait_s=rounded(wait_s) if wait_s else None,
        looks=count,
    )


def part_bounds(hits: int, count: int, spread: float) -> tuple[float, float]:
    """Wilson's interval of a part (E. B. Wilson, 1927)."""
    part, square = hits / count, spread**2 / count
    middle = part + square / 2
    half = spread * sqrt(part * (1 - part) / count + square / count / 4)
    return (middle - half) / (1 + square), (middle + half) / (1 + square)
