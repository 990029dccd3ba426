"""Anomaly scores: how many false alarms ring until the labelled window is found.

Every score is given its own best threshold, the highest at which it still finds the window, so
that only the order of the scores counts. Alarms within an hour of one another are one alarm.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import numpy as np
from sklearn.ensemble import IsolationForest

from bench.evaluation.captures import Floats, LabelledSeries, labelled_series
from bench.evaluation.table import Section, percent, table

LEARNT_PART = 0.15
"""What the label's makers give a detector to learn from."""
HOUR_POINTS = 12
DAY_POINTS = 24 * HOUR_POINTS
SPREAD_OF_MAD = 1.4826
SMALLEST_SPREAD_RATIO = 0.05
SEEDS = range(8)
DAYS = 14
KINDS = ("level up", "spikes", "ramp", "day by night")

Score = Callable[[Sequence[datetime], Floats, int], Floats]


def fixed_threshold(at: Sequence[datetime], values: Floats, learnt: int) -> Floats:  # noqa: ARG001
    """The trivial baseline: the higher, the worse."""
    return values


def same_hour(at: Sequence[datetime], values: Floats, learnt: int) -> Floats:
    """Distance from the median of that hour of the day so far, in spreads, day by day."""
    hours = np.array([one.hour for one in at])
    scores = np.zeros(len(values))
    for begin in range(0, len(values), DAY_POINTS):
        past = slice(0, max(begin, learnt))
        for hour in range(24):
            seen = values[past][hours[past] == hour]
            here = np.arange(begin, min(begin + DAY_POINTS, len(values)))
            here = here[hours[here] == hour]
            middle = np.median(seen)
            spread = SPREAD_OF_MAD * np.median(np.abs(seen - middle))
            spread = max(spread, SMALLEST_SPREAD_RATIO * abs(middle), 1e-9)
            scores[here] = np.abs(values[here] - middle) / spread
    return scores


def isolation_forest(at: Sequence[datetime], values: Floats, learnt: int) -> Floats:
    """How easily a window is told from those of the first days, by value, shape and hour."""
    log = np.log1p(values)
    trailing = np.stack([np.roll(log, shift) for shift in range(HOUR_POINTS)])
    angle = np.array([one.hour + one.minute / 60 for one in at]) * 2 * np.pi / 24
    table_ = np.stack(
        [
            log,
            np.diff(log, prepend=log[0]),
            trailing.mean(axis=0),
            trailing.std(axis=0),
            np.sin(angle),
            np.cos(angle),
        ],
        axis=1,
    )
    forest = IsolationForest(n_estimators=100, random_state=0).fit(table_[:learnt])
    scores: Floats = -forest.score_samples(table_)
    return scores


BASELINE, LEARNT = "same hour of the day", "isolation forest"
SCORES: dict[str, Score] = {
    "fixed threshold": fixed_threshold,
    BASELINE: same_hour,
    LEARNT: isolation_forest,
}


def evaluate() -> Section:
    """The table, and whether the forest earns its place."""
    rows, better = [], 0
    for series in labelled_series():
        alarms = {name: _false_alarms(series, score) for name, score in SCORES.items()}
        better += alarms[LEARNT] < alarms[BASELINE]
        rows += [
            [series.name, name, str(count), "yes" if count == 0 else "no"]
            for name, count in alarms.items()
        ]
    for kind in KINDS:
        made = [synthetic(seed, kind) for seed in SEEDS]
        found = {
            name: [_false_alarms(series, score) for series in made]
            for name, score in SCORES.items()
        }
        better += sum(found[LEARNT]) < sum(found[BASELINE])
        for name, counts in found.items():
            clean = percent(float(np.mean([count == 0 for count in counts])))
            rows.append([f"synthetic: {kind}", name, f"{np.mean(counts):.1f}", clean])
    cases = len(KINDS) + len(labelled_series())
    verdict = (
        f"The forest needs fewer false alarms than the same hour's normal on {better} of {cases} "
        "series"
        + (
            ", so it is not shipped; the baseline is what the detector's `baseline` threshold is."
            if 2 * better < cases
            else "."
        )
    )
    head = ["series", "score", "false alarms", "found without any"]
    return Section(table=table(head, rows), verdict=verdict)


def synthetic(seed: int, kind: str) -> LabelledSeries:
    """Two weeks of latency with a daily course, and two to six hours that differ from it."""
    rng = np.random.default_rng(seed)
    count = DAYS * DAY_POINTS
    at = [datetime(2026, 3, 2) + timedelta(minutes=5 * index) for index in range(count)]  # noqa: DTZ001
    hour = np.array([one.hour + one.minute / 60 for one in at])
    drift = np.zeros(count)
    for index in range(1, count):
        drift[index] = 0.8 * drift[index - 1] + rng.normal(0, 0.08)
    noise = np.exp(drift) * rng.lognormal(0, 0.1, count)
    values = (4 + 3 * np.exp(-(((hour - 14) / 4) ** 2))) * noise
    length = int(rng.integers(24, 72))
    begin = int(rng.integers(count // 2, count - length))
    if kind == "day by night":
        # From one in the morning on, on the same day.
        begin = begin // DAY_POINTS * DAY_POINTS + HOUR_POINTS
    part = slice(begin, begin + length)
    if kind == "level up":
        values[part] *= 1.8
    elif kind == "spikes":
        values[part] *= np.where(rng.random(length) < 0.2, 4.0, 1.0)
    elif kind == "ramp":
        values[part] *= np.linspace(1, 3, length)
    else:
        values[part] = 7 * noise[part]
    inside = np.zeros(count, dtype=np.bool_)
    inside[part] = True
    return LabelledSeries(name=kind, at=at, values=values, is_anomalous=inside)


def _false_alarms(series: LabelledSeries, score: Score) -> int:
    learnt = int(LEARNT_PART * len(series.values))
    scores = score(series.at, series.values, learnt)
    threshold = scores[series.is_anomalous].max()
    ringing = np.flatnonzero((scores >= threshold) & ~series.is_anomalous)
    ringing = ringing[ringing >= learnt]
    if len(ringing) == 0:
        return 0
    return 1 + int(np.count_nonzero(np.diff(ringing) > HOUR_POINTS))
