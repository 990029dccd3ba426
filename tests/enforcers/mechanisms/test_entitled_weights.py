"""Weights by entitlement: proportions, reservations, and what somebody finds who comes back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.contract import ReservationMode
from enforcers.entitlement import Claim
from enforcers.mechanisms.cgroup_io.entitled_weights import (
    LARGEST_WEIGHT,
    Contender,
    entitled_weights,
    unhindered,
)

FLOOR = ReservationMode.FLOOR
CAPACITY = 2000.0


def waiting(name: str, *, rate: float = 1.0, **claim: float) -> Contender:
    return Contender(group=name, claim=Claim(**{"shares": 100.0, **claim}), rate=rate, waits=True)


def content(name: str, rate: float, **claim: float) -> Contender:
    return Contender(group=name, claim=Claim(**{"shares": 100.0, **claim}), rate=rate, waits=False)


def others(count: int) -> list[Contender]:
    return [waiting(f"other{number}") for number in range(count)]


def part_of(name: str, weights: dict[str, int], among: list[str]) -> float:
    """What iocost gives of the whole, when these groups want all they can get."""
    return weights[name] / sum(weights[one] for one in among)


contenders = st.lists(
    st.builds(
        lambda shares, reservation, limit, rate, waits: (
            Claim(shares=shares, reservation=reservation, limit=limit),
            rate,
            waits,
        ),
        st.integers(1, 10_000).map(float),
        st.just(0.0) | st.floats(1.0, 500.0),
        st.none() | st.floats(600.0, 5000.0),
        st.just(0.0) | st.floats(0.5, 3000.0),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@given(contenders)
def test_weights_are_what_the_kernel_takes(some):
    group = [
        Contender(group=f"g{i}", claim=claim, rate=rate, waits=waits)
        for i, (claim, rate, waits) in enumerate(some)
    ]

    weights = entitled_weights(CAPACITY, group, FLOOR)

    assert set(weights) == {one.group for one in group}
    assert all(1 <= weight <= LARGEST_WEIGHT for weight in weights.values())


@given(st.lists(st.integers(50, LARGEST_WEIGHT), min_size=1, max_size=20))
def test_weights_are_the_shares_where_nothing_else_binds(shares):
    group = [unhindered(f"g{i}", Claim(shares=float(one))) for i, one in enumerate(shares)]

    weights = entitled_weights(CAPACITY, group, FLOOR)

    assert list(weights.values()) == shares


@given(st.lists(st.integers(1, 20), min_size=2, max_size=20))
def test_small_shares_keep_their_proportion(shares):
    group = [unhindered(f"g{i}", Claim(shares=float(one))) for i, one in enumerate(shares)]

    weights = entitled_weights(CAPACITY, group, FLOOR)

    for one, weight in zip(shares, weights.values(), strict=True):
        # Of a weight of 50 or more half a unit is 1 % at most.
        assert weight * sum(shares) == pytest.approx(one * sum(weights.values()), rel=0.02)


@given(st.integers(1, 30), st.floats(10.0, 1800.0))
def test_reservation_has_its_part_of_the_weights(neighbours, reservation):
    group = [waiting("first", reservation=reservation), *others(neighbours)]

    weights = entitled_weights(CAPACITY, group, FLOOR)

    due = max(reservation, CAPACITY / (neighbours + 1)) / CAPACITY
    assert part_of("first", weights, list(weights)) == pytest.approx(due, rel=0.02)


def test_reservation_of_800_of_2000_beside_seven_equals():
    weights = entitled_weights(CAPACITY, [waiting("first", reservation=800.0), *others(7)], FLOOR)

    # 800 and seven times 1200 / 7; eight shares of 100 make 800 in all.
    assert weights["first"] == 320
    assert {weights[f"other{number}"] for number in range(7)} == {69}


@given(st.integers(2, 30), st.floats(10.0, 1500.0), st.just(0.0) | st.floats(0.1, 9.0))
def test_who_comes_back_has_its_reservation_at_once(neighbours, reservation, rate):
    back = content("first", rate, reservation=reservation)

    weights = entitled_weights(CAPACITY, [back, *others(neighbours)], FLOOR)

    assert part_of("first", weights, list(weights)) >= 0.97 * reservation / CAPACITY


@given(st.floats(0.0, 400.0), st.floats(0.0, 700.0))
def test_who_does_not_wait_moves_nobody_elses_proportion(rate, reservation):
    some = [waiting("a", shares=300.0), waiting("b"), content("c", rate, reservation=reservation)]

    weights = entitled_weights(CAPACITY, some, FLOOR)

    assert weights["a"] == pytest.approx(3 * weights["b"], rel=0.02)


def test_part_that_somebody_leaves_goes_to_the_others_by_their_shares():
    # 500 of 2000 are left to two whose reservation binds no more: 2/3 and 1/3 of 1500.
    some = [waiting("a", shares=200.0, reservation=900.0), waiting("b"), content("c", 500.0)]

    weights = entitled_weights(CAPACITY, some, FLOOR)

    assert weights["a"] == pytest.approx(2 * weights["b"], rel=0.02)


def test_limit_leaves_its_rest_to_others():
    some = [waiting("a", limit=100.0), waiting("b"), waiting("c")]

    weights = entitled_weights(CAPACITY, some, FLOOR)

    # 100, 950 and 950.
    assert part_of("a", weights, list(weights)) == pytest.approx(0.05, rel=0.02)


def test_nobody_at_work_is_no_reason_to_fail():
    assert entitled_weights(CAPACITY, [content("a", 0.0)], FLOOR) == {"a": 1}
