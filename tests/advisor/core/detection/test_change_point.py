"""Cumulative sums: the reference vector, gaps, shifts of scale, and bad numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.change_point import cusum

values = st.lists(st.none() | st.floats(-1e6, 1e6), max_size=50)


@given(values, st.floats(0.1, 100))
def test_the_sum_is_never_negative_and_alarms_only_above_the_alarm_level(xs, spread):
    result = cusum(xs, mean=0, spread=spread)

    assert len(result.sums) == len(xs)
    assert all(one >= 0 for one in result.sums)
    above = [index for index, one in enumerate(result.sums) if one > 5]
    assert result.alarm_index == (above[0] if above else None)
    assert (result.began_index is None) == (result.alarm_index is None)


@given(st.lists(st.floats(-10, 10), max_size=50), st.integers(-100, 100), st.integers(-3, 3))
def test_the_sum_does_not_depend_on_unit_or_origin(xs, origin, octaves):
    # Powers of two and small integers keep the arithmetic exact enough to compare.
    scale = 2.0**octaves

    plain = cusum(xs, mean=1, spread=2)
    moved = cusum([x * scale + origin for x in xs], mean=scale + origin, spread=2 * scale)

    assert moved.sums == pytest.approx(plain.sums, abs=1e-9)


@given(values, st.integers(0, 50))
def test_a_missing_value_changes_nothing(xs, place):
    place = min(place, len(xs))

    with_gap = cusum([*xs[:place], None, *xs[place:]], mean=0, spread=1)

    without = cusum(xs, mean=0, spread=1).sums
    assert with_gap.sums[:place] + with_gap.sums[place + 1 :] == without


def test_sums_agree_with_the_reference(cusum_vector):
    result = cusum(
        cusum_vector["xs"],
        mean=cusum_vector["mu"],
        spread=cusum_vector["sigma"],
        slack=cusum_vector["k"],
        alarm=cusum_vector["h"],
    )

    assert result.sums == pytest.approx(cusum_vector["splus"])
    assert result.alarm_index == cusum_vector["alarm_index"]


def test_the_change_began_where_the_sum_left_zero():
    # Deviations of 3 spreads count 2.5 each: 2.5, 5.0, 7.5 from index 4 on; 7.5 is above 5.
    result = cusum([0, 0, 0, 0, 3, 3, 3], mean=0, spread=1)

    assert (result.began_index, result.alarm_index) == (4, 6)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_no_number_is_refused_with_its_index(value):
    with pytest.raises(ValueError, match=r"^value 1 is "):
        cusum([0.0, value], mean=0, spread=1)


def test_enormous_values_keep_the_sum_finite():
    result = cusum([1e308, -1e308, 1e308], mean=-1e308, spread=1e-300)

    assert all(math.isfinite(one) for one in result.sums)


@pytest.mark.parametrize("spread", [0.0, -1.0, math.nan])
def test_a_spread_that_is_not_positive_is_refused(spread):
    with pytest.raises(ValueError, match=r"^spread is "):
        cusum([0.0], mean=0, spread=spread)
