"""Short stretches above a threshold, and thresholds that lie within normal operation.

A detector is to find one or two windows of one and a half to five times the threshold in a course
that comes close to it, and the same again after a while. Where the threshold is crossed all the
time, it is not to raise an alarm again and again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from advisor.core.detection.congestion import CongestionState, DetectorSettings, detect
from advisor.core.detection.nic_signals import NicWindow
from advisor.core.detection.reading import Reading
from advisor.core.detection.threshold import FixedThreshold
from bench.evaluation.anomalies import KINDS, synthetic
from bench.evaluation.captures import Floats, labelled_series
from bench.evaluation.table import Section, percent, table
from bench.evaluation.three_of_five import three_of_five

BEGAN_AT = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW_S = 60.0
DAY_WINDOWS = 1440
CASES = 24
THRESHOLD_MS, FULL_RATIO, CAPACITY = 30.0, 0.9, 1e9
CALM_PART = 0.95
"""Of the threshold, the highest of the calm windows."""
LEAST_SEVERITY, MOST_SEVERITY = 1.5, 5.0
AGAIN_AFTER = (12, 30, 60)
SETTINGS = DetectorSettings(activity_floor=0.0)
SOON_WINDOWS = 12
PERCENTILES = (50, 60, 70, 80, 90, 95)
PLAIN, SHIPPED = "3 of 5 windows", "severity × duration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Windows of a day before the first stretch, two stretches of a length, and a day after."""

    readings: list[Reading]
    threshold: float
    begins: tuple[int, int]
    length: int


def planted() -> str:
    """What is found of short stretches, and how long alarms stand in two days, as a table."""
    rows = []
    for name, threshold, reading in (
        ("latency", THRESHOLD_MS, _latency_reading),
        ("offered to an uplink", FULL_RATIO, _uplink_reading),
    ):
        for length in (1, 2):
            cases = {
                gap: [_case(seed, length, gap, threshold, reading) for seed in range(CASES)]
                for gap in AGAIN_AFTER
            }
            shown = f"{name}, {length} window{'s' if length > 1 else ''}"
            rows += [[shown, detector, *_planted(detector, cases)] for detector in DETECTORS]
    head = ["stretch", "detector", "found", *(f"again after {gap}" for gap in AGAIN_AFTER)]
    return table([*head, "windows in alarm"], rows)


def _planted(detector: str, cases: dict[int, list[Case]]) -> list[str]:
    found = {
        gap: [(DETECTORS[detector](one.readings, one.threshold), one) for one in some]
        for gap, some in cases.items()
    }
    every = [pair for some in found.values() for pair in some]
    return [
        _share([_is_found(*pair, 0) for pair in every]),
        *(_share([_is_found(*pair, 1) for pair in some]) for some in found.values()),
        f"{np.mean([sum(alarm) for alarm, _ in every]):.0f}",
    ]


def _share(flags: Sequence[bool]) -> str:
    return f"{sum(flags)} of {len(flags)}"


def _is_found(alarm: Sequence[bool], case: Case, which: int) -> bool:
    begin = case.begins[which]
    return any(alarm[begin : begin + case.length])


@dataclass(frozen=True, slots=True, kw_only=True)
class Flapping:
    """Alarms where the threshold lies within normal operation, and how many came back soon."""

    alarms: int
    again: int
    alarmed_ratio: float


def flapping() -> Section:
    """Alarms that come back soon, over all thresholds and series, and the price of fewer."""
    found = {detector: _flapping(detector) for detector in DETECTORS}
    rows = [
        [
            "p50 to p95",
            detector,
            str(one.alarms),
            str(one.again),
            percent(one.again / one.alarms),
            percent(one.alarmed_ratio),
        ]
        for detector, one in found.items()
    ]
    head = ["thresholds", "detector", "alarms", "again within 12 windows", "part", "in alarm"]
    longer = " instead of ".join(percent(found[one].alarmed_ratio) for one in (SHIPPED, PLAIN))
    verdict = f"The price of fewer alarms: they stand for {longer} of the time."
    return Section(table=table(head, rows), verdict=verdict)


