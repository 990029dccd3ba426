"""Notice that a level has risen for good, by a cumulative sum of standardised deviations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.number_checks import check_amount, check_positive

SLACK = 0.5
"""Deviations below so many spreads are drift that is put up with: half of a shift by one."""
ALARM = 5.0
"""With slack 0.5 and normal noise, a false alarm comes about once in 465 values."""
LARGEST_DEVIATION = 1e9
"""Deviations beyond count as this many spreads, so that sums stay finite."""


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
    total, began, sums = 0.0, 0, []
    alarm_index = began_index = None
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
