"""Before and after as bars: one pair per workload, on one common scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.queries.recommendations import Effect

WIDTH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPair:
    """Widths out of WIDTH; None is a bar that has no value, or a line that does not exist."""

    effect: Effect
    before: int | None
    after: int
    measured_since: int | None
    promise: int | None


def effect_bars(effects: Sequence[Effect]) -> list[BarPair]:
    """The pairs in the order given; the longest bar is nearly as long as there is room."""
    numbers = [
        number
        for effect in effects
        for number in (effect.before, effect.after, effect.measured_since, effect.reservation)
        if number is not None
    ]
    largest = max(numbers, default=0.0) * 1.02 or 1.0

    def width(value: float | None) -> int | None:
        return None if value is None else round(value / largest * WIDTH)

    return [
        BarPair(
            effect=effect,
            before=width(effect.before),
            after=width(effect.after) or 0,
            measured_since=width(effect.measured_since),
            promise=width(effect.reservation) if effect.reservation > 0 else None,
        )
        for effect in effects
    ]
