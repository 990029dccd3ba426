"""Whether a fleet of made resources keeps its budget of false alarms, and what that hides.

    .venv/bin/python -m bench.alarm_budgets [--resources N]

Every resource has four weeks of history and is judged for four more, by a baseline that is learnt
anew each week (the product learns each hour). Nothing in the first pass is contention, so all of
its alarms are false. In a second pass each resource has an hour of contention in the last week.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from advisor.core.detection.alarm_budget import GRAVE, MARGIN, AlarmBudget
from advisor.core.detection.congestion import ALARMS, DetectorSettings, detect
from advisor.core.detection.normal_history import HistoryPoint
from advisor.core.detection.reading import Reading
from advisor.core.detection.threshold import BaselineThreshold, Threshold, baseline_threshold
from advisor.core.waterfill import Floats
from bench.evaluation.table import percent, table

START = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW_S, A_DAY, A_WEEK = 900.0, 96, 672
LEARNT_WEEKS, JUDGED_WEEKS = 4, 4
SETTINGS = DetectorSettings(activity_floor=0.0, longest_gap_s=3 * WINDOW_S)
LAST_WEEK = slice(-A_WEEK, None)
LASTS = 0.85
"""How much of its noise a window keeps from the one before."""
BURSTS_A_DAY, BURST_SIZE = 0.3, 0.3
CONTENDED_WINDOWS = 4
CONTENTIONS = (2.0, 3.5)
"""An hour at so many times what it would be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A budget for each resource, None for the percentile alone, and another margin."""

    name: str
    budget: AlarmBudget | None
    margin: float = MARGIN

    def allowed_a_week(self, resources: int) -> float | None:
        """By all of them."""
        if self.budget is None:
            return None
        return self.budget.alarms_per_week * resources / self.budget.shared_by


def main() -> None:
    """Print a row for each fleet and way."""
    parser = argparse.ArgumentParser(description="false alarms of a fleet by its budget")
    parser.add_argument("--resources", type=int, default=200)
    count: int = parser.parse_args().resources
    head = ["fleet", "budget", "margin", "alarms a week", "worst week", "allowed"]
    head += [f"found of {size:g} times" for size in CONTENTIONS]
    rows = []
    for fleet, has_bursts in (("lasting noise", False), ("and bursts", True)):
        series = [_latencies(seed, has_bursts=has_bursts) for seed in range(count)]
        rows += [_row(fleet, way, series) for way in _ways(count)]
    print(table(head, rows))


def _ways(count: int) -> list[Way]:
    each = AlarmBudget(alarms_per_week=1.0)
    return [
        Way(name="none", budget=None),
        *(Way(name="1 each", budget=each, margin=margin) for margin in (1.0, 1.1, MARGIN)),
        *(
            Way(
                name=f"{all_:g} over all",
                budget=AlarmBudget(alarms_per_week=all_, shared_by=count),
            )
            for all_ in (20.0, 5.0, 1.0)
        ),
    ]


def _row(fleet: str, way: Way, series: Sequence[Floats]) -> list[str]:
    weeks = [0] * JUDGED_WEEKS
    found = dict.fromkeys(CONTENTIONS, 0)
    for seed, values in enumerate(series):
        thresholds = [_learnt(values, way, week) for week in range(JUDGED_WEEKS)]
        alarmed = np.concatenate(
            [_alarmed(values, each, week) for week, each in enumerate(thresholds)]
        )
        begins = alarmed & ~np.append(False, alarmed[:-1])
        for week in range(JUDGED_WEEKS):
            weeks[week] += int(begins[week * A_WEEK : (week + 1) * A_WEEK].sum())
        span = _contended(seed)
        for size in CONTENTIONS:
            contended = values.copy()
            contended[LAST_WEEK][span] *= size
            found[size] += bool(_alarmed(contended, thresholds[-1], JUDGED_WEEKS - 1)[span].any())
    allowed = way.allowed_a_week(len(series))
    return [
        fleet,
        way.name,
        f"{way.margin:g}" if way.budget else "",
        f"{sum(weeks) / JUDGED_WEEKS:.1f}",
        str(max(weeks)),
        "" if allowed is None else f"{allowed:g}",
        *(percent(found[size] / len(series)) for size in CONTENTIONS),
    ]


def _learnt(values: Floats, way: Way, week: int) -> Threshold:
    """Before the judged week of this number, by the four weeks before it."""
    first = week * A_WEEK
    points = [
        HistoryPoint(at=_end(place), value=float(values[place]))
        for place in range(first, first + LEARNT_WEEKS * A_WEEK)
    ]
    found = baseline_threshold(points, budget=way.budget)
    if not isinstance(found, BaselineThreshold) or found.budget is None:
        return found
    factor = min(found.budget.value * way.margin / MARGIN, GRAVE)
    return replace(found, budget=replace(found.budget, value=factor))


def _alarmed(
    values: Floats, threshold: Threshold, week: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which windows of the judged week are in alarm."""
    first = (LEARNT_WEEKS + week) * A_WEEK
    readings = [
        Reading(at=_end(place), window_s=WINDOW_S, value=float(values[place]), load=1.0)
        for place in range(first, first + A_WEEK)
    ]
    points = detect(readings, settings=SETTINGS, threshold=threshold).points
    return np.array([point.state in ALARMS for point in points])


def _end(place: int) -> datetime:
    return START + timedelta(seconds=WINDOW_S * (place + 1))


def _contended(seed: int) -> slice:
    """Which windows of the last week are contended."""
    begin = int(np.random.default_rng([seed, 1]).integers(A_WEEK - CONTENDED_WINDOWS))
    return slice(begin, begin + CONTENDED_WINDOWS)


def _latencies(seed: int, *, has_bursts: bool) -> Floats:
    """A daily course with noise of its own size, and bursts of about an hour on some days."""
    rng = np.random.default_rng(seed)
    count = (LEARNT_WEEKS + JUDGED_WEEKS) * A_WEEK
    spread = rng.uniform(0.05, 0.2)
    steps = rng.normal(0, spread * math.sqrt(1 - LASTS**2), count)
    noise = np.zeros(count)
    for place in range(1, count):
        noise[place] = LASTS * noise[place - 1] + steps[place]
    hour = np.arange(count) * 24 / A_DAY
    course = 1 + rng.uniform(0, 0.5) * np.exp(-(((hour % 24 - 14) / 4) ** 2))
    values: Floats = 10 * course * np.exp(noise)
    for day in range(count // A_DAY if has_bursts else 0):
        begin = day * A_DAY + int(rng.integers(A_DAY - 6))
        if rng.random() < BURSTS_A_DAY:
            values[begin : begin + int(rng.integers(3, 7))] *= 1 + rng.exponential(BURST_SIZE)
    return values


if __name__ == "__main__":
    main()
