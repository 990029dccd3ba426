"""Cumulative sums: the reference vector, gaps, shifts of scale, and bad numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.detection.change_point import cusum, newest_level_change

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


noise = st.lists(st.floats(0.97, 1.03), min_size=6, max_size=28)


@given(noise, st.floats(0.1, 1e6))
def test_a_steady_level_never_changed(factors, level):
    assert newest_level_change([level * factor for factor in factors], lasting=3) is None


@given(
    st.lists(st.floats(0.97, 1.03), min_size=5, max_size=20),
    st.lists(st.floats(0.97, 1.03), min_size=3, max_size=20),
    st.sampled_from([0.25, 0.5, 2.0, 4.0]),
    st.floats(1e-3, 1e6),
)
def test_a_lasting_change_is_found_where_it_happened(before, after, factor, level):
    levels = [level * one for one in before] + [level * factor * one for one in after]

    assert newest_level_change(levels, lasting=3) == len(before)


@given(noise, st.integers(0, 27), st.floats(0.01, 100))
def test_a_single_day_never_is_a_level(factors, place, height):
    levels = [10 * factor for factor in factors]
    levels[min(place, len(levels) - 1)] = 10 * height

    assert newest_level_change(levels, lasting=3) is None


@given(st.lists(st.none() | st.floats(-1e18, 1e18), max_size=30), st.integers(1, 7))
def test_any_levels_have_an_answer_within_them(levels, lasting):
    found = newest_level_change(levels, lasting=lasting)

    if found is not None:
        assert 0 < found <= len(levels) - lasting
        assert levels[found] is not None


@pytest.mark.parametrize(
    ("levels", "began"),
    [
        ([5] * 10 + [9] * 3, 10),
        ([5] * 10 + [9] * 2, None),
        ([9] * 5 + [5] * 10 + [9] * 2, 5),
        ([5] * 6 + [9, 9] + [5] * 6, None),
        ([5] * 6 + [9] * 6 + [7, 20, 20] + [3] * 6, 15),
        ([5, None, 5, 5, None, 9, 9, None, 9], 5),
        ([5, 5, 9, 9, 9], None),
        ([0.0] * 10, None),
        ([0.0] * 5 + [4.0] * 6, 5),
        ([], None),
    ],
    ids=[
        "for three days",
        "for two days",
        "an older change behind two odd days",
        "two days that came and went",
        "the newest of several",
        "with gaps",
        "too little before it",
        "nothing at all",
        "from nothing",
        "no values",
    ],
)
def test_the_newest_level_that_lasts_is_the_present_one(levels, began):
    assert newest_level_change(levels, lasting=3) == began


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_impossible_level_is_refused(value):
    with pytest.raises(ValueError, match=r"^value 1 is "):
        newest_level_change([1.0, value, 1.0], lasting=1)
