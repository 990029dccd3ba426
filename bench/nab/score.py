"""Hits and false alarms of a detector over labelled series.

Only the beginning of an alarm counts: one that stands for days hits no window by that. Alarms in
the probation, from which detectors learn, count for nothing, nor do its days.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.nab.methods import PROBATION, Found, Method, Span
from bench.nab.series import Series

DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Windows in which an alarm began, and false alarms, which began outside of all.

    `days` are those in which a false alarm was possible: after the probation, outside of windows,
    and with a threshold. `chance` is how many windows as many alarms at random times would hit,
    `alarmed_days` how long alarms stood outside of windows.
    """

    hits: int
    windows: int
    false_alarms: int
    days: float
    chance: float
    alarmed_days: float

    @property
    def false_per_day(self) -> float:
        """Over the days in which one was possible."""
        return self.false_alarms / self.days


def missed_by(method: Method, series: Series) -> list[Span]:
    """The windows in which no alarm began; seconds."""
    begins = [at for at, _ in method(series).alarms]
    return [
        (low, high) for low, high in series.windows if not any(low <= at <= high for at in begins)
    ]


def scored_by(method: Method, series: Sequence[Series]) -> Score:
    """The score over all series together."""
    each = [_score(one, method(one)) for one in series]
    return Score(
        hits=sum(one.hits for one in each),
        windows=sum(one.windows for one in each),
        false_alarms=sum(one.false_alarms for one in each),
        days=sum(one.days for one in each),
        chance=sum(one.chance for one in each),
        alarmed_days=sum(one.alarmed_days for one in each),
    )


def _score(series: Series, found: Found) -> Score:
    begin = float(series.seconds[int(PROBATION * len(series.seconds))])
    raised = [(at, until) for at, until in found.alarms if at >= begin]
    counted = np.array([at for at, _ in raised])
    inside = [(counted >= low) & (counted <= high) for low, high in series.windows]
    outside = ~np.logical_or.reduce(inside) if inside else np.ones(len(counted), dtype=np.bool_)
    rate = len(counted) / (series.seconds[-1] - begin)
    judged = [(max(low, begin), high) for low, high in found.judged if high > begin]
    return Score(
        hits=sum(bool(one.any()) for one in inside),
        windows=len(series.windows),
        false_alarms=int(outside.sum()),
        days=sum(_outside_s(one, series.windows) for one in judged) / DAY_S,
        chance=sum(1 - math.exp(-rate * (high - low)) for low, high in series.windows),
        alarmed_days=sum(_outside_s(one, series.windows) for one in raised) / DAY_S,
    )


def _outside_s(span: Span, windows: Sequence[Span]) -> float:
    """How much of it is outside of the windows, which do not overlap."""
    begin, end = span
    inside = sum(max(min(end, high) - max(begin, low), 0.0) for low, high in windows)
    return end - begin - inside
