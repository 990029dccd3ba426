"""Intervals from past errors, and whether they cover what they say."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.forecast.prediction_interval import Outcome, interval_around

outcomes = st.lists(
    st.builds(Outcome, predicted=st.floats(1, 1e6), measured=st.floats(0, 1e6)), max_size=40
)


@given(st.floats(1, 1e6), outcomes, st.floats(0.05, 0.95))
def test_an_interval_holds_the_prediction_and_as_many_past_errors_as_it_says(value, past, level):
    interval = interval_around(value, past, level=level)

    if interval is None:
        assert len(past) < 1 / (1 - level)
    else:
        assert 0 <= interval.low <= value <= interval.high
        half = (interval.high - value) / value
        inside = sum(abs(one.error_ratio) <= half * (1 + 1e-9) + 1e-12 for one in past)
        assert inside >= level * len(past)


@given(st.floats(1, 1e6), outcomes)
def test_a_higher_level_never_makes_a_narrower_interval(value, past):
    narrow, wide = (interval_around(value, past, level=level) for level in (0.5, 0.8))

    if wide is not None:
        assert narrow.low >= wide.low
        assert narrow.high <= wide.high


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_intervals_cover_the_next_outcome_as_often_as_they_say(level):
    rng = np.random.default_rng(1)
    made = [
        Outcome(predicted=100.0, measured=float(100 * rng.lognormal(0, 0.3))) for _ in range(600)
    ]

    covered = []
    for place, one in enumerate(made):
        found = interval_around(one.predicted, made[:place], level=level)
        if found is not None:
            covered.append(found.low <= one.measured <= found.high)

    assert sum(covered) / len(covered) == pytest.approx(level, abs=0.04)


def test_four_past_errors_make_an_interval_of_80_percent():
    past = [Outcome(predicted=100.0, measured=value) for value in (90.0, 105.0, 120.0, 98.0)]

    interval = interval_around(50.0, past)

    # The fourth smallest of 2, 5, 10 and 20 %.
    assert (interval.low, interval.high) == pytest.approx((40.0, 60.0))


def test_without_outcomes_there_is_nothing_to_say():
    assert interval_around(1.0, []) is None


@pytest.mark.parametrize("value", [0.0, math.nan, -1.0])
def test_a_prediction_that_is_not_positive_is_refused(value):
    with pytest.raises(ValueError, match=r"^predicted is "):
        Outcome(predicted=value, measured=1.0)


@pytest.mark.parametrize("level", [0.0, 1.0, math.nan])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(ValueError, match=r"^level is "):
        interval_around(1.0, [], level=level)
