"""Pools in the solver: against a plain search for the level, and what holds whatever is asked."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import Allocation, ReservationMode, entitlements
from advisor.core.pooled import PoolPlaces, pooled_entitlements, solve_pooled

RELATIVE = 1e-9
CLOSE = 1e-6

amounts = st.one_of(st.just(0.0), st.floats(1e-1, 1e3))
shares = st.floats(1e-1, 1e3)
modes = st.sampled_from(ReservationMode)


@st.composite
def allocations(draw):
    return Allocation(
        reservation=draw(amounts),
        limit=draw(st.none() | amounts),
        shares=draw(shares),
        demand=draw(st.none() | amounts),
    )


@st.composite
def pooled(draw):
    """Allocations, and up to three pools of some of them."""
    found = draw(st.lists(allocations(), min_size=1, max_size=8))
    which = draw(
        st.lists(st.integers(0, 3), min_size=len(found), max_size=len(found)),
    )
    pools = []
    for number in range(3):
        places = tuple(place for place, pool in enumerate(which) if pool == number)
        if places:
            limit = draw(st.none() | st.floats(1e-1, 1e3))
            most = 1e3 if limit is None else limit
            pools.append(
                PoolPlaces(
                    places=places,
                    reservation=draw(st.just(0.0) | st.floats(0.0, most)),
                    limit=limit,
                    shares=draw(st.none() | st.integers(1, 1000)),
                )
            )
    return found, pools


scenes = st.tuples(st.floats(1.0, 5e3), pooled(), modes)


def cap_of(one):
    return min(math.inf if bound is None else bound for bound in (one.limit, one.demand))


def bounds_of(pool, found):
    """The least and the most of a pool together."""
    members = [found[place] for place in pool.places]
    takes = sum(cap_of(one) for one in members)
    most = takes if pool.limit is None else min(pool.limit, takes)
    inside = sum(min(one.reservation, cap_of(one)) for one in members)
    return min(max(pool.reservation, inside), most), most


def reserved_by(found, pools):
    """What all together reserve and can take, a pool as one."""
    inside = {place for pool in pools for place in pool.places}
    alone = [one for place, one in enumerate(found) if place not in inside]
    return sum(min(one.reservation, cap_of(one)) for one in alone) + sum(
        bounds_of(pool, found)[0] for pool in pools
    )


def stated_by(found, pools):
    """What all together reserve, whether they can take it or not, a pool as one."""
    inside = {place for pool in pools for place in pool.places}
    return sum(one.reservation for place, one in enumerate(found) if place not in inside) + sum(
        stated_of(pool, found) for pool in pools
    )


def stated_of(pool, found):
    members = [found[place] for place in pool.places]
    return max(pool.reservation, sum(min(one.reservation, cap_of(one)) for one in members))


def total(pool, result):
    return sum(result[place] for place in pool.places)


def plain(capacity, found, mode, pools):
    """The same by search for the level, claimant by claimant; reservations must fit."""

    def at(level):
        got = [alone(one, level) for one in found]
        totals = []
        for pool in pools:
            least, most = bounds_of(pool, found)
            if pool.shares is not None:
                more = pool.shares * level
                wanted = least + more if mode is ReservationMode.ADDITIVE else more
            else:
                wanted = sum(got[place] for place in pool.places)
                inside = sum(min(found[place].reservation, cap_of(found[place]))
                             for place in pool.places)  # fmt: skip
                if mode is ReservationMode.ADDITIVE:
                    wanted += max(least - inside, 0.0)
            totals.append(min(max(wanted, least), most))
        return got, totals

    def alone(one, level):
        cap = cap_of(one)
        floor = min(one.reservation, cap)
        more = one.shares * level
        return min(floor + more if mode is ReservationMode.ADDITIVE else max(more, floor), cap)

    outside = set(range(len(found))) - {place for pool in pools for place in pool.places}
    low, high = 0.0, 1e6
    for _ in range(200):
        level = (low + high) / 2
        got, totals = at(level)
        if sum(totals) + sum(got[place] for place in outside) < capacity:
            low = level
        else:
            high = level
    got, totals = at(low)
    for pool, whole in zip(pools, totals, strict=True):
        inner = entitlements(whole, [found[place] for place in pool.places], mode)
        for place, amount in zip(pool.places, inner, strict=True):
            got[place] = amount
    return got


@given(scenes)
def test_what_each_gets_is_what_the_search_finds(scene):
    capacity, (found, pools), mode = scene
    capacity += reserved_by(found, pools)

    result = pooled_entitlements(capacity, found, mode, pools)

    assert result == pytest.approx(plain(capacity, found, mode, pools), rel=CLOSE, abs=CLOSE)


@given(scenes)
def test_pools_that_ask_for_nothing_change_nothing_where_reservations_fit(scene):
    capacity, (found, pools), mode = scene
    capacity += reserved_by(found, [])
    idle = [
        PoolPlaces(places=pool.places, reservation=0.0, limit=None, shares=None) for pool in pools
    ]

    result = pooled_entitlements(capacity, found, mode, idle)

    flat = entitlements(capacity, found, mode)
    assert result == pytest.approx(flat, rel=RELATIVE, abs=RELATIVE * capacity)


@given(scenes)
def test_nobody_gets_more_than_limits_and_demand_allow(scene):
    capacity, (found, pools), mode = scene

    result = pooled_entitlements(capacity, found, mode, pools)

    assert sum(result) <= capacity * (1 + RELATIVE)
    for amount, one in zip(result, found, strict=True):
        assert 0 <= amount <= cap_of(one)
    for pool in pools:
        assert total(pool, result) <= bounds_of(pool, found)[1] + RELATIVE * capacity


@given(scenes)
def test_pool_gets_what_is_reserved_for_it_and_nothing_is_left_that_anybody_can_take(scene):
    capacity, (found, pools), mode = scene
    inside = {place for pool in pools for place in pool.places}
    alone = [one for place, one in enumerate(found) if place not in inside]
    bounds = [bounds_of(pool, found) for pool in pools]
    stated = stated_by(found, pools)
    takes = sum(map(cap_of, alone)) + sum(most for _, most in bounds)

    result = pooled_entitlements(capacity, found, mode, pools)

    slack = RELATIVE * capacity
    assert sum(result) == pytest.approx(min(capacity, takes), rel=RELATIVE, abs=slack)
    for pool, (least, _) in zip(pools, bounds, strict=True):
        due = min(least, stated_of(pool, found) * capacity / stated) if stated else 0.0
        assert total(pool, result) >= due - slack


def test_reservations_that_do_not_fit_are_scaled_as_stated_however_little_a_pool_wants():
    """20 are reserved of 5: each 10 stand for 2.5; the pool wants 3 of its 10."""
    member = Allocation(reservation=0.0, limit=None, shares=1.0, demand=3.0)
    alone = Allocation(reservation=10.0, limit=None, shares=1.0, demand=None)
    pool = PoolPlaces(places=(0,), reservation=10.0, limit=None, shares=None)

    result = pooled_entitlements(5.0, [member, alone], ReservationMode.FLOOR, [pool])

    assert result == pytest.approx([2.5, 2.5])


@given(st.lists(st.floats(1.0, 5e3), min_size=2, max_size=5), pooled(), modes)
def test_windows_that_are_solved_at_once_get_what_each_gets_alone(capacities, scene, mode):
    found, pools = scene
    shape = (len(capacities), len(found))
    columns = [
        np.broadcast_to(np.array([value(one) for one in found]), shape)
        for value in (lambda one: one.reservation, cap_of, lambda one: one.shares)
    ]

    together = solve_pooled(np.array(capacities), *columns, mode=mode, pools=pools)

    for row, capacity in zip(together, capacities, strict=True):
        assert row.tolist() == pytest.approx(
            pooled_entitlements(capacity, found, mode, pools),
            rel=RELATIVE,
            abs=RELATIVE * capacity,
        )


def test_pool_with_shares_counts_once_however_many_are_in_it():
    # 90 among 1000 : 1000, and the pool's half among its three members
    found = [Allocation(shares=1000)] * 4
    pool = PoolPlaces(places=(1, 2, 3), reservation=0.0, limit=None, shares=1000)

    result = pooled_entitlements(90.0, found, ReservationMode.ADDITIVE, [pool])

    assert result == pytest.approx([45.0, 15.0, 15.0, 15.0])


def test_reservation_of_a_pool_is_for_who_of_it_wants_it():
    # 60 are for the pool; one member wants all, the other nothing. Above it 40 in halves.
    found = [Allocation(shares=1000), Allocation(shares=1000), Allocation(shares=1000, demand=0.0)]
    pool = PoolPlaces(places=(1, 2), reservation=60.0, limit=None, shares=1000)

    result = pooled_entitlements(100.0, found, ReservationMode.ADDITIVE, [pool])

    assert result == pytest.approx([20.0, 80.0, 0.0])


def test_what_a_limited_pool_leaves_goes_to_the_others():
    found = [Allocation(shares=1000), Allocation(shares=1000), Allocation(shares=1000)]
    pool = PoolPlaces(places=(1, 2), reservation=0.0, limit=20.0, shares=None)

    result = pooled_entitlements(100.0, found, ReservationMode.ADDITIVE, [pool])

    assert result == pytest.approx([80.0, 10.0, 10.0])
