"""Sums of rows and columns in which some cells are unknown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ingest.core.grid import Floats


def total(columns: Floats) -> Floats:
    """The sum of (windows, columns) in each window; NaN where no column is known."""
    known = ~np.isnan(columns)
    return np.where(known.any(axis=1), np.where(known, columns, 0.0).sum(axis=1), np.nan)


def total_of(rows: Sequence[Sequence[float | None]]) -> list[float | None]:
    """The sum of several rows, cell by cell; None where no row has a value."""
    if len(rows) == 1:
        return list(rows[0])
    totals: list[float | None] = []
    for cells in zip(*rows, strict=True):
        known = [value for value in cells if value is not None]
        totals.append(sum(known) if known else None)
    return totals
