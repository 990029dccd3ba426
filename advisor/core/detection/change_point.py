"""Detect a lasting change of level, by a cumulative sum of standardised deviations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from advisor.core.number_checks import check_amount, check_positive

SLACK = 0.5
"""Deviations of fewer spreads are ignored as drift: half of a shift by one spread."""
ALARM = 5.0
"""With slack 0.5 and normal noise, a false alarm comes about once in 465 values."""
LARGEST_DEVIATION = 1e9
"""Larger deviations count as this many spreads, so that sums stay finite."""
SPREAD_OF_MAD = 1.4826
"""Ratio of the spread of normal noise to its median absolute deviation."""
SMALLEST_SPREAD_RATIO = 0.1
"""Noise is at least this fraction of the level, so that steady series raise no alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cusum:
    """The sum after each value, and the first index at which it passed the alarm level.

    `began_index` is where the sum that raised the alarm left 0: the likely time of the change.
    """

    sums: tuple[float, ...]
    alarm_index: int | None
    began_index: int | None


def cusum(
    values: Sequence[float | None],
    *,
    mean: float,
    spread: float,
    slack: float = SLACK,
    alarm: float = ALARM,
) -> Cusum:
    """Upward cumulative sum S = max(0, S + (x - mean) / spread - slack) (Page 1954).

    A missing value leaves the sum as it is. For a fall, give the values and the mean negated.
    """
    if not math.isfinite(mean):
        raise ValueError(f"mean is {mean!r}; it must be a finite number")
    check_positive("spread", spread)
    check_amount("slack", slack)
    check_positive("alarm", alarm)
    total, sums = 0.0, []
    began = alarm_index = began_index = None
    for index, value in enumerate(values):
        if value is not None:
            if not math.isfinite(value):
                raise ValueError(f"value {index} is {value!r}; it must be a finite number")
            if total == 0.0:
                began = index
            deviation = (value - mean) / spread
            deviation = min(max(deviation, -LARGEST_DEVIATION), LARGEST_DEVIATION)
            total = max(0.0, total + deviation - slack)
        sums.append(total)
        if alarm_index is None and total > alarm:
            alarm_index, began_index = index, began
    return Cusum(sums=tuple(sums), alarm_index=alarm_index, began_index=began_index)


def newest_level_change(levels: Sequence[float | None], *, lasting: int) -> int | None:
    """The index from which the present level holds; None if it always did, or is unknown.

    Searches backwards from the newest value for a departure from the present level. A level needs
    `lasting` values in a row, so that a short deviation is no change; with fewer newest values the
    level before them is the present one.
    """
    if lasting < 1:
        raise ValueError(f"lasting is {lasting}; it must be at least 1")
    known = [index for index, value in enumerate(levels) if value is not None]
    values = [levels[index] or 0.0 for index in known]
    for index, value in zip(known, values, strict=True):
        if not math.isfinite(value):
            raise ValueError(f"value {index} is {value!r}; it must be a finite number")
    while len(values) >= 2 * lasting:
        departure = _lasting_departure(values[::-1], lasting)
        if departure is None:
            return None
        if departure >= lasting:
            return known[len(values) - departure]
        del values[len(values) - departure :]
    return None


def _lasting_departure(newest_first: Sequence[float], lasting: int) -> int | None:
    """How many of the newest values are at the present level; None if all values are."""
    values: list[float | None] = list(newest_first)
    present = median(newest_first[:lasting])
    spread = _spread(newest_first, present)
    if spread == 0:
        return None
    while (place := _departure(values, present, spread)) is not None:
        older = [value for value in values[place:] if value is not None][: 2 * lasting - 1]
        if len(older) < lasting:
            return None
        if place > 0 and abs(median(older) - present) > spread:
            return place
        values[place] = None  # A short deviation.
    return None


def _departure(values: Sequence[float | None], present: float, spread: float) -> int | None:
    """The first value, in either direction, at which the level left the present one."""
    negated = [None if value is None else -value for value in values]
    alarms = (
        cusum(values, mean=present, spread=spread),
        cusum(negated, mean=-present, spread=spread),
    )
    places = [_began(one, values, present, spread) for one in alarms]
    return min((place for place in places if place is not None), default=None)


def _began(
    alarm: Cusum, values: Sequence[float | None], present: float, spread: float
) -> int | None:
    """Where the sum that raised the alarm rose above 0 by more than noise."""
    if alarm.began_index is None or alarm.alarm_index is None:
        return None
    for index in range(alarm.began_index, alarm.alarm_index + 1):
        value = values[index]
        if value is not None and abs(value - present) > spread:
            return index
    return alarm.began_index


def _spread(values: Sequence[float], present: float) -> float:
    """Noise from one value to the next: a change of level touches only one of these steps."""
    steps = [abs(after - before) for before, after in pairwise(values)]
    noise = SPREAD_OF_MAD * median(steps) / math.sqrt(2)
    level = max(abs(present), median(abs(value) for value in values))
    return max(noise, SMALLEST_SPREAD_RATIO * level)
