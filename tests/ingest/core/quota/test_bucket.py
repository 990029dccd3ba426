"""The bucket of a rate, with the time given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.quota.bucket import (
    BURST_S,
    LONGEST_RETRY_S,
    Bucket,
    full_bucket,
    retry_after_s,
)

rates = st.integers(1, 10**7).map(float)
amounts = st.integers(0, 10**6)
pauses_s = st.floats(0, 120)
EPSILON = 1e-6


@given(rates, st.lists(st.tuples(pauses_s, amounts), max_size=50))
def test_no_more_is_admitted_than_the_rate_a_burst_and_one_body(
    rate: float, bodies: list[tuple[float, int]]
) -> None:
    bucket, now_s, admitted, largest = full_bucket(rate, now_s=0.0), 0.0, 0, 0
    for pause_s, amount in bodies:
        now_s += pause_s
        bucket = bucket.at(now_s)
        if bucket.wait_s() is None:
            bucket = bucket.less(amount)
            admitted += amount
            largest = max(largest, amount)

    most = rate * (BURST_S + now_s) + largest
    assert admitted <= most * (1 + EPSILON)


@given(rates, st.lists(st.tuples(pauses_s, amounts), min_size=1, max_size=50))
def test_whoever_waits_as_long_as_told_is_admitted(
    rate: float, bodies: list[tuple[float, int]]
) -> None:
    bucket, now_s = full_bucket(rate, now_s=0.0), 0.0
    for pause_s, amount in bodies:
        now_s += pause_s
        bucket = bucket.at(now_s).less(amount)
    wait_s = bucket.wait_s()

    # A little longer, because something must be there, and for the rounding of floats.
    after = bucket.at(now_s + (wait_s or 0.0) * (1 + EPSILON) + EPSILON)

    assert after.wait_s() is None


@given(rates, st.lists(st.tuples(pauses_s, st.just(0)), max_size=20), pauses_s)
def test_looking_often_fills_no_more_than_looking_once(
    rate: float, looks: list[tuple[float, int]], debt_s: float
) -> None:
    start = full_bucket(rate, now_s=0.0).less(rate * (BURST_S + debt_s))
    often, now_s = start, 0.0
    for pause_s, _ in looks:
        now_s += pause_s
        often = often.at(now_s)

    assert often.level == pytest.approx(start.at(now_s).level, abs=rate * EPSILON)


def test_a_body_of_many_times_the_rate_passes_and_the_next_waits_until_it_is_paid() -> None:
    # A minute's worth is 600 points; a body of 2,000 leaves a debt of 1,400: 140 s at 10 a second.
    bucket = full_bucket(10, now_s=0.0).less(2000)

    assert bucket.wait_s() == 140.0
    assert bucket.at(139.0).wait_s() == 1.0
    assert bucket.at(141.0).wait_s() is None


def test_nothing_is_saved_above_a_minute() -> None:
    assert full_bucket(10, now_s=0.0).at(10_000.0).level == 600.0


def test_clock_that_goes_back_fills_nothing() -> None:
    bucket = Bucket(rate_per_s=10.0, level=5.0, at_s=100.0)

    assert bucket.at(40.0).level == 5.0


@pytest.mark.parametrize(("rate", "level"), [(1.0, 60.0), (100.0, 500.0)], ids=["less", "more"])
def test_another_rate_keeps_what_fits(rate: float, level: float) -> None:
    saved = Bucket(rate_per_s=10.0, level=500.0, at_s=0.0)

    assert saved.of_rate(rate).level == level
    assert saved.less(600).of_rate(rate).level == -100.0


def test_part_that_has_to_be_left_is_waited_for() -> None:
    # Half of 600 is 300; from 100 that takes 20 s at 10 a second.
    assert Bucket(rate_per_s=10.0, level=100.0, at_s=0.0).wait_s(keep_ratio=0.5) == 20.0


@pytest.mark.parametrize(
    ("wait_s", "random_part", "said"),
    [(0.0, 0.0, 1), (0.2, 1.0, 1), (10.0, 0.0, 10), (10.0, 1.0, 15), (9999.0, 0.0, 600)],
)
def test_seconds_to_wait_are_whole_spread_and_bounded(
    wait_s: float, random_part: float, said: int
) -> None:
    assert retry_after_s(wait_s, random_part=random_part) == said
    assert said <= LONGEST_RETRY_S
