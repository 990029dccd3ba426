"""The arithmetic of promises: minutes that were asked for, kept, lost, and held by a limit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.reporting.promise import (
    PromiseMinutes,
    added,
    lost_minutes,
    promise_minutes,
    shared_minutes,
)

T0 = datetime(2026, 11, 20, tzinfo=UTC)

Window = tuple[float, bool, float, float]
windows = st.lists(
    st.tuples(
        st.one_of(st.just(np.nan), st.floats(0, 200)),
        st.booleans(),
        st.sampled_from([0.0, 50.0, 100.0]),
        st.sampled_from([np.nan, 100.0, 150.0]),
    ),
    max_size=30,
)


def minutes_of(rows: list[Window], *, counted_before: bool = False) -> PromiseMinutes:
    rate, wanted, reservation, limit = (
        np.array([row[place] for row in rows], dtype=np.float64) for place in range(4)
    )
    return promise_minutes(
        rate=rate,
        wanted_more=wanted > 0,
        reservation=reservation,
        limit=limit,
        counted_before=counted_before,
        window_s=60.0,
    )


@given(windows)
def test_kept_is_part_of_asked_and_that_of_measured(rows: list[Window]) -> None:
    found = minutes_of(rows)

    assert 0 <= found.kept <= found.asked <= found.measured <= len(rows)
    assert 0 <= found.throttled <= found.measured


@given(windows, st.integers(0, 30))
def test_minutes_of_parts_add_up(rows: list[Window], cut: int) -> None:
    whole = minutes_of(rows)

    assert added([minutes_of(rows[:cut]), minutes_of(rows[cut:])]) == whole


@given(windows, st.randoms(use_true_random=False))
def test_order_of_windows_does_not_matter(rows: list[Window], random: Random) -> None:
    mixed = list(rows)
    random.shuffle(mixed)

    assert minutes_of(mixed) == minutes_of(rows)


@given(windows)
def test_more_rate_keeps_no_less(rows: list[Window]) -> None:
    more = [(row[0] * 1.5, *row[1:]) for row in rows]

    assert minutes_of(more).kept >= minutes_of(rows).kept


@given(windows)
def test_nothing_is_asked_where_nothing_is_reserved(rows: list[Window]) -> None:
    found = minutes_of([(rate, wanted, 0.0, limit) for rate, wanted, _, limit in rows])

    assert (found.asked, found.kept, found.kept_ratio) == (0, 0, None)


@pytest.mark.parametrize(
    ("window", "asked", "kept", "throttled"),
    [
        pytest.param((120.0, False, 100.0, np.nan), 1, 1, 0, id="more than reserved"),
        pytest.param((95.0, False, 100.0, np.nan), 1, 1, 0, id="as near as counts"),
        pytest.param((94.0, False, 100.0, np.nan), 0, 0, 0, id="less, and did not wait"),
        pytest.param((94.0, True, 100.0, np.nan), 1, 0, 0, id="less, and waited"),
        pytest.param((0.0, True, 100.0, np.nan), 1, 0, 0, id="nothing, and waited"),
        pytest.param((np.nan, True, 100.0, np.nan), 0, 0, 0, id="not measured"),
        pytest.param((96.0, True, 50.0, 100.0), 1, 1, 1, id="at its limit"),
        pytest.param((130.0, True, 50.0, 100.0), 1, 1, 0, id="far above its limit"),
    ],
)  # fmt: skip
def test_window_counts_by_what_was_wanted(
    window: Window, asked: int, kept: int, throttled: int
) -> None:
    found = minutes_of([window])

    assert (found.asked, found.kept, found.throttled) == (asked, kept, throttled)


def test_traffic_counted_before_its_limit_may_be_far_above_it() -> None:
    assert minutes_of([(130.0, True, 50.0, 100.0)], counted_before=True).throttled == 1


def test_longer_windows_are_more_minutes() -> None:
    one = np.array([100.0])
    found = promise_minutes(
        rate=one, wanted_more=one > 0, reservation=one, limit=np.array([np.nan]),
        counted_before=False, window_s=300.0,
    )  # fmt: skip

    assert (found.measured, found.asked, found.kept) == (5, 5, 5)


@given(st.floats(-1, 2), st.floats(0, 1e6))
def test_no_more_is_lost_than_there_was(shortfall_ratio: float, of_min: float) -> None:
    assert 0 <= lost_minutes(shortfall_ratio, of_min=of_min) <= of_min


def test_half_the_service_for_an_hour_is_half_an_hour() -> None:
    assert lost_minutes(0.5, of_min=60) == 30


@given(st.integers(-100, 200), st.integers(0, 100), st.integers(1, 100))
def test_incident_cut_in_two_periods_loses_no_minute(begin: int, length: int, cut: int) -> None:
    since = T0 + timedelta(minutes=begin)
    until = since + timedelta(minutes=length)
    middle, far = T0 + timedelta(minutes=cut), timedelta(days=1)

    first = shared_minutes(since, until, begin=T0 - far, end=middle)
    second = shared_minutes(since, until, begin=middle, end=T0 + far)

    assert first + second == pytest.approx(length)


def test_incident_that_goes_on_lasts_to_the_end_of_the_period() -> None:
    end = T0 + timedelta(hours=1)

    assert shared_minutes(T0 - timedelta(days=1), None, begin=T0, end=end) == 60
