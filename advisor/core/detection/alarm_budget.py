"""How far above its usual values a resource may rise: by a budget of false alarms.

Each day of normal history has a peak: the largest threshold, as a multiple of the usual value,
at which the detector would have raised an alarm on that day. If days are exchangeable, a new day
exceeds the k-th lowest of n peaks with a probability of at most 1 - k / (n + 1) (conformal
prediction). Windows of one day may depend on each other in any way: only whole days are compared.

Of latencies the threshold is at most three times the usual value, margin included: what is grave
each day is no false alarm, and is not learnt away. Noise that reaches so far breaks the budget.
"""

import math
from dataclasses import dataclass

import numpy as np

from advisor.core.waterfill import Floats

DAYS_A_WEEK = 7
DAY_S = 86_400
LEAST_ALARMS_PER_WEEK = 0.01
"""Of one resource: an alarm in two years."""
MARGIN = 1.25
"""Above what noise alone reaches, so that a budget is kept where days are not quite alike."""
SEEN_PART = 0.5
"""A day counts if it has this fraction of the windows of the fullest."""
GRAVE, WINDOWS = 3.0, 5
"""The rule of the detector: the severities of so many windows must reach this sum.

A latency of `GRAVE` times the usual value is contention on any day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFactor:
    """So many times the usual value; `reason` says for which budget and by how many days."""

    value: float
    reason: str


def factor_for(
    ratios: Floats, seconds: Floats, *, alarms_per_week: float, most: float = GRAVE
) -> BudgetFactor:
    """The factor for windows of these multiples of the usual value, in order of time.

    With fewer days than the budget needs it is above the highest peak, but never above `most`.
    """
    peaks = _peaks_of_days(alarm_levels(ratios), seconds)
    chance = min(alarms_per_week / DAYS_A_WEEK, 1.0)
    place = math.ceil((len(peaks) + 1) * (1 - chance))
    level = peaks[min(max(place, 1), len(peaks)) - 1]
    wanted = MARGIN * max(float(level), 1.0)
    return BudgetFactor(
        value=min(wanted, most),
        reason=_reason(
            alarms_per_week,
            days=len(peaks),
            days_needed=math.ceil(1 / chance) - 1,
            held_at=most if wanted > most else None,
        ),
    )


def _reason(alarms_per_week: float, *, days: int, days_needed: int, held_at: float | None) -> str:
    alarms = "alarm" if alarms_per_week == 1 else "alarms"
    short = f" ({days_needed} needed to guarantee it)" if days < days_needed else ""
    held = (
        ""
        if held_at is None
        else f"; held at {held_at:g} times, so that grave contention raises an alarm: "
        "more false ones are possible"
    )
    return (
        f"allows {alarms_per_week:g} false {alarms} a week; based on {days} "
        f"day{'' if days == 1 else 's'}{short}{held}"
    )


def alarm_levels(ratios: Floats) -> Floats:
    """For each window the largest threshold at which the detector would raise an alarm.

    With the highest of the last five a >= b >= c: a / 3 if one window is to suffice, (a + b) / 3
    but at most b if two, and c if three.
    """
    padded = np.concatenate([np.zeros(WINDOWS - 1), ratios])
    last = np.lib.stride_tricks.sliding_window_view(padded, WINDOWS)
    highest = -np.sort(-last, axis=1)
    one = highest[:, 0] / GRAVE
    two = np.minimum((highest[:, 0] + highest[:, 1]) / GRAVE, highest[:, 1])
    found: Floats = np.maximum(np.maximum(one, two), highest[:, 2])
    return found


def _peaks_of_days(levels: Floats, seconds: Floats) -> Floats:
    """The peaks of the days that are seen, counted back from the newest window, lowest first."""
    days = ((seconds[-1] - seconds) // DAY_S).astype(np.int64)
    counts = np.bincount(days)
    peaks = np.zeros(len(counts))
    np.maximum.at(peaks, days, levels)
    return np.sort(peaks[counts >= SEEN_PART * counts.max()])
