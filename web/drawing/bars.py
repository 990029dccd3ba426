"""Before and after as bars: a pair for each workload or effect, on one scale what has one unit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.explanation.effect import Effect
from advisor.core.forecast.what_if import WhatIf, WhatIfRow
from advisor.core.quantity import amount_text
from advisor.queries.recommendations import Effect as PolicyEffect
from web.drawing.scale import bar_scale


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPair:
    """Widths out of WIDTH; None is a bar that has no value, or a line that does not exist."""

    effect: PolicyEffect
    before: int | None
    after: int | None
    measured_since: int | None
    promise: int | None


def policy_bars(effects: Sequence[PolicyEffect]) -> list[BarPair]:
    """One pair per workload, in the order given."""
    scale = bar_scale(
        number
        for effect in effects
        for number in (effect.before, effect.after, effect.measured_since, effect.reservation)
    )
    return [
        BarPair(
            effect=effect,
            before=scale.bar_or_none(effect.before),
            after=scale.bar_or_none(effect.after),
            measured_since=scale.bar_or_none(effect.measured_since),
            promise=scale.bar(effect.reservation) if effect.reservation > 0 else None,
        )
        for effect in effects
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRow:
    """Texts with their unit and bar widths out of WIDTH; None is what is not known."""

    effect: Effect
    before: str | None
    after: str | None
    before_width: int | None
    after_width: int | None


def effect_rows(effects: Sequence[Effect]) -> list[EffectRow]:
    """Predicted effects of advice, in the order given."""
    amounts: dict[str, list[float | None]] = defaultdict(list)
    for effect in effects:
        amounts[effect.unit] += (effect.before, effect.after)
    scales = {unit: bar_scale(values) for unit, values in amounts.items()}
    return [
        EffectRow(
            effect=effect,
            before=amount_text(effect.before, effect.unit),
            after=amount_text(effect.after, effect.unit),
            before_width=scales[effect.unit].bar_or_none(effect.before),
            after_width=scales[effect.unit].bar_or_none(effect.after),
        )
        for effect in effects
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfBar:
    """One allocation; the bars show its row's `now` and `then`, out of WIDTH."""

    row: WhatIfRow
    now_width: int
    then_width: int


def what_if_bars(found: WhatIf) -> list[WhatIfBar]:
    """One pair per allocation, in the order of the allocations."""
    scale = bar_scale(number for row in found.rows for number in (row.now, row.then))
    return [
        WhatIfBar(row=row, now_width=scale.bar(row.now), then_width=scale.bar(row.then))
        for row in found.rows
    ]
