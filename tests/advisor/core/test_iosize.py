"""Costs by size: they rise with the size, and no NaN goes in or out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.iosize import counted_ios, size_cost, size_normalized_ms, unit_cost, unit_costs
from advisor.core.resource import Unit

COSTS = [
    size_cost,
    counted_ios,
    lambda size: size_normalized_ms(1.0, size),
]
NAMES = ["size cost", "counted", "normalized"]
sizes = st.floats(0, 1e18)


@pytest.mark.parametrize("cost", COSTS[:2], ids=NAMES[:2])
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


@pytest.mark.parametrize(
    ("size", "count"), [(0, 1), (1, 1), (32_768, 1), (32_769, 2), (65_536, 2), (65_537, 3)]
)
def test_one_io_is_counted_for_each_32_kib_begun(size, count):
    assert counted_ios(size) == count


@pytest.mark.parametrize(("size", "cost"), [(8_000, 1.0), (67_000, 2.0), (None, 1.0)])
def test_half_of_the_device_time_of_51_kb_is_transfer(size, cost):
    # (51 + 67) / (51 + 8).
    assert size_cost(size) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("unit", "size", "cost"),
    [
        # (51 + 67) / (51 + 8): two of the reference size, each of whose bytes is one of 67,000.
        (Unit.IOPS, 67_000.0, 2.0),
        (Unit.BYTES_PER_S, 67_000.0, 2 / 67_000),
        (Unit.IOPS, None, 1.0),
        (Unit.BYTES_PER_S, None, 1 / 8000),
        # No I/O has no size, and nothing is smaller than a byte.
        (Unit.BYTES_PER_S, 0.0, 1 / 8000),
        (Unit.BYTES_PER_S, 0.5, 51_001 / 59_000),
    ],
)
def test_unit_of_a_rate_costs_the_device_time_of_its_io(unit, size, cost):
    row = np.array([np.nan if size is None else size])

    assert unit_cost(unit, size) == pytest.approx(cost)
    assert unit_costs(unit, row).tolist() == pytest.approx([cost])
