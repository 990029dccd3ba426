"""Readings of one series for tests: a time in seconds, and what was sent then."""

from __future__ import annotations

import numpy as np

from ingest.core.figures import FigureKind, FiguresT
from ingest.core.grid import NOT_SENT, Grid, Readings, on_grid

WINDOW_S = 10
START_US = 1_000_000_000_000_000
Sent = tuple[int | None, ...]


def readings(*rows: tuple[float, Sent]) -> Readings:
    sent = [[NOT_SENT if one is None else one for one in counters] for _, counters in rows]
    return Readings(
        series=np.zeros(len(rows), dtype=np.int64),
        at_us=np.array([START_US + round(at_s * 1e6) for at_s, _ in rows], dtype=np.int64),
        values=np.array(sent, dtype=np.int64),
    )


def derive(kind: FigureKind[FiguresT], found: Readings, *, window_s: float) -> FiguresT:
    """The figures of the windows from the first reading to the last one."""
    length_us = int(found.at_us[-1] - found.at_us[0])
    window_us = round(window_s * 1e6)
    grid = Grid(
        since_us=int(found.at_us[0]), window_us=window_us, count=max(1, length_us // window_us)
    )
    growth = on_grid(
        found,
        grid,
        series_count=1,
        counters=len(kind.counters),
        wide=kind.wide,
        needed=kind.needed,
    )
    return kind.figures(growth)


def every(kind: FigureKind[FiguresT], *sent: Sent) -> FiguresT:
    """The figures of readings at the edges of the windows."""
    rows = [(place * WINDOW_S, counters) for place, counters in enumerate(sent)]
    return derive(kind, readings(*rows), window_s=WINDOW_S)
