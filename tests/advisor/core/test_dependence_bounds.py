"""Dependence at the exact value of each rule, with numbers by hand."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from advisor.core import dependence
from advisor.core.dependence import (
    Floats,
    correlations,
    lagged,
    ranks_of,
    residual_ranks,
    variance_inflations,
)
from tests.advisor.core.single_series import rank_dependence

NAN = float("nan")


def left(cause: Floats, effect: Floats, control: Floats) -> list[list[float]]:
    """The residual ranks of cause and effect; NaN where the control explains all of one."""
    three = (ranks_of(one[None]) for one in (cause, effect, control))
    return [one[0].tolist() for one in residual_ranks(*three)]


def explains_all(cause: Floats, effect: Floats, control: Floats) -> bool:
    x, y = np.isnan(left(cause, effect, control))
    return bool(x.all() and y.all())


def correlation(x: Floats, y: Floats) -> float:
    (found,) = correlations(x[None], y[None]).tolist()
    return float(found)


def inflation(x: Floats, y: Floats) -> float:
    (found,) = variance_inflations(ranks_of(x[None]), ranks_of(y[None])).tolist()
    return float(found)


def jumping(count: int) -> Floats:
    """Values without autocorrelation: each is followed by one far from it."""
    return np.array([7.0 * place % count for place in range(count)])


def test_twelve_pairs_are_enough_and_eleven_are_not() -> None:
    x = jumping(12)
    assert rank_dependence(x, x, np.zeros(12), lags=[0]) is not None

    without_one = x.copy()
    without_one[4] = NAN
    for columns in ((without_one, x), (x, without_one)):
        assert rank_dependence(*columns, np.zeros(12), lags=[0]) is None
    assert rank_dependence(x, x, without_one * 0, lags=[0]) is None


def test_interval_is_fishers_at_95_percent_of_the_best_of_three_lags() -> None:
    # No neighbour resembles the next, so all 40 windows count.
    rng = np.random.default_rng(6)
    order = rng.permutation(40)
    x = np.where(np.arange(40) % 2 == 0, 0.0, 100.0) + order
    y = np.where(np.arange(40) % 2 == 0, 0.0, 60.0) + rng.permutation(40)

    found = rank_dependence(x, y, np.zeros(40), lags=[0])

    assert found is not None
    assert found.effective_pairs == 40.0
    half = norm.isf(0.05 / 6) / math.sqrt(40 - 4)
    center = math.atanh(found.correlation)
    assert found.low == pytest.approx(math.tanh(center - half), abs=1e-4)
    assert found.high == pytest.approx(math.tanh(center + half), abs=1e-4)


def test_perfect_dependence_has_a_finite_interval() -> None:
    x = jumping(20)

    same, opposite = (rank_dependence(x, one, np.zeros(20), lags=[0]) for one in (x, -x))

    assert same is not None
    assert opposite is not None
    assert (same.correlation, opposite.correlation) == (1 - 1e-9, -1 + 1e-9)
    assert 0.99 < same.low <= same.correlation
    assert opposite.correlation <= opposite.high < -0.99


def noisy(x: Floats, lag: int, weight: float, seed: int) -> Floats:
    """An effect that follows x some windows later, beside noise."""
    noise = np.random.default_rng(seed).normal(size=len(x))
    return weight * np.concatenate((np.zeros(lag), x[: len(x) - lag])) + noise


def test_later_lag_counts_only_if_it_is_clearly_higher() -> None:
    x = np.random.default_rng(1).normal(size=300)
    at_0, at_1 = noisy(x, 0, 1.0, 2), noisy(x, 1, 1.0, 3)
    lag_of = {1.2: 0, 1.4: 1}

    # By 0.016 and by 0.087 higher.
    for weight, lag in lag_of.items():
        found = rank_dependence(x, at_0 + weight * at_1, np.zeros(300))
        each = [rank_dependence(x, at_0 + weight * at_1, np.zeros(300), lags=[n]) for n in (0, 1)]
        assert each[0] is not None
        assert each[1] is not None
        clearly = each[1].correlation > each[0].correlation + 0.05
        assert found is not None
        assert found.lag_windows == lag == int(clearly)


def test_lagged_pairs_cause_with_what_comes_later() -> None:
    cause = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    effect, control = cause * 10, cause / 10

    x, y, z = lagged(cause, effect, control, 1)

    assert x.tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert y.tolist() == [[20.0, 30.0], [50.0, 60.0]]
    assert z.tolist() == [[0.2, 0.3], [0.5, 0.6]]
    assert [one.shape for one in lagged(cause, effect, control, 0)] == [(2, 3)] * 3


def test_only_windows_count_in_which_all_three_are_known() -> None:
    # Of 14 windows, cause and effect of the window after it lack one each, at lag 1.
    x = jumping(14)
    cause, effect = x.copy(), np.concatenate(([NAN], x[:-1]))
    cause[3] = NAN

    assert rank_dependence(cause, effect, np.zeros(14), lags=[1]) is not None
    effect[9] = NAN
    assert rank_dependence(cause, effect, np.zeros(14), lags=[1]) is None


def test_control_takes_its_part_of_both_ranks() -> None:
    # Ranks about the middle: x = (-1.5, -0.5, 0.5, 1.5), and y and z = (-1.5, 0.5, -0.5, 1.5).
    # x · z = 4 and z · z = 5, so 0.8 z is taken from x, and all of z from y if it were x.
    x, z = np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 30.0, 20.0, 40.0])
    y = np.array([20.0, 30.0, 10.0, 40.0])

    found = left(x, y, z)

    # y = (-0.5, 0.5, -1.5, 1.5) and y · z = 4.
    assert found[0] == pytest.approx([-0.3, -0.9, 0.9, 0.3])
    assert found[1] == pytest.approx([0.7, 0.1, -1.1, 0.3])


@pytest.mark.parametrize("control", [np.zeros(4), np.array([4.0, 3.0, 2.0, 1.0])])
def test_control_that_is_steady_or_falls_takes_nothing(control: Floats) -> None:
    x, y = np.array([1.0, 3.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0])

    assert left(x, y, control) == [[-1.5, 0.5, -0.5, 1.5], [-1.5, -0.5, 0.5, 1.5]]


def test_control_that_is_the_cause_or_the_effect_leaves_nothing() -> None:
    x, y = jumping(20), jumping(20)[::-1] + np.arange(20.0)

    for same in (x, y):
        assert explains_all(x, y, same) or same @ y < 0
    # The cause may also be the opposite of the control.
    assert explains_all(-y, y + jumping(20) * 0.1, y)


def test_correlation_is_pearsons() -> None:
    # dx = (-1, 0, 1) and dy = (-2, 1, 1): 3 / √(2 · 6).
    found = correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 4.0]))

    assert found == pytest.approx(3 / math.sqrt(12))
    assert math.isnan(correlation(np.ones(3), np.arange(3.0)))


def test_inflation_follows_from_the_product_of_the_autocorrelations() -> None:
    # Ranks 1, 2, 3, 4 rise by one: correlation 1, limited to 0.95, in both: 1.9025 / 0.0975.
    rising = np.arange(10.0)

    assert inflation(rising, rising) == pytest.approx(1.9025 / 0.0975)
    assert inflation(rising, np.array([0.0, 1.0] * 5)) == 1.0
    assert inflation(rising[:2], rising[:2]) == 1.0
    assert inflation(rising[:3], rising[:3]) > 1.0


@pytest.mark.parametrize("swapped", [False, True], ids=["cause", "effect"])
def test_control_explains_a_series_only_above_the_bound(
    monkeypatch: pytest.MonkeyPatch, swapped: bool
) -> None:
    # Ranks with two neighbours exchanged are nearly those of the control.
    control = np.arange(10.0)
    near, other = control.copy(), jumping(10)
    near[[4, 5]] = near[[5, 4]]
    other[0] = 20.0
    # With n = 10 ranks: 1 - 6 · (1 + 1) / (10 · 99).
    near_correlation = correlation(near, control)
    assert near_correlation == pytest.approx(1 - 12 / 990)
    # The control has to go up with the effect, or it explains nothing.
    effect = near if swapped else control + other
    cause = control + other if swapped else near

    monkeypatch.setattr(dependence, "SAME_SERIES", near_correlation)
    assert not explains_all(cause, effect, control)

    monkeypatch.setattr(dependence, "SAME_SERIES", math.nextafter(near_correlation, 0.0))
    assert explains_all(cause, effect, control)
