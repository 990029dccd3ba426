"""Why readings of one series give no rate at their end."""

from __future__ import annotations

import numpy as np

from ingest.core.figures import FigureKind, FiguresT
from ingest.core.grid import LONGEST_INTERVAL_S, NOT_SENT, Integers, gaps, growth_between

READINGS_TO_JUDGE = 3
"""The newest, the one before it, and one more: an interval is judged by the one before it."""


def why_no_rate(kind: FigureKind[FiguresT], at_us: Integers, values: Integers) -> str | None:
    """Why the last interval has no growth; None if it has one.

    `values` is (readings, counters), in order of time; there is at least one reading.
    """
    lacks = values[-1] == NOT_SENT
    if kind.needed is not None:
        # Of the others only one that was sent before.
        lacks[kind.needed :] &= values[-2:, kind.needed :].max(axis=0) != NOT_SENT
    if lacking := [name for name, lack in zip(kind.counters, lacks, strict=True) if lack]:
        return f"they lack {', '.join(lacking)}"
    lengths_us = np.diff(at_us)
    if not len(lengths_us) or lengths_us[-1] > LONGEST_INTERVAL_S * 1e6:
        return f"none came in the {LONGEST_INTERVAL_S / 60:g} min before, and a rate needs two"
    before_us = np.concatenate([[0], lengths_us[:-1]])
    if gaps(lengths_us, before_us)[-1]:
        return "they are too far apart"
    _, is_reset, is_incomplete = growth_between(
        values[-2:-1], values[-1:], wide=kind.wide, needed=kind.needed
    )
    if is_incomplete[0]:
        return "the one before lacks counters"
    return "the counters have started again" if is_reset[0] else None
