"""The solver: vectors of both modes, its invariants, and what it says about bad input."""

import math
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.core.allocation import Claim, ReservationMode, allocate

MODES = list(ReservationMode)
VECTOR_KEY = {ReservationMode.FLOOR: "MAX", ReservationMode.ADDITIVE: "SUM"}
RELATIVE = 1e-9

amounts = st.one_of(st.just(0.0), st.floats(1e-3, 1e4))
shares = st.floats(1e-2, 1e4)


@st.composite
def claims(draw, share_values=shares):
    return Claim(
        reservation=draw(amounts),
        limit=draw(st.none() | amounts),
        shares=draw(share_values),
        demand=draw(st.none() | amounts),
    )


claim_lists = st.lists(claims(), min_size=1, max_size=12)
capacities = st.floats(1e-2, 1e5)
modes = st.sampled_from(MODES)


def cap_of(claim):
    return min(math.inf if c is None else c for c in (claim.limit, claim.demand))


def floor_of(claim):
    return min(claim.reservation, cap_of(claim))


def close(value, scale):
    return pytest.approx(value, rel=RELATIVE, abs=RELATIVE * scale)


@pytest.mark.parametrize("mode", MODES)
def test_allocation_agrees_with_the_reference(alloc_vector, mode):
    entities = [Claim(e["r"], e["l"], e["s"], e["d"]) for e in alloc_vector["entities"]]

    result = allocate(alloc_vector["capacity"], entities, mode)

    assert result == pytest.approx(alloc_vector[VECTOR_KEY[mode]], rel=1e-9, abs=1e-9)


@given(capacities, claim_lists, modes)
def test_allocation_uses_the_capacity_or_all_that_claims_can_take(capacity, claims, mode):
    result = allocate(capacity, claims, mode)

    assert sum(result) == close(min(capacity, sum(map(cap_of, claims))), capacity)


@given(capacities, claim_lists, modes)
def test_allocation_never_exceeds_limit_or_demand(capacity, claims, mode):
    result = allocate(capacity, claims, mode)

    assert all(0 <= x <= cap_of(claim) for x, claim in zip(result, claims, strict=True))


@given(capacities, claim_lists, modes)
def test_allocation_honours_reservations_that_fit(capacity, claims, mode):
    assume(sum(map(floor_of, claims)) <= capacity)

    result = allocate(capacity, claims, mode)

    for x, claim in zip(result, claims, strict=True):
        assert x >= floor_of(claim) * (1 - RELATIVE) - RELATIVE * capacity


@given(st.floats(0.01, 0.99), claim_lists, modes)
def test_allocation_scales_reservations_that_do_not_fit_in_proportion(part, claims, mode):
    capacity = part * sum(map(floor_of, claims))

    result = allocate(capacity, claims, mode)

    free = [
        (x, claim)
        for x, claim in zip(result, claims, strict=True)
        if x < floor_of(claim) - 1e-6 * capacity
    ]
    for (x, one), (y, other) in pairwise(free):
        assert x * other.reservation == close(
            y * one.reservation, capacity * max(one.reservation, other.reservation)
        )


@given(capacities, claim_lists, modes)
def test_allocation_gives_unbound_claims_one_level_per_share(capacity, claims, mode):
    assume(sum(map(floor_of, claims)) < capacity < sum(map(cap_of, claims)))

    result = allocate(capacity, claims, mode)

    slack = 1e-6 * capacity
    level = [
        (x - (floor_of(c) if mode is ReservationMode.ADDITIVE else 0)) / c.shares
        for x, c in zip(result, claims, strict=True)
    ]
    bound = list(zip(result, claims, level, strict=True))
    can_rise = [lev for x, c, lev in bound if x < cap_of(c) - slack]
    can_fall = [lev for x, c, lev in bound if x > floor_of(c) + slack]
    if can_rise and can_fall:
        # Nobody who could take more lies below the level of somebody who is above a reservation.
        assert min(can_rise) >= max(can_fall) - slack / min(c.shares for c in claims)


@given(capacities, claim_lists, modes, st.floats(1.0, 100.0), st.data())
def test_allocation_is_monotone_in_shares(capacity, claims, mode, factor, data):
    index = data.draw(st.integers(0, len(claims) - 1))
    one = claims[index]
    raised = Claim(one.reservation, one.limit, one.shares * factor, one.demand)

    before = allocate(capacity, claims, mode)[index]
    after = allocate(capacity, [*claims[:index], raised, *claims[index + 1 :]], mode)[index]

    assert after >= before - RELATIVE * capacity


@given(capacities, claim_lists, modes, st.floats(1.0, 100.0))
def test_more_capacity_lowers_nobody_while_reservations_fit(capacity, claims, mode, factor):
    assume(sum(map(floor_of, claims)) <= capacity)

    before = allocate(capacity, claims, mode)
    after = allocate(capacity * factor, claims, mode)

    assert all(y >= x - RELATIVE * capacity * factor for x, y in zip(before, after, strict=True))


