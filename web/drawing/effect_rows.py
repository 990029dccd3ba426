"""Predicted effects of advice as rows with bars; amounts of one unit share a scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.explanation.effect import Effect
from advisor.queries.advice_detail import amount_text
from web.drawing.bars import WIDTH


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRow:
    """Texts with their unit and bar widths out of WIDTH; None is what is not known."""

    effect: Effect
    before: str | None
    after: str | None
    before_width: int | None
    after_width: int | None


def effect_rows(effects: Sequence[Effect]) -> list[EffectRow]:
    """The rows in the order given."""
    largest: dict[str, float] = {}
    for effect in effects:
        known = [value for value in (effect.before, effect.after) if value is not None]
        largest[effect.unit] = max(largest.get(effect.unit, 0.0), *known, 0.0)

    def width(value: float | None, unit: str) -> int | None:
        return None if value is None else round(value / (largest[unit] * 1.02 or 1.0) * WIDTH)

    return [
        EffectRow(
            effect=effect,
            before=amount_text(effect.before, effect.unit),
            after=amount_text(effect.after, effect.unit),
            before_width=width(effect.before, effect.unit),
            after_width=width(effect.after, effect.unit),
        )
        for effect in effects
    ]