def _flapping(detector: str) -> Flapping:
    """What one detector does there."""
    alarms, again, alarmed, windows = 0, 0, 0, 0
    for values, limit in _within_normal():
        readings = [_latency_reading(place, one, 1.0) for place, one in enumerate(values.tolist())]
        alarm = DETECTORS[detector](readings, limit)
        begins, ends = _edges(alarm)
        low = values <= SETTINGS.exit_ratio * limit
        ended = [_first_low(low, end) for end in ends]
        alarms += len(begins)
        again += sum(
            begin - end <= SOON_WINDOWS for end, begin in zip(ended, begins[1:], strict=False)
        )
        alarmed, windows = alarmed + sum(alarm), windows + len(alarm)
    return Flapping(alarms=alarms, again=again, alarmed_ratio=alarmed / windows)


def _within_normal() -> Iterator[tuple[Floats, float]]:
    """Series and thresholds that they cross all the time."""
    series = [one.values for one in labelled_series()]
    series += [synthetic(seed, kind).values for kind in KINDS for seed in range(2)]
    for values in series:
        for percentile in PERCENTILES:
            limit = float(np.percentile(values, percentile))
            if limit > 0:
                yield values, limit


def _plain(readings: Sequence[Reading], threshold: float) -> list[bool]:
    return three_of_five(readings, threshold, SETTINGS)


def _shipped(readings: Sequence[Reading], threshold: float) -> list[bool]:
    found = detect(readings, settings=SETTINGS, threshold=FixedThreshold(value=threshold))
    return [point.state is CongestionState.CONGESTED for point in found.points]


DETECTORS = {PLAIN: _plain, SHIPPED: _shipped}


def _case(
    seed: int,
    length: int,
    gap: int,
    threshold: float,
    reading: Callable[[int, float, float], Reading],
) -> Case:
    """A course near the threshold by day, and two stretches of random severities in it."""
    rng = np.random.default_rng([seed, length, gap])
    severity = CALM_PART * _course(seed)
    begin = int(rng.integers(DAY_WINDOWS // 2, DAY_WINDOWS))
    begins = (begin, begin + length + gap)
    for one in begins:
        severity[one : one + length] = rng.uniform(LEAST_SEVERITY, MOST_SEVERITY, length)
    return Case(
        readings=[reading(place, one, threshold) for place, one in enumerate(severity.tolist())],
        threshold=threshold,
        begins=begins,
        length=length,
    )


def _course(seed: int) -> Floats:
    """A daily course with noise that lasts, 1 at its highest."""
    rng = np.random.default_rng(seed)
    count = 2 * DAY_WINDOWS
    drift = np.zeros(count)
    for place in range(1, count):
        drift[place] = 0.9 * drift[place - 1] + rng.normal(0, 0.05)
    hour = np.arange(count) / 60 % 24
    course = (0.7 + 0.3 * np.exp(-(((hour - 14) / 4) ** 2))) * np.exp(drift)
    scaled: Floats = course / course.max()
    return scaled


def _latency_reading(place: int, severity: float, threshold: float) -> Reading:
    at = BEGAN_AT + timedelta(seconds=WINDOW_S * (place + 1))
    return Reading(at=at, window_s=WINDOW_S, value=severity * threshold, load=100.0)


def _uplink_reading(place: int, severity: float, threshold: float) -> Reading:
    """What is offered above the capacity is dropped."""
    offered = severity * threshold * CAPACITY
    sent = min(offered, CAPACITY)
    nic = NicWindow(
        tx_bits_per_s=sent, capacity_bits_per_s=CAPACITY, packets=sent, drops=offered - sent
    )
    return replace(_latency_reading(place, sent / CAPACITY, 1.0), load=sent, nic=nic)


def _edges(alarm: Sequence[bool]) -> tuple[list[int], list[int]]:
    """The first window of each alarm, and that after its last."""
    flags = np.array([False, *alarm, False])
    begins, ends = np.flatnonzero(flags[1:] & ~flags[:-1]), np.flatnonzero(~flags[1:] & flags[:-1])
    return begins.tolist(), ends.tolist()


def _first_low(low: np.ndarray, end: int) -> int:
    """The first of the low windows by which an alarm ended, which is its end on pages."""
    place = end
    while place > 0 and low[min(place, len(low) - 1)]:
        place -= 1
    return place + 1
