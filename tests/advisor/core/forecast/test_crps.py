"""A told distribution is scored by its distance from what came out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.forecast.crps import crps, even_draws

amounts = st.floats(0, 1e6)
draws = st.lists(amounts, min_size=1, max_size=30).map(np.array)


@given(amounts, amounts)
def test_score_of_a_point_is_its_distance(told: float, measured: float) -> None:
    assert crps(np.array([told] * 5), measured) == pytest.approx(abs(told - measured), abs=1e-6)


@given(draws, amounts)
def test_score_is_the_mean_distance_less_half_of_that_between_draws(
    told: np.ndarray, measured: float
) -> None:
    apart = np.abs(told[:, None] - told[None, :]).mean()

    expected = np.abs(told - measured).mean() - apart / 2

    assert crps(told, measured) == pytest.approx(max(expected, 0.0), rel=1e-6, abs=1e-4)


def test_distribution_that_is_wide_is_worse_than_one_that_is_right_and_narrow() -> None:
    narrow, wide = np.linspace(99, 101, 51), np.linspace(50, 150, 51)

    assert crps(narrow, 100.0) < crps(wide, 100.0) / 10


def test_range_scores_as_an_even_distribution() -> None:
    told = even_draws(low=0.0, middle=50.0, high=100.0, level=1.0)

    # Of an even distribution over a width, a twelfth of it at the middle and a third at an end.
    assert crps(told, 50.0) == pytest.approx(100 / 12, rel=0.01)
    assert crps(told, 100.0) == pytest.approx(100 / 3, rel=0.01)


def test_range_that_is_less_sure_has_more_at_its_ends() -> None:
    told = even_draws(low=0.0, middle=50.0, high=100.0, level=0.8)

    # A tenth lies at each end.
    assert np.mean(told <= 0.0) == pytest.approx(0.1, abs=0.01)
    assert np.mean(told >= 100.0) == pytest.approx(0.1, abs=0.01)
