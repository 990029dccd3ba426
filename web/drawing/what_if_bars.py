"""Before and after of a what-if as bars on one scale."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.core.forecast.what_if import WhatIf, WhatIfRow
from web.drawing.bars import WIDTH


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfBar:
    """One allocation; the bars show its row's `now` and `then`, out of WIDTH."""

    row: WhatIfRow
    now_width: int
    then_width: int


def what_if_bars(found: WhatIf) -> list[WhatIfBar]:
    """One pair per allocation, in the order of the allocations."""
    largest = max((max(row.now, row.then) for row in found.rows), default=0.0) * 1.02 or 1.0
    return [
        WhatIfBar(
            row=row,
            now_width=round(row.now / largest * WIDTH),
            then_width=round(row.then / largest * WIDTH),
        )
        for row in found.rows
    ]