@given(capacities, claim_lists, modes, st.randoms(use_true_random=False))
def test_allocation_does_not_depend_on_the_order_of_claims(capacity, claims, mode, random):
    order = list(range(len(claims)))
    random.shuffle(order)

    straight = allocate(capacity, claims, mode)
    shuffled = allocate(capacity, [claims[i] for i in order], mode)

    assert shuffled == close([straight[i] for i in order], capacity)


@given(capacities, claim_lists, modes, st.floats(1e-6, 1e6))
def test_allocation_does_not_depend_on_the_unit_of_shares(capacity, claims, mode, factor):
    scaled = [Claim(c.reservation, c.limit, c.shares * factor, c.demand) for c in claims]

    assert allocate(capacity, scaled, mode) == close(allocate(capacity, claims, mode), capacity)


@given(capacities, claim_lists, modes, st.floats(1e-6, 1e6))
def test_allocation_scales_with_the_unit_of_capacity(capacity, claims, mode, factor):
    def scaled(value):
        return None if value is None else value * factor

    bigger = [
        Claim(c.reservation * factor, scaled(c.limit), c.shares, scaled(c.demand)) for c in claims
    ]

    result = allocate(capacity * factor, bigger, mode)

    assert [x / factor for x in result] == close(allocate(capacity, claims, mode), capacity)


@given(capacities, claim_lists, modes)
def test_allocation_of_its_own_result_as_demand_is_the_same(capacity, claims, mode):
    first = allocate(capacity, claims, mode)
    wanting = [
        Claim(c.reservation, c.limit, c.shares, x) for c, x in zip(claims, first, strict=True)
    ]

    assert allocate(capacity, wanting, mode) == close(first, capacity)


@given(capacities, claim_lists)
def test_modes_agree_without_reservations(capacity, claims):
    free = [Claim(0.0, c.limit, c.shares, c.demand) for c in claims]

    floor = allocate(capacity, free, ReservationMode.FLOOR)
    additive = allocate(capacity, free, ReservationMode.ADDITIVE)

    assert floor == close(additive, capacity)


@given(capacities, claim_lists)
def test_modes_agree_where_every_reservation_is_all_a_claim_can_take(capacity, claims):
    full = [Claim(1e4, 1e4 if c.limit is None else c.limit, c.shares, c.demand) for c in claims]

    floor = allocate(capacity, full, ReservationMode.FLOOR)
    additive = allocate(capacity, full, ReservationMode.ADDITIVE)

    assert floor == close(additive, capacity)


extremes = st.sampled_from([0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e18, 1e300])


@st.composite
def extreme_claims(draw):
    maybe = st.none() | st.just(math.inf) | extremes
    return Claim(draw(extremes), draw(maybe), draw(extremes), draw(maybe))


@given(extremes, st.lists(extreme_claims(), max_size=8), modes)
def test_allocation_of_extreme_numbers_is_bounded_and_never_nan(capacity, claims, mode):
    result = allocate(capacity, claims, mode)

    assert len(result) == len(claims)
    assert all(0 <= x <= cap_of(claim) for x, claim in zip(result, claims, strict=True))
    assert sum(result) <= capacity * (1 + RELATIVE)


@given(st.floats(1e-3, 1e3), st.lists(claims(st.floats(1e-150, 1e150)), min_size=1), modes)
def test_allocation_uses_the_capacity_whatever_the_span_of_shares(capacity, claims, mode):
    result = allocate(capacity, claims, mode)

    assert sum(result) == close(min(capacity, sum(map(cap_of, claims))), capacity)


@pytest.mark.parametrize("mode", MODES)
def test_allocation_of_nothing_is_nothing(mode):
    assert allocate(100.0, [], mode) == []


@pytest.mark.parametrize("mode", MODES)
def test_zero_capacity_gives_everybody_zero(mode):
    assert allocate(0, [Claim(reservation=5), Claim(shares=3)], mode) == [0.0, 0.0]


@pytest.mark.parametrize("mode", MODES)
def test_capacity_that_nobody_may_take_stays_unused(mode):
    # 20 reserved; shares 0 takes no more, and nobody else is there for the other 80.
    assert allocate(100, [Claim(reservation=20, shares=0)], mode) == [20.0]


@pytest.mark.parametrize("mode", MODES)
def test_a_huge_share_with_a_limit_leaves_the_rest_to_a_small_one(mode):
    # 1e18 shares are held at the limit 10; 90 remain for the single share.
    assert allocate(100, [Claim(limit=10, shares=1e18), Claim(shares=1)], mode) == [10.0, 90.0]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (field, value)
        for field in ("reservation", "limit", "shares", "demand")
        for value in (math.nan, -1.0, -math.inf, "many", 10**400)
    ]
    + [("reservation", math.inf), ("shares", math.inf), ("reservation", None), ("shares", None)],
)
def test_a_bad_number_is_refused_with_its_claim_and_field(field, value):
    with pytest.raises(ValueError, match=rf"^claim 1: {field} is "):
        allocate(100, [Claim(), Claim(**{field: value})], ReservationMode.FLOOR)


@pytest.mark.parametrize("capacity", [math.nan, math.inf, -1.0, -math.inf])
def test_a_bad_capacity_is_refused(capacity):
    with pytest.raises(ValueError, match=r"^capacity is "):
        allocate(capacity, [Claim()], ReservationMode.FLOOR)
