"""How far above its usual values a resource may rise: by a budget of false alarms.

Each day of normal history has a peak: the largest threshold, as a multiple of the usual value,
at which the detector would have raised an alarm on that day. If days are exchangeable, a new day
exceeds the k-th lowest of n peaks with a probability of at most 1 - k / (n + 1) (conformal
prediction). Windows of one day may depend on each other in any way: only whole days are compared.

A small part of a budget over many resources needs more days than there are to guarantee it. The
logarithms of the highest peaks are then taken to fall off exponentially, and the factor is what a
new day exceeds with the chance of the budget if they do: better than the highest peak, and no
guarantee. With s the sum of k excesses above a peak, another exceeds it by more than t s with a
probability of (1 + t) ** -k.

Of latencies the threshold is at most three times the usual value, margin included: what is grave
each day is no false alarm, and is not learnt away. Noise that reaches so far breaks the budget.
"""

import math
from dataclasses import dataclass

import numpy as np

from advisor.core.number_checks import check_positive
from advisor.core.waterfill import Floats

DAYS_A_WEEK = 7
DAY_S = 86_400
ALARMS_PER_WEEK, LEAST_ALARMS_PER_WEEK = 1.0, 0.01
"""What a resource may raise unless a budget is stated, and the smallest that can be."""
MARGIN = 1.25
"""Above what noise alone reaches, so that a budget is kept where days are not quite alike."""
SEEN_PART = 0.5
"""A day counts if it has this fraction of the windows of the fullest."""
ENOUGH_DAYS, TAIL_PART = 14, 0.25
"""Days that an estimate needs, and the part of their peaks, the highest, that it is made from."""
SMALLEST_PEAK, LARGEST_LOG, ROUNDING = 0.1, 700.0, 1e-9
GRAVE, WINDOWS = 3.0, 5
"""The rule of the detector: the severities of so many windows must reach this sum.

A latency of `GRAVE` times the usual value is contention on any day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetFactor:
    """So many times the usual value; `reason` says for which budget and by how many days."""

    value: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmBudget:
    """So many false alarms a week, of all the resources together that share them."""

    alarms_per_week: float
    shared_by: int = 1

    def __post_init__(self) -> None:
        check_positive("alarms_per_week", self.alarms_per_week)
        check_positive("shared_by", self.shared_by)

    @property
    def chance_a_day(self) -> float:
        """That a day of one resource has a false alarm."""
        return min(self.alarms_per_week / self.shared_by / DAYS_A_WEEK, 1.0)

    @property
    def days_needed(self) -> int:
        """Days of history that guarantee it."""
        return _ceil(1 / self.chance_a_day) - 1

    def __str__(self) -> str:
        alarms = "alarm" if self.alarms_per_week == 1 else "alarms"
        over = "" if self.shared_by == 1 else f" over {self.shared_by} resources"
        return f"{self.alarms_per_week:g} false {alarms} a week{over}"


def factor_for(
    ratios: Floats, seconds: Floats, *, budget: AlarmBudget, most: float = GRAVE
) -> BudgetFactor:
    """The factor for windows of these multiples of the usual value, in order of time.

    It is never above `most`.
    """
    peaks = _peaks_of_days(alarm_levels(ratios), seconds)
    wanted = MARGIN * max(_level(peaks, budget), 1.0)
    held_at = most if wanted > most else None
    return BudgetFactor(
        value=min(wanted, most), reason=_reason(budget, days=len(peaks), held_at=held_at)
    )


def _level(peaks: Floats, budget: AlarmBudget) -> float:
    """What a new day exceeds with the chance of the budget, by peaks from lowest to highest.

    With too few days for the budget it is the highest peak, or what is estimated beyond it.
    """
    place = _ceil((len(peaks) + 1) * (1 - budget.chance_a_day))
    if place <= len(peaks):
        return float(peaks[max(place, 1) - 1])
    if len(peaks) < ENOUGH_DAYS:
        return float(peaks[-1])
    count = round(TAIL_PART * len(peaks))
    tail = np.log(np.maximum(peaks[-count - 1 :], SMALLEST_PEAK))
    # By as much rarer than a day above the lowest of them.
    rarer = (count + 1) / (len(peaks) + 1) / budget.chance_a_day
    excess = float(np.sum(tail[1:] - tail[0])) * (math.pow(rarer, 1 / count) - 1)
    return max(float(peaks[-1]), math.exp(min(float(tail[0]) + excess, LARGEST_LOG)))


def _ceil(number: float) -> int:
    """As of an exact number: a part of a budget is hardly ever a float."""
    return math.ceil(number - ROUNDING)


def _reason(budget: AlarmBudget, *, days: int, held_at: float | None) -> str:
    based = f"based on {days} day{'' if days == 1 else 's'}"
    if days < budget.days_needed:
        estimated = ", so it is estimated" if days >= ENOUGH_DAYS else ""
        based += f" ({budget.days_needed} needed to guarantee it{estimated})"
    if held_at is not None:
        based += (
            f"; held at {held_at:g} times, so that grave contention raises an alarm: "
            "more false ones are possible"
        )
    return f"allows {budget}; {based}"


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
