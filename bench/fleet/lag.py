"""How long after its data were there a window was judged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

COMPLETE_AFTER_S = 10.0
"""So long after its end a window is judged at the latest, whatever is still to come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One window of one resource, times in seconds since 1970; None means never judged."""

    ended_s: float
    committed_s: float
    judged_s: float | None


def due_s(one: Judgement) -> float:
    """From when on it could be judged: its last sample was there, or its time was over."""
    return min(one.ended_s + COMPLETE_AFTER_S, one.committed_s)


def lags_s(judgements: Iterable[Judgement], *, watched_until_s: float) -> list[float]:
    """The lag of each window; one that was never judged lags until the end of the watch."""
    found = []
    for one in judgements:
        judged_s = watched_until_s if one.judged_s is None else one.judged_s
        found.append(max(judged_s - due_s(one), 0.0))
    return found


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent do not exceed (nearest rank)."""
    return sorted(values)[max(math.ceil(percent / 100 * len(values)), 1) - 1]
