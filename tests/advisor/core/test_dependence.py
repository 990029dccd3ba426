"""Dependence of series: bounds, order, the sufferer's own load, lags and honest intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, spearmanr

from advisor.core.dependence import (
    rank_dependences,
    ranks_of,
    variance_inflations,
)
from tests.advisor.core.single_series import rank_dependence

NONE = np.zeros
value = st.floats(0, 1e6) | st.just(float("nan"))
table = st.integers(0, 40).flatmap(
    lambda n: st.tuples(*[st.lists(value, min_size=n, max_size=n)] * 3)
)


@given(table)
def test_dependence_lies_inside_its_interval_and_between_minus_one_and_one(columns):
    cause, effect, control = (np.array(column) for column in columns)

    found = rank_dependence(cause, effect, control)

    if found is not None:
        assert -1 <= found.low <= found.correlation <= found.high <= 1
        assert 0 < found.effective_pairs <= len(cause)


@given(table, st.integers(-5, 5))
def test_dependence_does_not_depend_on_units(columns, octaves):
    cause, effect, control = (np.array(column) for column in columns)

    assert rank_dependence(cause * 2.0**octaves, effect, control) == rank_dependence(
        cause, effect, control
    )


def test_independent_windows_without_control_give_spearmans_correlation():
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=(2, 200))
    y = x + noise

    found = rank_dependence(x, y, NONE(200), lags=[0])

    assert found.correlation == pytest.approx(spearmanr(x, y).statistic)


def test_load_that_the_sufferers_own_load_explains_is_no_dependence():
    rng = np.random.default_rng(2)
    own = rng.normal(size=500)
    neighbour, latency = own + 0.5 * rng.normal(size=(2, 500))

    found = rank_dependence(neighbour, latency, own)

    assert found.low < 0.1
    assert rank_dependence(neighbour, latency, NONE(500)).low > 0.5


def test_own_load_that_falls_as_latency_rises_takes_nothing_away():
    # A closed loop: the slower the device, the less the sufferer can send.
    rng = np.random.default_rng(3)
    neighbour = rng.normal(size=300)
    latency = neighbour + 0.1 * rng.normal(size=300)

    found = rank_dependence(neighbour, latency, -latency)

    assert found.correlation > 0.95


def test_an_effect_that_comes_two_windows_later_is_found_at_that_lag():
    rng = np.random.default_rng(4)
    neighbour = rng.normal(size=100)
    latency = np.concatenate(([0, 0], neighbour[:-2]))

    found = rank_dependence(neighbour, latency, NONE(100))

    assert found.lag_windows == 2
    assert found.correlation > 0.99


@pytest.mark.parametrize(
    ("cause", "control"),
    [(np.ones(50), np.zeros(50)), (np.arange(50.0), np.arange(50.0)), (np.arange(5.0), NONE(5))],
    ids=["constant", "same as own load", "too few windows"],
)
def test_dependence_that_cannot_be_told_is_none(cause, control):
    assert rank_dependence(cause, np.arange(float(len(cause))), control) is None


def test_slow_series_are_worth_fewer_pairs():
    rng = np.random.default_rng(5)
    slow = np.cumsum(rng.normal(size=(2, 400)), axis=1)
    fast = rng.normal(size=(2, 400))

    slow_ranks, fast_ranks = ranks_of(slow), ranks_of(fast)
    assert variance_inflations(slow_ranks[:1], slow_ranks[1:]) > 5
    assert variance_inflations(fast_ranks[:1], fast_ranks[1:]) < 1.1


def test_interval_covers_nothing_in_unrelated_slow_series_most_of_the_time():
    # Two independent first-order series at 0.8: a naive interval would exclude 0 far too often.
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        x, y = np.zeros((2, 150))
        for t in range(1, 150):
            x[t], y[t] = 0.8 * x[t - 1] + rng.normal(), 0.8 * y[t - 1] + rng.normal()
        covered += rank_dependence(x, y, NONE(150)).low <= 0

    assert covered >= 92


one_of_a_row = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e9, 1e9))
rows = st.integers(0, 30).flatmap(
    lambda pairs: st.lists(
        st.lists(one_of_a_row, min_size=pairs, max_size=pairs), min_size=1, max_size=4
    )
)


@given(rows)
def test_ranks_of_each_row_are_those_of_scipy(values: list[list[float]]) -> None:
    expected = [rankdata(row).tolist() for row in values]

    assert ranks_of(np.array(values, dtype=np.float64)).tolist() == expected


@given(st.lists(st.sampled_from(range(4)), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_rows_with_gaps_of_their_own_are_each_judged_as_if_alone(gaps, seed):
    # Row i has a gap of `gaps[i]` kinds: none, one or several windows, or all of one series.
    rng = np.random.default_rng(seed)
    tables = rng.integers(0, 9, size=(3, len(gaps), 30)).astype(np.float64)
    for row, kind in enumerate(gaps):
        series = rng.integers(0, 3)
        windows = {0: [], 1: [7], 2: [0, 3, 29], 3: range(30)}[kind]
        tables[series, row, list(windows)] = np.nan

    found = rank_dependences(*tables)

    alone = [rank_dependence(*tables[:, row]) for row in range(len(gaps))]
    assert found == alone
    assert all((one is None) for one, kind in zip(found, gaps, strict=True) if kind == 3)
