"""The detectors that are compared: when each raises an alarm on a series.

All learn only from what came before. Parameters were chosen on other folders (`CHOSEN_BY`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from advisor.core.detection.alarm_budget import MARGIN, AlarmBudget
from advisor.core.detection.congestion import (
    ALARMS,
    FRESH,
    CongestionState,
    DetectorSettings,
    detect,
)
from advisor.core.detection.normal_history import HistoryPoint, Stretch
from advisor.core.detection.reading import Reading
from advisor.core.detection.threshold import BaselineThreshold, NoThreshold, baseline_threshold
from advisor.core.waterfill import Floats
from bench.nab.series import Series

PROBATION = 0.15
"""What the makers of the labels give a detector to learn from; alarms in it do not count."""
LEARN_EACH = 6 * 3600
HISTORY_S = 28 * 86_400
SMALLEST = 1e-3
"""Of the median: added to values, so that falls to nothing have a finite size."""
ONE_A_WEEK = AlarmBudget(alarms_per_week=1.0)
BOTH_SIDES_MARGIN = 1.1
EWMA_WEIGHT, EWMA_SPREADS = 0.01, 8.0
AGAIN_WINDOWS = 12
"""Of methods that give points: alarms so close to one another are one."""

Span = tuple[float, float]
"""From when to when (s)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """When alarms stood, and when one was possible: not while too little was learnt."""

    alarms: list[Span]
    judged: list[Span]


Method = Callable[[Series], Found]


def product(series: Series) -> Found:
    """The baseline mode as it ships for latencies: one alarm a week, rises only."""
    return _baseline_alarms(series.seconds, _positive(series.values), budget=ONE_A_WEEK)


def not_held(series: Series) -> Found:
    """As it ships for uplinks: held at what is full, which none of the series comes near."""
    values = _positive(series.values)
    return _baseline_alarms(series.seconds, values, budget=ONE_A_WEEK, full_at=math.inf)


def two_sided(series: Series) -> Found:
    """The same on values and reciprocals, half of the budget for each, and a smaller margin."""
    return _on_both_sides(series, AlarmBudget(alarms_per_week=0.5))


def two_sided_not_held(series: Series) -> Found:
    """The same with twice the budget, and held by nothing.

    On the other folders that is 0.14 false alarms a day; of half and twice as much, 0.12 and 0.25.
    """
    return _on_both_sides(series, ONE_A_WEEK, full_at=math.inf)


def _on_both_sides(series: Series, budget: AlarmBudget, *, full_at: float | None = None) -> Found:
    """With this budget for each side."""
    found = [
        _baseline_alarms(
            series.seconds,
            side,
            budget=budget,
            margin_ratio=BOTH_SIDES_MARGIN / MARGIN,
            full_at=full_at,
        )
        for side in (_positive(series.values), 1 / _positive(series.values))
    ]
    return Found(
        alarms=sorted(found[0].alarms + found[1].alarms),
        judged=sorted({*found[0].judged, *found[1].judged}),
    )


def percentile_alone(series: Series) -> Found:
    """The baseline mode without a budget: p95."""
    return _baseline_alarms(series.seconds, _positive(series.values), budget=None)


def fixed_of_probation(series: Series) -> Found:
    """The trivial one: above p99 of the probation."""
    learnt = series.values[: int(PROBATION * len(series.values))]
    return _runs(series, series.values > np.percentile(learnt, 99))


def ewma(series: Series) -> Found:
    """Far from an exponentially weighted mean, in weighted spreads, on both sides."""
    mean, variance = float(series.values[0]), 0.0
    far = np.zeros(len(series.values), dtype=np.bool_)
    for place, value in enumerate(series.values.tolist()):
        far[place] = abs(value - mean) > EWMA_SPREADS * variance**0.5 > 0
        step = EWMA_WEIGHT * (value - mean)
        mean += step
        variance = (1 - EWMA_WEIGHT) * (variance + step * (value - mean + step))
    return _runs(series, far)


METHODS: dict[str, Method] = {
    "baseline with a budget": product,
    "the same as on uplinks": not_held,
    "the same on both sides": two_sided,
    "on both sides, not held": two_sided_not_held,
    "baseline p95": percentile_alone,
    "p99 of the probation": fixed_of_probation,
    "EWMA, 8 spreads": ewma,
}


def _positive(values: Floats) -> Floats:
    """Values of at least a small part of the median."""
    raised: Floats = np.maximum(values, 0.0)
    return raised + SMALLEST * max(float(np.median(raised[: len(raised) // 7])), 1e-9)


def _runs(series: Series, flags: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Found:
    """Flags that are close together are one alarm; every window is judged."""
    judged = [(float(series.seconds[0]), float(series.seconds[-1]))]
    places = np.flatnonzero(flags)
    if not len(places):
        return Found(alarms=[], judged=judged)
    is_new = np.diff(places) > AGAIN_WINDOWS
    begins, ends = places[np.append(True, is_new)], places[np.append(is_new, True)]
    alarms = zip(series.seconds[begins].tolist(), series.seconds[ends].tolist(), strict=True)
    return Found(alarms=list(alarms), judged=judged)


def _baseline_alarms(
    seconds: Floats,
    values: Floats,
    *,
    budget: AlarmBudget | None,
    margin_ratio: float = 1.0,
    full_at: float | None = None,
) -> Found:
    """The alarms of the product's detector, which learns anew on its way."""
    step_s = float(np.median(np.diff(seconds)))
    settings = DetectorSettings(activity_floor=0.0, longest_gap_s=3 * step_s)
    points = [
        HistoryPoint(at=_moment(at), value=value)
        for at, value in zip(seconds.tolist(), values.tolist(), strict=True)
    ]
    state, begun = FRESH, None
    stretches: list[Stretch] = []
    alarms: list[Span] = []
    judged: list[Span] = []
    for begin in np.arange(seconds[0], seconds[-1] + 1, LEARN_EACH):
        place, end = np.searchsorted(seconds, [begin, begin + LEARN_EACH]).tolist()
        first = int(np.searchsorted(seconds, begin - HISTORY_S))
        congested = [*stretches]
        if begun is not None:
            congested.append(Stretch(began_at=begun, ended_at=_moment(begin)))
        threshold = baseline_threshold(
            points[first:place],
            congested=congested,
            budget=budget,
            full_at=full_at,
        )
        if isinstance(threshold, BaselineThreshold) and threshold.budget is not None:
            factor = threshold.budget.value * margin_ratio
            threshold = replace(threshold, budget=replace(threshold.budget, value=factor))
        if not isinstance(threshold, NoThreshold):
            judged.append((float(begin), min(float(begin) + LEARN_EACH, float(seconds[-1]))))
        readings = [
            Reading(at=one.at, window_s=step_s, value=one.value, load=1.0)
            for one in points[place:end]
        ]
        found = detect(readings, settings=settings, threshold=threshold, initial=state)
        state = found.state
        for point in found.points:
            if point.state in ALARMS and begun is None:
                begun = point.since
                alarms.append((point.at.timestamp(), float(seconds[-1])))
            elif point.state is CongestionState.CLEAR and begun is not None:
                stretches.append(Stretch(began_at=begun, ended_at=max(point.since, begun)))
                alarms[-1] = (alarms[-1][0], point.at.timestamp())
                begun = None
    return Found(alarms=alarms, judged=judged)


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
