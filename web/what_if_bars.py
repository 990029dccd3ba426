"""Before and after of a what-if as bars on one scale."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.core.forecast.what_if import WhatIf, WhatIfRow
from web.bars import WIDTH


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A number now and then; None where nothing was played that could tell it."""

    now: float | None
    then: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfBar:
    """One claim; the bars show its row's `now` and `then`, out of WIDTH."""

    row: WhatIfRow
    now_width: int
    then_width: int
    contended: Pair
    past: Pair
    throttled_min: Pair
    unmet_min: Pair


def what_if_bars(found: WhatIf) -> list[WhatIfBar]:
    """One pair per claim, in the order of the claims."""
    largest = max((max(row.now, row.then) for row in found.rows), default=0.0) * 1.02 or 1.0
    return [
        WhatIfBar(
            row=row,
            now_width=round(row.now / largest * WIDTH),
            then_width=round(row.then / largest * WIDTH),
            contended=_contended(row),
            past=_pair(row.past, "rate"),
            throttled_min=_pair(row.past, "throttled_min"),
            unmet_min=_pair(row.past, "unmet_min"),
        )
        for row in found.rows
    ]


def _contended(row: WhatIfRow) -> Pair:
    if row.contended is None:
        return Pair(now=None, then=None)
    return Pair(now=row.now, then=row.then)


def _pair(played: object | None, name: str) -> Pair:
    return Pair(
        now=getattr(played, f"{name}_before", None), then=getattr(played, f"{name}_after", None)
    )
