"""Before and after of a what-if as bars on one scale."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.core.what_if import WhatIf, WhatIfRow
from web.bars import WIDTH


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfBar:
    """The rate in congested windows, or the entitlement where there were none; out of WIDTH."""

    row: WhatIfRow
    rate_before: float
    rate_after: float
    before: int
    after: int


def what_if_bars(found: WhatIf) -> list[WhatIfBar]:
    """One pair per claim, in the order of the claims."""
    rates = [_rates(row) for row in found.rows]
    largest = max((value for pair in rates for value in pair), default=0.0) * 1.02 or 1.0
    return [
        WhatIfBar(
            row=row,
            rate_before=before,
            rate_after=after,
            before=round(before / largest * WIDTH),
            after=round(after / largest * WIDTH),
        )
        for row, (before, after) in zip(found.rows, rates, strict=True)
    ]


def _rates(row: WhatIfRow) -> tuple[float, float]:
    if row.contended is None:
        return row.entitlement_before, row.entitlement_after
    return row.contended.rate_before, row.contended.rate_after
