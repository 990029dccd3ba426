"""Where a number stands on an axis from 0, or on a logarithmic one around 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

HEADROOM = 1.05
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
FEWEST_TICKS = 4
NOTHING = 1e-9
"""What is smaller than this needs no scale of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Numbers from `low` to `high` stand from `start` to `end` of the drawing."""

    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool

    @classmethod
    def over(
        cls, values: Sequence[float], *, start: float, end: float, is_logarithmic: bool
    ) -> Scale:
        """One on which all of these fit, and that from which bars begin."""
        if is_logarithmic:
            low = min([1.0, *(value for value in values if value > 0)])
            high = max([10.0, *values])
        else:
            low, high = 0.0, max(values, default=0.0) * HEADROOM
            high = high if high > NOTHING else 1.0
        return cls(low=low, high=high, start=start, end=end, is_logarithmic=is_logarithmic)

    @property
    def base(self) -> float:
        """Where bars begin."""
        return self.at(1.0 if self.is_logarithmic else 0.0)

    def at(self, value: float) -> float:
        """Where this number stands; what is too low for the scale stands at its start."""
        if not self.is_logarithmic:
            part = (value - self.low) / (self.high - self.low)
        elif value <= self.low:
            part = 0.0
        else:
            low, high = math.log(self.low), math.log(self.high)
            part = (math.log(value) - low) / (high - low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Four round numbers or more, or powers of ten."""
        if self.is_logarithmic:
            return [10.0**n for n in range(math.ceil(math.log10(self.high)) + 1)
                    if 10.0**n <= self.high]  # fmt: skip
        power = 10.0 ** math.floor(math.log10(self.high))
        steps = (part * size for size in (power, power / 10) for part in sorted(STEPS)[::-1])
        step = next(size for size in steps if self.high / size >= FEWEST_TICKS)
        return [n * step for n in range(math.floor(self.high / step) + 1)]
