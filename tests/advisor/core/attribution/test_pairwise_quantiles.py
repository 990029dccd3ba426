"""Quantiles of differences of all pairs: those of the whole table, whatever the values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.attribution.pairwise_quantiles import SAMPLE, pairwise_quantiles

PARTS = [0.0, 0.02, 0.25, 0.5, 0.515, 0.97, 1.0]
VALUES = st.one_of(
    # Many that are equal, such as windows in which nothing is missing.
    st.sampled_from([0.0, 1.0, 1.5, 40.0]),
    st.floats(0, 1e150, allow_subnormal=False),
    st.floats(0, 60),
)
SIDES = st.tuples(st.lists(VALUES, min_size=1, max_size=60), st.integers(1, 4))


def side(drawn: tuple[list[float], int]) -> np.ndarray:
    """Values in rising order, on some sides more than are sampled."""
    values, times = drawn
    return np.sort(np.repeat(np.array(values), times))


@given(SIDES, SIDES)
def test_quantiles_are_those_of_all_differences(first, second):
    one, other = side(first), side(second)

    found = pairwise_quantiles(one, other, PARTS)

    every = np.subtract.outer(one, other)
    assert found == pytest.approx(np.quantile(every, PARTS).tolist(), rel=1e-12)


@pytest.mark.parametrize("scale", [0.01, 1.0, 1e6], ids=["close", "apart", "far apart"])
@pytest.mark.parametrize("shape", ["uniform", "skewed", "two values", "steps"])
def test_quantiles_of_long_series_are_those_of_all_differences(scale, shape):
    rng = np.random.default_rng(7)
    made = {
        "uniform": lambda size: rng.uniform(0, 1, size),
        "skewed": lambda size: rng.lognormal(0, 2, size),
        "two values": lambda size: rng.choice([0.0, 1.0], size),
        "steps": lambda size: np.floor(rng.uniform(0, 7, size)),
    }[shape]
    one, other = (np.sort(scale * made(size)) for size in (7 * SAMPLE, 5 * SAMPLE))

    found = pairwise_quantiles(one, other, PARTS)

    every = np.subtract.outer(one, other)
    assert found == pytest.approx(np.quantile(every, PARTS).tolist(), rel=1e-12)


def test_quantile_between_two_differences_is_interpolated():
    # Differences 1, 2, 3, 4: three quarters of the way lie at 1 + 0.75 · 3.
    first, second = np.array([3.0, 5.0]), np.array([1.0, 2.0])

    assert pairwise_quantiles(first, second, [0.75]) == [3.25]
