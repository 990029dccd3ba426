"""Costs by size: they rise with the size, and no NaN goes in or out."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.iosize import counted_ios, mclock_cost, size_cost, size_normalized_ms

COSTS = [
    size_cost,
    counted_ios,
    lambda size: mclock_cost(size, mechanical_s=0.005, peak_bytes_per_s=60e6),
    lambda size: size_normalized_ms(1.0, size),
]
NAMES = ["size cost", "counted", "mclock", "normalized"]
sizes = st.floats(0, 1e18)


@pytest.mark.parametrize("cost", COSTS[:3], ids=NAMES[:3])
@given(sizes, sizes)
def test_a_larger_io_never_costs_less(cost, one, other):
    small, large = sorted((one, other))

    assert 0 < cost(small) <= cost(large) < math.inf


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
@pytest.mark.parametrize("cost", COSTS, ids=NAMES)
def test_an_impossible_size_is_refused(cost, wrong):
    with pytest.raises(ValueError, match=r"^io_bytes is "):
        cost(wrong)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
def test_an_impossible_latency_is_refused(wrong):
    with pytest.raises(ValueError, match=r"^latency_ms is "):
        size_normalized_ms(wrong, 8000)


@pytest.mark.parametrize("field", ["mechanical_s", "peak_bytes_per_s"])
@pytest.mark.parametrize("wrong", [math.nan, math.inf, 0.0, -1.0])
def test_an_impossible_device_is_refused(field, wrong):
    device = {"mechanical_s": 0.005, "peak_bytes_per_s": 60e6, field: wrong}

    with pytest.raises(ValueError, match=rf"^{field} is "):
        mclock_cost(8192, **device)
