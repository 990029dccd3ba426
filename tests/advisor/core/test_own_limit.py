"""A limit holds back what is near to it; I/O far above it passed by, on an uplink nothing does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.own_limit import is_held_back, reaches_limit

rates = st.floats(0, 1e12)
limits = st.none() | st.floats(1, 1e12)


@given(rates, limits, st.booleans())
def test_who_is_held_back_is_at_its_limit(rate, limit, counted_before):
    assert reaches_limit(rate, limit) or not is_held_back(
        rate, limit, counted_before=counted_before
    )


@given(rates, limits)
def test_on_an_uplink_everybody_at_a_limit_is_held_back(rate, limit):
    assert is_held_back(rate, limit, counted_before=True) is reaches_limit(rate, limit)


@pytest.mark.parametrize(
    ("rate", "limit", "reaches", "held_io", "held_uplink"),
    [
        # 95 % of 200 are 190, and 125 % of it are 250.
        (189.0, 200.0, False, False, False),
        (190.0, 200.0, True, True, True),
        (250.0, 200.0, True, True, True),
        (251.0, 200.0, True, False, True),
        (251.0, None, False, False, False),
    ],
    ids=["below", "near", "a little above", "passed by", "no limit"],
)
def test_limit_of_200_holds_back(rate, limit, reaches, held_io, held_uplink):
    assert reaches_limit(rate, limit) is reaches
    assert is_held_back(rate, limit, counted_before=False) is held_io
    assert is_held_back(rate, limit, counted_before=True) is held_uplink
