"""On against off: agreement with the textbook test, honest intervals, and refusals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from advisor.core.attribution.natural_experiment import (
    NaturalExperiment,
    NoExperiment,
    natural_experiments,
)

value = st.floats(0, 1e6) | st.just(float("nan"))


def compared(load, harm):
    (found,) = natural_experiments(load[None], harm[None])
    return found


def alternating(windows, *, length=1):
    """Load 0 and 100 in turns of so many windows."""
    return np.where(np.arange(windows) // length % 2 == 1, 100.0, 0.0)


@given(
    st.integers(0, 60).flatmap(lambda n: st.tuples(*[st.lists(value, min_size=n, max_size=n)] * 2))
)
def test_a_result_is_ordered_finite_and_a_probability(columns):
    load, harm = (np.array(column) for column in columns)

    found = compared(load, harm)

    if isinstance(found, NoExperiment):
        assert found.reason
    else:
        assert found.shift_low <= found.shift <= found.shift_high
        assert 0 <= found.superiority <= 1
        assert math.isfinite(found.shift_high - found.shift_low)


@given(st.lists(st.integers(0, 50), min_size=20, max_size=60), st.integers(-20, 20))
def test_moving_all_harm_moves_no_difference(harm, offset):
    load = alternating(len(harm))

    plain = compared(load, np.array(harm, dtype=float))

    assert compared(load, np.array(harm, dtype=float) + offset) == plain


def test_windows_that_alternate_give_the_textbook_interval():
    # Load alternates, so its neighbours are unlike and nothing is inflated.
    rng = np.random.default_rng(1)
    load = alternating(60)
    harm = rng.normal(size=60) + load / 200

    found = compared(load, harm)

    # Of 30·30 pairs U counts those in which on is worse; without effect and ties its variance is
    # 30·30·61/12. The interval takes 1.96 deviations to both sides of the median difference.
    on, off = harm[load > 50], harm[load < 50]
    assert found.superiority == pytest.approx(mannwhitneyu(on, off).statistic / 900)
    half = 1.959964 * math.sqrt(900 * 61 / 12) / 900
    expected = np.quantile(np.subtract.outer(on, off), [0.5 - half, 0.5 + half])
    assert (found.shift_low, found.shift_high) == pytest.approx(tuple(expected))


def test_shift_is_how_much_worse_the_others_fare():
    # On windows are 7 ms slower; both kinds scatter over 0, 1, 2, 3 ms.
    load = alternating(40)
    harm = np.arange(40) // 2 % 4 + np.where(load > 0, 7.0, 0.0)

    found = compared(load, harm)

    assert isinstance(found, NaturalExperiment)
    assert found.shift == pytest.approx(7.0)
    assert found.superiority == 1.0
    assert found.shift_low > 5


def test_long_stretches_count_less_than_many_switches():
    rng = np.random.default_rng(2)
    slow = np.convolve(rng.normal(size=139), np.ones(20), "valid")

    many = compared(alternating(120), slow + alternating(120) / 50)
    few = compared(alternating(120, length=40), slow + alternating(120, length=40) / 50)

    assert few.shift_high - few.shift_low > many.shift_high - many.shift_low


def test_no_effect_is_rarely_called_one():
    called = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        slow = np.zeros(120)
        for t in range(1, 120):
            slow[t] = 0.7 * slow[t - 1] + rng.normal()
        called += compared(alternating(120, length=10), slow).shift_low > 0

    assert called <= 10


def test_large_samples_give_nearly_the_same_shift():
    rng = np.random.default_rng(3)
    load = alternating(8640)
    harm = rng.exponential(size=8640) + load / 50

    found = compared(load, harm)

    assert found.shift == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (np.array([0.0, 9.0] * 5), "10 windows; 16 are needed"),
        (np.array([0.0] * 30), "on in 0 windows, off in 30"),
        (np.array([90.0, 100.0] * 15), "its load hardly changed"),
        (np.array([0.0] * 15 + [100.0] * 15), "it went on or off only once"),
    ],
    ids=["few windows", "idle", "steady", "one switch"],
)
def test_what_shows_nothing_is_refused_with_a_reason(load, reason):
    assert compared(load, np.arange(float(len(load)))).reason == reason


def test_rows_with_gaps_of_their_own_are_each_compared_as_if_alone():
    rng = np.random.default_rng(8)
    loads = np.tile(alternating(40), (5, 1)) * rng.uniform(0.9, 1.1, size=(5, 1))
    harms = rng.normal(size=(5, 40)) + loads / 100
    loads[1, 3] = harms[2, 17] = np.nan
    loads[3, :30] = np.nan
    harms[4] = np.nan

    found = natural_experiments(loads, harms)

    assert found == [compared(load, harm) for load, harm in zip(loads, harms, strict=True)]
    assert [type(one) for one in found] == [NaturalExperiment] * 3 + [NoExperiment] * 2
