"""Numbers are rounded to six digits as Python rounds them, a column at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advisor.history.allocation_history import significant

amounts = st.floats(0, 1e300) | st.floats(0, 1e7) | st.just(math.nan)
# Halfway between two numbers of six digits, and as near to that as floats get.
middles = st.builds(
    lambda digits, power, step: float(np.nextafter((digits + 0.5) * 10.0**power, step)),
    st.integers(100_000, 999_999),
    st.integers(-12, 12),
    st.sampled_from([-math.inf, 0.0, math.inf]),
)


@given(st.lists(amounts | middles.filter(lambda value: value > 0)))
@example([0.0, 1e-320, 999_999.5, 9_999_995.0, 1000.0, 0.001])
def test_rounding_is_that_of_each_number_alone(values: list[float]) -> None:
    found = significant(np.array(values, dtype=np.float64))

    np.testing.assert_array_equal(found, [float(f"{value:.6g}") for value in values])


def test_columns_keep_their_shape_and_what_is_not_known() -> None:
    found = significant(np.array([[1_234_567.0, math.nan]]))

    assert found.tolist() == [[1_234_570.0, pytest.approx(math.nan, nan_ok=True)]]
