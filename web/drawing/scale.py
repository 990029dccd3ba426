"""From values to lengths on a drawing; every scale begins at 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 1000
"""What every drawing is wide, in its own units."""
_BAR_ROOM = 1.02
"""The longest bar is nearly as long as there is room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthScale:
    """`largest` lies at `length`."""

    largest: float
    length: int = WIDTH

    def at(self, value: float) -> float:
        return round(value / self.largest * self.length, 1)

    def bar(self, value: float) -> int:
        return round(abs(value) / self.largest * self.length)

    def bar_or_none(self, value: float | None) -> int | None:
        return None if value is None else self.bar(value)


def bar_scale(values: Iterable[float | None]) -> LengthScale:
    """The common scale of bars of these values; None is a bar that has no value."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    return LengthScale(largest=largest * _BAR_ROOM or 1.0)
