"""Whether a new policy harms the hosts that got it: a difference in differences, looked at often.

Each window gives one value: how much worse the hosts that were changed fare than before they were,
less the same of hosts that were not changed meanwhile. What happens to all hosts cancels out.
Where all hosts were changed at once there is nothing to compare with but the time before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from advisor.core.betting import MeanBounds, mean_bounds
from ingest.core.grid import Flags, Floats

FALSE_ALARM = 0.05
"""At most this part of the policies that harm nobody is rolled back, over all stages and looks."""
MISSED_HARM = 0.05
"""At most so often a stage passes a figure that is worse by the tolerance in truth."""
MOST_STAGES = 3
ENOUGH_BEFORE = 3
"""Windows of a host before the change, so that there is a mean to compare with."""


class Guard(StrEnum):
    """What is watched."""

    LATENCY = "latency of the high tier"
    PROMISE = "promise kept"
    THROUGHPUT = "throughput"


TOLERANCE = {Guard.LATENCY: 0.2, Guard.PROMISE: 0.1, Guard.THROUGHPUT: 0.1}
"""Worse by less than this part is no harm; latency varies most by itself."""


class GuardVerdict(StrEnum):
    HARM = "harm"
    NO_HARM = "no harm"
    OPEN = "open"
    UNMEASURED = "not measured"


class Against(StrEnum):
    """With what changed hosts were compared."""

    UNCHANGED = "hosts that do not have it yet"
    CHANGED_EARLIER = "hosts that had it before"
    BEFORE = "the time before"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Watched:
    """One figure of every host, (windows, hosts), NaN where it is not known.

    A latency in milliseconds, the part of what is promised that was kept, or a rate. `gap` is why
    nothing at all is known of it.
    """

    guard: Guard
    before: Floats
    since: Floats
    gap: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """What a guard says: how much worse, from -1 to 1, with bounds that hold at every look.

    `worse` and its bounds are None where nothing is measured, and `gap` says why.
    """

    guard: Guard
    verdict: GuardVerdict
    tolerance: float
    against: Against
    windows: int
    worse: float | None = None
    low: float | None = None
    high: float | None = None
    gap: str = ""


def judge(watched: Watched, *, changed: Flags, compared: Flags, against: Against) -> Guarded:
    """What is known of one figure, by flags of hosts; with none compared by the time before."""
    tolerance = TOLERANCE[watched.guard]
    values = [] if watched.gap else _worse(watched, changed, compared)
    guards = len(Guard) * MOST_STAGES
    bounds = mean_bounds(values, low_alpha=FALSE_ALARM / guards, high_alpha=MISSED_HARM)
    if bounds is None:
        return Guarded(
            guard=watched.guard,
            verdict=GuardVerdict.UNMEASURED,
            tolerance=tolerance,
            against=against,
            windows=0,
            gap=watched.gap or "no window is known of it on the hosts that are compared",
        )
    return Guarded(
        guard=watched.guard,
        verdict=_verdict(bounds, tolerance),
        tolerance=tolerance,
        against=against,
        windows=bounds.count,
        worse=bounds.mean,
        low=bounds.low,
        high=bounds.high,
    )


def _verdict(bounds: MeanBounds, tolerance: float) -> GuardVerdict:
    if bounds.low >= tolerance:
        return GuardVerdict.HARM
    return GuardVerdict.NO_HARM if bounds.high <= tolerance else GuardVerdict.OPEN


def _worse(watched: Watched, changed: Flags, compared: Flags) -> Sequence[float]:
    """A value for each window in which both sides are known."""
    enough = (~np.isnan(watched.before)).sum(axis=0) >= ENOUGH_BEFORE
    before = np.full(len(enough), np.nan)
    before[enough] = np.nanmean(watched.before[:, enough], axis=0)
    worse = _relative(watched.guard, before, watched.since)
    own = _means(worse[:, changed])
    if compared.any():
        own = own - _means(worse[:, compared])
    known: list[float] = own[~np.isnan(own)].tolist()
    return known


def _relative(guard: Guard, before: Floats, since: Floats) -> Floats:
    """How much worse each is than before, from -1 to 1."""
    if guard is Guard.PROMISE:
        return before - since
    largest = np.maximum(before, since)
    change = np.where(largest > 0, (since - before) / np.where(largest > 0, largest, 1.0), 0.0)
    change = np.where(np.isnan(largest), np.nan, change)
    return change if guard is Guard.LATENCY else -change


def _means(values: Floats) -> Floats:
    """Over the hosts of each window that are known, NaN without any."""
    known = ~np.isnan(values)
    count = known.sum(axis=1)
    total = np.where(known, values, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
