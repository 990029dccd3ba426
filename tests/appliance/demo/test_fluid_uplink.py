"""The model of one uplink behind the simulated demo."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.demo.fluid_uplink import (
    HTB_UNEVENNESS,
    TCP_UNEVENNESS,
    SenderClass,
    split_by_class,
    split_evenly,
)

WIRE = 94e6

rates = st.floats(min_value=8e3, max_value=200e6)
classes = st.lists(
    st.builds(
        lambda rate, extra, quantum: SenderClass(
            rate_bits_per_s=rate, ceil_bits_per_s=rate + extra, quantum_bytes=quantum
        ),
        rates,
        st.floats(min_value=0, max_value=200e6),
        st.integers(min_value=1514, max_value=200_000),
    ),
    min_size=1,
    max_size=6,
).map(lambda items: {f"p{number}": item for number, item in enumerate(items)})


def leaf(rate: float, *, ceil: float = WIRE, quantum: int = 9000) -> SenderClass:
    return SenderClass(rate_bits_per_s=rate, ceil_bits_per_s=ceil, quantum_bytes=quantum)


@given(classes, st.integers())
def test_split_by_class_never_exceeds_the_wire(classes, seed):
    split = split_by_class(WIRE, classes, random.Random(seed))

    assert sum(split.values()) <= WIRE * (1 + HTB_UNEVENNESS) + 1


@given(classes, st.integers())
def test_split_by_class_never_exceeds_a_ceiling(classes, seed):
    split = split_by_class(WIRE, classes, random.Random(seed))

    for name, rate in split.items():
        assert rate <= classes[name].ceil_bits_per_s * (1 + HTB_UNEVENNESS)


def test_spare_is_lent_on_top_of_the_rate():
    classes = {"p1": leaf(75e6), "p2": leaf(8e3), "p3": leaf(8e3)}

    split = split_by_class(WIRE, classes, random.Random(1))

    # 94 - 75 - 0.016 leave 18.984, a third of it each: 81.33, 6.34, 6.34.
    assert split["p1"] == pytest.approx(81.328e6, rel=HTB_UNEVENNESS)
    assert split["p2"] == pytest.approx(6.336e6, rel=HTB_UNEVENNESS)


def test_spare_is_lent_by_quantum_up_to_the_ceiling():
    classes = {
        "p1": leaf(10e6, ceil=20e6),
        "p2": leaf(1e6, quantum=6000),
        "p3": leaf(1e6, quantum=3000),
    }

    split = split_by_class(36e6, classes, random.Random(1))

    # p1 stops at 20; the 14 that 20, 1 and 1 leave are lent 2 : 1.
    assert split["p1"] == pytest.approx(20e6, rel=HTB_UNEVENNESS)
    assert split["p2"] == pytest.approx((1 + 28 / 3) * 1e6, rel=HTB_UNEVENNESS)
    assert split["p3"] == pytest.approx((1 + 14 / 3) * 1e6, rel=HTB_UNEVENNESS)


def test_split_evenly_fills_the_wire_about_evenly():
    split = split_evenly(WIRE, ["p1", "p2", "p3"], random.Random(1))

    assert sum(split.values()) == pytest.approx(WIRE)
    assert all(rate == pytest.approx(WIRE / 3, rel=3 * TCP_UNEVENNESS) for rate in split.values())


def test_same_seed_gives_the_same_split():
    one, other = (split_evenly(WIRE, ["p1", "p2"], random.Random(7)) for _ in range(2))

    assert one == other
