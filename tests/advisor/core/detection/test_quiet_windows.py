"""A disk that nobody used for a while goes on as if each of its windows had been judged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.congestion import (
    CongestionState,
    DetectorSettings,
    after_quiet_windows,
    detect,
)
from advisor.core.detection.observed import readings_of
from advisor.core.detection.threshold import FixedThreshold
from advisor.core.observation import DatastoreObservation, HostLatency
from advisor.core.resource import Unit

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
STEP = timedelta(seconds=10)
SETTINGS = DetectorSettings(activity_floor=10.0)
THRESHOLD = FixedThreshold(value=30.0)

loads = st.lists(st.sampled_from([None, 2.0, 2.0, 45.0]), max_size=12)


def window(number: int, latency_ms: float | None) -> DatastoreObservation:
    """So many windows after noon, with I/O of this latency or without any."""
    host = HostLatency(
        host="h1",
        latency_ms=latency_ms,
        io_count=0 if latency_ms is None else 1000,
        mean_io_bytes=None if latency_ms is None else 8192.0,
        outstanding_io=0.0,
        busy_ratio=0.0,
    )
    return DatastoreObservation(
        at=NOON + number * STEP, window_s=10.0, hosts=(host,), allocations=(), unit=Unit.IOPS
    )


@given(loads, st.integers(1, 40), loads)
def test_quiet_windows_that_were_left_out_change_nothing_of_what_follows(
    before: list[float | None], quiet: int, after: list[float | None]
) -> None:
    # The window before the nap is idle, and it was judged clear.
    awake = [window(number, latency) for number, latency in enumerate([*before, None])]
    first = detect(readings_of(awake), settings=SETTINGS, threshold=THRESHOLD)
    if first.points[-1].state is not CongestionState.CLEAR:
        return
    end = len(awake) + quiet
    asleep = [window(number, None) for number in range(len(awake), end)]
    later = [window(end + number, latency) for number, latency in enumerate(after)]

    state = after_quiet_windows(
        first.state, until=NOON + (end - 1) * STEP, window_s=10.0, settings=SETTINGS
    )

    judged = detect(
        readings_of(asleep), settings=SETTINGS, threshold=THRESHOLD, initial=first.state
    )
    assert state == judged.state
    woken = detect(readings_of(later), settings=SETTINGS, threshold=THRESHOLD, initial=state)
    assert woken == detect(
        readings_of(later), settings=SETTINGS, threshold=THRESHOLD, initial=judged.state
    )


@given(loads.filter(bool))
def test_state_up_to_its_own_end_stays_as_it_is(before: list[float | None]) -> None:
    windows = [window(number, latency) for number, latency in enumerate(before)]
    state = detect(readings_of(windows), settings=SETTINGS, threshold=THRESHOLD).state

    assert state == after_quiet_windows(
        state, until=state.last_at, window_s=10.0, settings=SETTINGS
    )
