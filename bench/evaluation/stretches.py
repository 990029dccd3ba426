"""Short grave stretches in a calm course, and thresholds that lie within normal operation.

A detector is to find one or two windows of at least three times the threshold, or of one and a
half times the capacity, and to be silent on the calm day after them. Where the threshold is
crossed all the time, it is not to raise an alarm again and again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from advisor.core.detection.congestion import CongestionState, DetectorSettings, detect
from advisor.core.detection.nic_signals import NicWindow
from advisor.core.detection.reading import Reading
from advisor.core.detection.threshold import FixedThreshold
from bench.evaluation.anomalies import KINDS, synthetic
from bench.evaluation.captures import Floats, labelled_series
from bench.evaluation.table import percent, table

BEGAN_AT = datetime(2026, 3, 2, tzinfo=UTC)
WINDOW_S = 60.0
DAY_WINDOWS = 1440
CASES = 24
THRESHOLD_MS, FULL_RATIO, CAPACITY = 30.0, 0.9, 1e9
SETTINGS = DetectorSettings(activity_floor=0.0)
ENTER, OF, LEAVE = 3, 5, 3
SOON_WINDOWS = 12
PERCENTILES = (50, 60, 70, 80, 90, 95)
PLAIN, SHIPPED = "3 of 5 windows", "severity × duration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Windows of a day before the stretch, the stretch, and a day after it."""

    readings: list[Reading]
    threshold: float
    begin: int
    length: int


def planted() -> str:
    """What is found of short stretches, and alarms on calm days, as a table."""
    rows = []
    for name, of in (("3 to 10 × threshold", _latencies), ("1.5 to 3 × capacity", _rates)):
        for length in (1, 2):
            cases = [of(seed, length) for seed in range(CASES)]
            for detector in (PLAIN, SHIPPED):
                found = [_alarms(detector, one) for one in cases]
                pairs = list(zip(found, cases, strict=True))
                hits = sum(any(a[c.begin : c.begin + length]) for a, c in pairs)
                # The detector waits for three low windows.
                late = sum(any(a[c.begin + length + LEAVE :]) for a, c in pairs)
                early = sum(any(a[: c.begin]) for a, c in pairs)
                shown = f"{name}, {length} window{'s' if length > 1 else ''}"
                rows.append([shown, detector, str(CASES), str(hits), str(early), str(late)])
    head = ["stretch", "detector", "planted", "found", "alarms a day before", "a day after"]
    return table(head, rows)


def flapping() -> str:
    """Alarms that come back soon, over all thresholds and series, as a table."""
    series = [one.values for one in labelled_series()]
    series += [synthetic(seed, kind).values for kind in KINDS for seed in range(2)]
    rows = []
    for detector in (PLAIN, SHIPPED):
        episodes, again, alarmed, windows = 0, 0, 0, 0
        for values in series:
            readings = [_reading(place, value) for place, value in enumerate(values.tolist())]
            for percentile in PERCENTILES:
                limit = float(np.percentile(values, percentile))
                if limit <= 0:
                    continue
                alarm = _plain(values, limit) if detector == PLAIN else _shipped(readings, limit)
                begins, ends = _edges(alarm)
                low = values <= SETTINGS.exit_ratio * limit
                ended = [_first_low(low, end) for end in ends]
                episodes += len(begins)
                again += sum(
                    begin - end <= SOON_WINDOWS
                    for end, begin in zip(ended, begins[1:], strict=False)
                )
                alarmed, windows = alarmed + sum(alarm), windows + len(alarm)
        part = percent(again / episodes)
        rows.append(
            ["p50 to p95", detector, str(episodes), str(again), part, percent(alarmed / windows)]
        )
    head = ["thresholds", "detector", "alarms", "again within 12 windows", "part", "in alarm"]
    return table(head, rows)


def _alarms(detector: str, case: Case) -> list[bool]:
    if detector == PLAIN:
        values = np.array([one.value for one in case.readings])
        return _plain(values, case.threshold)
    return _shipped(case.readings, case.threshold)


def _shipped(readings: Sequence[Reading], threshold: float) -> list[bool]:
    found = detect(readings, settings=SETTINGS, threshold=FixedThreshold(value=threshold))
    return [point.state is CongestionState.CONGESTED for point in found.points]


def _plain(values: Floats, threshold: float) -> list[bool]:
    """In alarm from three of five windows above to three in a row below the exit level."""
    above, low = values > threshold, values <= SETTINGS.exit_ratio * threshold
    alarm, since, below, found = False, 0, 0, []
    for place in range(len(values)):
        below = below + 1 if low[place] else 0
        if alarm and below >= LEAVE:
            alarm, since = False, place + 1
        elif not alarm:
            alarm = above[max(since, place + 1 - OF) : place + 1].sum() >= ENTER
        found.append(bool(alarm))
    return found


def _course(seed: int) -> Floats:
    """A daily course around 1 with noise that lasts, highest below 2."""
    rng = np.random.default_rng(seed)
    count = 2 * DAY_WINDOWS
    drift = np.zeros(count)
    for place in range(1, count):
        drift[place] = 0.9 * drift[place - 1] + rng.normal(0, 0.05)
    hour = np.arange(count) / 60 % 24
    course: Floats = (0.7 + 0.3 * np.exp(-(((hour - 14) / 4) ** 2))) * np.exp(drift)
    return np.minimum(course, 1.9)


def _latencies(seed: int, length: int) -> Case:
    """Up to half of the threshold in calm."""
    values = 0.5 * THRESHOLD_MS / 1.9 * _course(seed)
    rng = np.random.default_rng([seed, length])
    begin = int(rng.integers(DAY_WINDOWS // 2, DAY_WINDOWS))
    values[begin : begin + length] = THRESHOLD_MS * rng.uniform(3, 10, length)
    return Case(
        readings=[_reading(place, value) for place, value in enumerate(values.tolist())],
        threshold=THRESHOLD_MS,
        begin=begin,
        length=length,
    )


def _rates(seed: int, length: int) -> Case:
    """Up to 70 % of the capacity in calm; of the stretch, what was offered above it is dropped."""
    offered = 0.7 * CAPACITY / 1.9 * _course(seed)
    rng = np.random.default_rng([seed, length])
    begin = int(rng.integers(DAY_WINDOWS // 2, DAY_WINDOWS))
    offered[begin : begin + length] = CAPACITY * rng.uniform(1.5, 3, length)
    return Case(
        readings=[_uplink_reading(place, rate) for place, rate in enumerate(offered.tolist())],
        threshold=FULL_RATIO,
        begin=begin,
        length=length,
    )


def _reading(place: int, value: float) -> Reading:
    at = BEGAN_AT + timedelta(seconds=WINDOW_S * (place + 1))
    return Reading(at=at, window_s=WINDOW_S, value=value, load=100.0)


def _uplink_reading(place: int, offered: float) -> Reading:
    sent = min(offered, CAPACITY)
    nic = NicWindow(
        tx_bits_per_s=sent,
        capacity_bits_per_s=CAPACITY,
        packets=sent,
        drops=offered - sent,
    )
    return replace(_reading(place, sent / CAPACITY), load=sent, nic=nic)


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
