"""The detector at the exact value of each of its settings: on the edge, and just beyond."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from advisor.core.detection.congestion import CongestionState, DetectorSettings, detect
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import FixedThreshold
from advisor.core.observation import DatastoreObservation, HostLatency

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
WINDOW_S = 10.0
# Congested above 10 ms; leaves at 0.8 · 10 = 8 ms.
THRESHOLD = FixedThreshold(value=10.0)
SETTINGS = DetectorSettings(activity_floor=5.0, longest_gap_s=30.0)
HIGH, BETWEEN = 20.0, 9.0


def states(
    windows: dict[int, float], *, io_count: float = 1000.0, settings: DetectorSettings = SETTINGS
) -> list[CongestionState]:
    """The states of windows given by number and latency in ms."""
    observations = [
        DatastoreObservation(
            at=START + timedelta(seconds=WINDOW_S * (number + 1)),
            window_s=WINDOW_S,
            hosts=(HostLatency(host="h1", latency_ms=latency_ms, io_count=io_count),),
        )
        for number, latency_ms in windows.items()
    ]
    found = detect(readings_of(observations), settings=settings, threshold=THRESHOLD)
    return [point.state for point in found.points]


@pytest.mark.parametrize(
    ("next_window", "expected"),
    [
        # Windows 0 to 2 end at 30 s; window 6 begins at 60 s, window 7 at 70 s.
        (6, CongestionState.CONGESTED),
        (7, CongestionState.CLEAR),
    ],
    ids=["30 s", "40 s"],
)
def test_gap_of_the_longest_length_is_bridged_and_a_longer_one_is_not(
    next_window: int, expected: CongestionState
) -> None:
    found = states({0: HIGH, 1: HIGH, 2: HIGH, next_window: BETWEEN})

    assert found[2] is CongestionState.CONGESTED
    assert found[-1] is expected


@pytest.mark.parametrize(
    ("latency_ms", "expected"),
    [(10.0, CongestionState.CLEAR), (10.001, CongestionState.CONGESTED)],
)
def test_latency_at_the_threshold_is_not_above_it(
    latency_ms: float, expected: CongestionState
) -> None:
    assert states(dict.fromkeys(range(3), latency_ms))[-1] is expected


@pytest.mark.parametrize(
    ("latency_ms", "expected"),
    [(8.0, CongestionState.CLEAR), (8.001, CongestionState.CONGESTED)],
)
def test_latency_at_the_exit_ratio_leaves_congestion(
    latency_ms: float, expected: CongestionState
) -> None:
    congested = dict.fromkeys(range(3), HIGH)

    assert states(congested | dict.fromkeys(range(3, 6), latency_ms))[-1] is expected


@pytest.mark.parametrize(
    ("io_count", "expected"),
    # The floor is 5 I/Os per second, 50 in a window of 10 s.
    [(50.0, CongestionState.CONGESTED), (49.0, CongestionState.CLEAR)],
)
def test_load_at_the_activity_floor_counts(io_count: float, expected: CongestionState) -> None:
    assert states(dict.fromkeys(range(3), HIGH), io_count=io_count)[-1] is expected


@pytest.mark.parametrize(
    "settings",
    [
        {"enter_windows": 1, "enter_of": 1},
        {"enter_windows": 5, "enter_of": 5},
        {"leave_windows": 1},
        {"exit_ratio": 1.0},
        {"exit_ratio": 0.001},
    ],
    ids=str,
)
def test_setting_at_its_bound_is_accepted(settings: dict[str, Any]) -> None:
    accepted = DetectorSettings(activity_floor=0.0, **settings)

    assert {name: getattr(accepted, name) for name in settings} == settings


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"enter_windows": 0}, "enter_windows is 0; it must be from 1 to 5"),
        ({"enter_windows": 6}, "enter_windows is 6; it must be from 1 to 5"),
        ({"leave_windows": 0}, "leave_windows is 0; it must be at least 1"),
        ({"exit_ratio": 0.0}, "exit_ratio is 0.0; it must be above 0"),
        ({"exit_ratio": 1.001}, "exit_ratio is 1.001; it must be above 0"),
    ],
    ids=str,
)
def test_setting_beyond_its_bound_is_refused(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        DetectorSettings(activity_floor=0.0, **settings)


def test_one_of_one_window_above_is_congested_at_once() -> None:
    quick = DetectorSettings(activity_floor=5.0, enter_windows=1, enter_of=1, leave_windows=1)

    found = states({0: HIGH, 1: 8.0, 2: HIGH}, settings=quick)

    assert found == [
        CongestionState.CONGESTED,
        CongestionState.CLEAR,
        CongestionState.CONGESTED,
    ]
