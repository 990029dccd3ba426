"""The solver: vectors of both modes, its invariants, and what it says about bad input."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.core.allocation import Allocation, ReservationMode, entitlements, solve
from advisor.core.waterfill import groups_of

MODES = list(ReservationMode)
VECTOR_KEY = {ReservationMode.FLOOR: "MAX", ReservationMode.ADDITIVE: "SUM"}
RELATIVE = 1e-9

amounts = st.one_of(st.just(0.0), st.floats(1e-3, 1e4))
shares = st.floats(1e-2, 1e4)


@st.composite
def allocations(draw, share_values=shares):
    return Allocation(
        reservation=draw(amounts),
        limit=draw(st.none() | amounts),
        shares=draw(share_values),
        demand=draw(st.none() | amounts),
    )


allocation_lists = st.lists(allocations(), min_size=1, max_size=12)
capacities = st.floats(1e-2, 1e5)
modes = st.sampled_from(MODES)


def cap_of(allocation):
    return min(math.inf if c is None else c for c in (allocation.limit, allocation.demand))


def floor_of(allocation):
    return min(allocation.reservation, cap_of(allocation))


def close(value, scale):
    return pytest.approx(value, rel=RELATIVE, abs=RELATIVE * scale)


@pytest.mark.parametrize("mode", MODES)
def test_allocation_agrees_with_the_reference(alloc_vector, mode):
    entities = [Allocation(e["r"], e["l"], e["s"], e["d"]) for e in alloc_vector["entities"]]

    result = entitlements(alloc_vector["capacity"], entities, mode)

    assert result == pytest.approx(alloc_vector[VECTOR_KEY[mode]], rel=1e-9, abs=1e-9)


@given(capacities, allocation_lists, modes)
def test_allocation_uses_the_capacity_or_all_that_allocations_can_take(
    capacity, allocations, mode
):
    result = entitlements(capacity, allocations, mode)

    assert sum(result) == close(min(capacity, sum(map(cap_of, allocations))), capacity)


@given(st.lists(st.tuples(capacities, allocation_lists), min_size=2, max_size=6), modes)
def test_groups_that_are_solved_at_once_get_what_each_gets_alone(groups, mode):
    columns = [
        [[one.reservation, cap_of(one), one.shares] for one in allocations]
        for _, allocations in groups
    ]
    reservation, cap, weight = np.concatenate(columns).T

    together = solve(
        np.array([capacity for capacity, _ in groups]),
        reservation,
        cap,
        weight,
        mode=mode,
        groups=groups_of(np.array([len(allocations) for _, allocations in groups])),
    )

    alone = [entitlements(capacity, allocations, mode) for capacity, allocations in groups]
    assert together.tolist() == [amount for own in alone for amount in own]


@given(capacities, allocation_lists, modes)
def test_allocation_never_exceeds_limit_or_demand(capacity, allocations, mode):
    result = entitlements(capacity, allocations, mode)

    assert all(
        0 <= x <= cap_of(allocation) for x, allocation in zip(result, allocations, strict=True)
    )


@given(capacities, allocation_lists, modes)
def test_allocation_honours_reservations_that_fit(capacity, allocations, mode):
    assume(sum(map(floor_of, allocations)) <= capacity)

    result = entitlements(capacity, allocations, mode)

    for x, allocation in zip(result, allocations, strict=True):
        assert x >= floor_of(allocation) * (1 - RELATIVE) - RELATIVE * capacity


@given(st.floats(0.01, 0.99), allocation_lists, modes)
def test_allocation_scales_reservations_that_do_not_fit_in_proportion(part, allocations, mode):
    capacity = part * sum(map(floor_of, allocations))

    result = entitlements(capacity, allocations, mode)

    free = [
        (x, allocation)
        for x, allocation in zip(result, allocations, strict=True)
        if x < floor_of(allocation) - 1e-6 * capacity
    ]
    for (x, one), (y, other) in pairwise(free):
        assert x * other.reservation == close(
            y * one.reservation, capacity * max(one.reservation, other.reservation)
        )


@given(capacities, allocation_lists, modes)
def test_allocation_gives_unbound_allocations_one_level_per_share(capacity, allocations, mode):
    assume(sum(map(floor_of, allocations)) < capacity < sum(map(cap_of, allocations)))

    result = entitlements(capacity, allocations, mode)

    slack = 1e-6 * capacity
    level = [
        (x - (floor_of(c) if mode is ReservationMode.ADDITIVE else 0)) / c.shares
        for x, c in zip(result, allocations, strict=True)
    ]
    bound = list(zip(result, allocations, level, strict=True))
    can_rise = [lev for x, c, lev in bound if x < cap_of(c) - slack]
    can_fall = [lev for x, c, lev in bound if x > floor_of(c) + slack]
    if can_rise and can_fall:
        # Nobody who could take more lies below the level of somebody who is above a reservation.
        assert min(can_rise) >= max(can_fall) - slack / min(c.shares for c in allocations)


@given(capacities, allocation_lists, modes, st.floats(1.0, 100.0), st.data())
def test_allocation_is_monotone_in_shares(capacity, allocations, mode, factor, data):
    index = data.draw(st.integers(0, len(allocations) - 1))
    one = allocations[index]
    raised = Allocation(one.reservation, one.limit, one.shares * factor, one.demand)

    before = entitlements(capacity, allocations, mode)[index]
    after = entitlements(
        capacity, [*allocations[:index], raised, *allocations[index + 1 :]], mode
    )[index]

    assert after >= before - RELATIVE * capacity


@given(capacities, allocation_lists, modes, st.floats(1.0, 100.0))
def test_more_capacity_lowers_nobody_while_reservations_fit(capacity, allocations, mode, factor):
    assume(sum(map(floor_of, allocations)) <= capacity)

    before = entitlements(capacity, allocations, mode)
    after = entitlements(capacity * factor, allocations, mode)

    assert all(y >= x - RELATIVE * capacity * factor for x, y in zip(before, after, strict=True))


@given(capacities, allocation_lists, modes, st.randoms(use_true_random=False))
def test_allocation_does_not_depend_on_the_order_of_allocations(
    capacity, allocations, mode, random
):
    order = list(range(len(allocations)))
    random.shuffle(order)

    straight = entitlements(capacity, allocations, mode)
    shuffled = entitlements(capacity, [allocations[i] for i in order], mode)

    assert shuffled == close([straight[i] for i in order], capacity)


@given(capacities, allocation_lists, modes, st.floats(1e-6, 1e6))
def test_allocation_does_not_depend_on_the_unit_of_shares(capacity, allocations, mode, factor):
    scaled = [Allocation(c.reservation, c.limit, c.shares * factor, c.demand) for c in allocations]

    assert entitlements(capacity, scaled, mode) == close(
        entitlements(capacity, allocations, mode), capacity
    )


@given(capacities, allocation_lists, modes, st.floats(1e-6, 1e6))
def test_allocation_scales_with_the_unit_of_capacity(capacity, allocations, mode, factor):
    def scaled(value):
        return None if value is None else value * factor

    bigger = [
        Allocation(c.reservation * factor, scaled(c.limit), c.shares, scaled(c.demand))
        for c in allocations
    ]

    result = entitlements(capacity * factor, bigger, mode)

    assert [x / factor for x in result] == close(
        entitlements(capacity, allocations, mode), capacity
    )


@given(capacities, allocation_lists, modes)
def test_allocation_of_its_own_result_as_demand_is_the_same(capacity, allocations, mode):
    first = entitlements(capacity, allocations, mode)
    wanting = [
        Allocation(c.reservation, c.limit, c.shares, x)
        for c, x in zip(allocations, first, strict=True)
    ]

    assert entitlements(capacity, wanting, mode) == close(first, capacity)


@given(capacities, allocation_lists)
def test_modes_agree_without_reservations(capacity, allocations):
    free = [Allocation(0.0, c.limit, c.shares, c.demand) for c in allocations]

    floor = entitlements(capacity, free, ReservationMode.FLOOR)
    additive = entitlements(capacity, free, ReservationMode.ADDITIVE)

    assert floor == close(additive, capacity)


@given(capacities, allocation_lists)
def test_modes_agree_where_every_reservation_is_all_a_allocation_can_take(capacity, allocations):
    full = [
        Allocation(1e4, 1e4 if c.limit is None else c.limit, c.shares, c.demand)
        for c in allocations
    ]

    floor = entitlements(capacity, full, ReservationMode.FLOOR)
    additive = entitlements(capacity, full, ReservationMode.ADDITIVE)

    assert floor == close(additive, capacity)


extremes = st.sampled_from([0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e18, 1e300])


@st.composite
def extreme_allocations(draw):
    maybe = st.none() | st.just(math.inf) | extremes
    return Allocation(draw(extremes), draw(maybe), draw(extremes), draw(maybe))


@given(extremes, st.lists(extreme_allocations(), max_size=8), modes)
def test_allocation_of_extreme_numbers_is_bounded_and_never_nan(capacity, allocations, mode):
    result = entitlements(capacity, allocations, mode)

    assert len(result) == len(allocations)
    assert all(
        0 <= x <= cap_of(allocation) for x, allocation in zip(result, allocations, strict=True)
    )
    assert sum(result) <= capacity * (1 + RELATIVE)


@given(st.floats(1e-3, 1e3), st.lists(allocations(st.floats(1e-150, 1e150)), min_size=1), modes)
def test_allocation_uses_the_capacity_whatever_the_span_of_shares(capacity, allocations, mode):
    result = entitlements(capacity, allocations, mode)

    assert sum(result) == close(min(capacity, sum(map(cap_of, allocations))), capacity)


@pytest.mark.parametrize("mode", MODES)
def test_allocation_of_nothing_is_nothing(mode):
    assert entitlements(100.0, [], mode) == []


@pytest.mark.parametrize("mode", MODES)
def test_zero_capacity_gives_everybody_zero(mode):
    assert entitlements(0, [Allocation(reservation=5), Allocation(shares=3)], mode) == [0.0, 0.0]


@pytest.mark.parametrize("mode", MODES)
def test_capacity_that_nobody_may_take_stays_unused(mode):
    # 20 reserved; shares 0 takes no more, and nobody else is there for the other 80.
    assert entitlements(100, [Allocation(reservation=20, shares=0)], mode) == [20.0]


@pytest.mark.parametrize("mode", MODES)
def test_a_huge_share_with_a_limit_leaves_the_rest_to_a_small_one(mode):
    # 1e18 shares are held at the limit 10; 90 remain for the single share.
    assert entitlements(100, [Allocation(limit=10, shares=1e18), Allocation(shares=1)], mode) == [
        10.0,
        90.0,
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (field, value)
        for field in ("reservation", "limit", "shares", "demand")
        for value in (math.nan, -1.0, -math.inf, "many", 10**400)
    ]
    + [("reservation", math.inf), ("shares", math.inf), ("reservation", None), ("shares", None)],
)
def test_a_bad_number_is_refused_with_its_allocation_and_field(field, value):
    with pytest.raises(ValueError, match=rf"^allocation 1: {field} is "):
        entitlements(100, [Allocation(), Allocation(**{field: value})], ReservationMode.FLOOR)


@pytest.mark.parametrize("capacity", [math.nan, math.inf, -1.0, -math.inf])
def test_a_bad_capacity_is_refused(capacity):
    with pytest.raises(ValueError, match=r"^capacity is "):
        entitlements(capacity, [Allocation()], ReservationMode.FLOOR)


def test_allocation_that_states_nothing_has_one_share_and_no_bound():
    plain = Allocation()

    assert (plain.reservation, plain.limit, plain.shares, plain.demand) == (0.0, None, 1.0, None)
    # One share against three.
    assert entitlements(8.0, [plain, Allocation(shares=3.0)], ReservationMode.FLOOR) == [2.0, 6.0]
