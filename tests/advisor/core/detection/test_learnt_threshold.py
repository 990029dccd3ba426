"""The threshold of a window is the newest that was learnt for its time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.threshold import LEARNT_HOLDS, LearntReading, LearntThreshold

START = datetime(2026, 3, 2, tzinfo=UTC)
FALLBACK = 30.0
MINUTE = timedelta(minutes=1)

minutes = st.integers(min_value=0, max_value=2_000)


def learnt(values: dict[int, float | None]) -> LearntThreshold:
    """Values by the minute from which they hold."""
    return LearntThreshold(
        readings=tuple(
            LearntReading(since=START + minute * MINUTE, value=value, reason=f"of {minute}")
            for minute, value in sorted(values.items())
        ),
        fallback=FALLBACK,
    )


values_by_minute = st.dictionaries(minutes, st.floats(0.1, 100.0) | st.none(), max_size=12)


@given(values_by_minute, minutes)
def test_newest_value_not_after_the_window_holds(
    values: dict[int, float | None], minute: int
) -> None:
    before = [one for one in values if one <= minute]
    # Six hours are 360 minutes.
    holds = bool(before) and minute - max(before) < 360
    expected = values[max(before)] if holds else None

    found = learnt(values).at(START + minute * MINUTE)

    assert found.value == (FALLBACK if expected is None else expected)
    assert found.reason.startswith("fixed, because ") is (expected is None)


@given(values_by_minute, minutes, minutes)
def test_later_values_do_not_change_earlier_windows(
    values: dict[int, float | None], minute: int, later: int
) -> None:
    at = START + minute * MINUTE

    assert learnt(values).at(at) == learnt(values | {minute + 1 + later: 1.0}).at(at)


def test_what_could_not_be_learnt_says_why() -> None:
    reading = learnt({0: None}).at(START)

    assert (reading.value, reading.reason) == (FALLBACK, "fixed, because of 0")


def test_old_value_names_its_time() -> None:
    reading = learnt({0: 5.0}).at(START + LEARNT_HOLDS)

    assert reading.reason == "fixed, because none was learnt since 2026-03-02 00:00 UTC"


@pytest.mark.parametrize("fallback", [0.0, -1.0, float("nan")])
def test_fallback_that_is_no_threshold_is_refused(fallback: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        LearntThreshold(readings=(), fallback=fallback)
