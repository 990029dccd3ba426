"""Before and after of a what-if as bars on one scale."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.core.what_if import WhatIf, WhatIfRow
from web.bars import WIDTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A number now and then; None where nothing was played that could tell it."""

    now: float | None
    then: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfBar:
    """One claim; the bars show `shown`, out of WIDTH.

    `shown` is the rate in congested windows, or the entitlement where there were none.
    """

    row: WhatIfRow
    shown: Pair
    now_width: int
    then_width: int
    contended: Pair
    past: Pair
    throttled_min: Pair
    unmet_min: Pair


def what_if_bars(found: WhatIf) -> list[WhatIfBar]:
    """One pair per claim, in the order of the claims."""
    rates = [_shown(row) for row in found.rows]
    largest = max((value for pair in rates for value in pair), default=0.0) * 1.02 or 1.0
    return [
        WhatIfBar(
            row=row,
            shown=Pair(now=now, then=then),
            now_width=round(now / largest * WIDTH),
            then_width=round(then / largest * WIDTH),
            contended=_pair(row.contended, "rate"),
            past=_pair(row.past, "rate"),
            throttled_min=_pair(row.past, "throttled_min"),
            unmet_min=_pair(row.past, "unmet_min"),
        )
        for row, (now, then) in zip(found.rows, rates, strict=True)
    ]


def _shown(row: WhatIfRow) -> tuple[float, float]:
    if row.contended is None:
        return row.entitlement_before, row.entitlement_after
    return row.contended.rate_before, row.contended.rate_after


def _pair(played: object | None, name: str) -> Pair:
    return Pair(
        now=getattr(played, f"{name}_before", None), then=getattr(played, f"{name}_after", None)
    )
