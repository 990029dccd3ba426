"""A limit holds back what is near to it; I/O far above it passed by, on an uplink nothing does."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from advisor.core.own_limit import throttled

columns = st.integers(1, 5).flatmap(
    lambda size: st.tuples(
        arrays.arrays(np.float64, size, elements=st.floats(0, 1e12)),
        arrays.arrays(np.float64, size, elements=st.just(np.nan) | st.floats(1, 1e12)),
    )
)


@given(columns)
def test_whose_io_is_held_back_would_be_held_back_on_an_uplink(rates_and_limits):
    rates, limits = rates_and_limits
    uplink = throttled(rates, limits, counted_before=True)
    assert (uplink | ~throttled(rates, limits, counted_before=False)).all()
    assert not uplink[np.isnan(limits)].any()


def test_limit_of_200_holds_back_from_190_on_and_io_until_250():
    # 95 % of 200 are 190, and 125 % of it are 250.
    rates = np.array([189.0, 190.0, 250.0, 251.0, 251.0])
    limits = np.array([200.0, 200.0, 200.0, 200.0, np.nan])
    held_io = throttled(rates, limits, counted_before=False)
    held_uplink = throttled(rates, limits, counted_before=True)
    assert held_io.tolist() == [False, True, True, False, False]
    assert held_uplink.tolist() == [False, True, True, True, False]
