"""Admission: the 75 % rule, who is refused, and sums that fit exactly."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.admission import (
    RequestedReservation,
    admit,
    refusal_text,
    reservable_in_pool,
    reservable_on_host,
)

reservations = st.lists(st.floats(0, 1e6), max_size=12)


def allocations(*amounts):
    return [
        RequestedReservation(workload=f"VM{i}", reservation=r)
        for i, r in enumerate(amounts, start=1)
    ]


@given(st.floats(0, 1e6), reservations)
def test_admitted_reservations_never_exceed_what_may_be_reserved(reservable, amounts):
    result = admit(reservable, allocations(*amounts))

    assert result.reserved <= reservable * (1 + 1e-9)


@given(st.floats(0, 1e6), reservations)
def test_everybody_is_admitted_exactly_where_all_fit(reservable, amounts):
    result = admit(reservable, allocations(*amounts))

    if sum(amounts) <= reservable:
        assert result.admitted
    if sum(amounts) > reservable * (1 + 1e-6):
        assert not result.admitted


@given(st.floats(0, 1e6), reservations)
def test_a_refused_allocation_really_does_not_fit_beside_the_admitted(reservable, amounts):
    result = admit(reservable, allocations(*amounts))

    by_name = {allocation.workload: allocation.reservation for allocation in allocations(*amounts)}
    assert all(result.reserved + by_name[name] > reservable for name in result.refused)


def test_admission_plays_the_reference_placement(placement_vector):
    reservable = reservable_on_host([placement_vector["uplink"]])

    for step in placement_vector["steps"]:
        asked = [
            RequestedReservation(workload=name, reservation=amount)
            for name, amount in step["res"].items()
        ]
        moved = {"VM2", "VM3"} & set(step["res"])
        # Until it moves, the newest reservation lies beside VM1 on the first host.
        newest = asked[-1].workload
        here = [allocation for allocation in asked if allocation.workload not in moved - {newest}]
        result = admit(reservable, here)
        assert (not result.admitted) is step["fault"]
        assert result.refused == ((newest,) if step["fault"] else ())


def test_the_second_host_takes_both_moved_workloads_exactly(placement_vector):
    last = placement_vector["steps"][-1]["res"]
    there = [
        RequestedReservation(workload=name, reservation=last[name]) for name in ("VM2", "VM3")
    ]

    result = admit(reservable_on_host([placement_vector["uplink"]]), there)

    assert result.admitted
    assert result.reserved == 7.5


def test_a_full_pool_refuses_any_further_reservation(placement_vector):
    pool = reservable_in_pool([placement_vector["uplink"]] * 2)
    taken = [
        RequestedReservation(workload=name, reservation=amount)
        for name, amount in placement_vector["steps"][-1]["res"].items()
    ]
    further = RequestedReservation(workload="VM4", reservation=0.1)

    result = admit(pool, [*taken, further])

    assert pool == placement_vector["pool"]
    assert result.refused == ("VM4",)


def test_a_refusal_says_in_units_who_asks_for_how_much() -> None:
    names = ("a", "b", "c", "d", "e")
    asked = [RequestedReservation(workload=name, reservation=4e9) for name in names]

    found = refusal_text(admit(7.5e9, asked), asked, "bits_per_s")

    # 4 of 7.5 Gbit/s are admitted for a, and 3.5 are left.
    assert found == (
        "b asks for 4.00 Gbit/s, c asks for 4.00 Gbit/s, d asks for 4.00 Gbit/s +1 more; "
        "3.50 Gbit/s of 7.50 Gbit/s that may be reserved is free"
    )


@pytest.mark.parametrize(
    ("amounts", "refused"),
    [((0.1,) * 75, ()), ((0.1,) * 75 + (1e-6,), ("VM76",))],
    ids=["fits but for rounding", "one more"],
)
def test_sums_that_differ_by_rounding_fit(amounts, refused):
    # 75 times 0.1 is 7.4999999999999964 or 7.500000000000002, by the order of adding.
    assert admit(7.5, allocations(*amounts)).refused == refused


def test_the_smallest_uplink_of_a_host_decides():
    assert reservable_on_host([10.0, 25.0]) == 7.5


def test_a_host_without_an_uplink_can_reserve_nothing():
    assert admit(reservable_on_host([]), allocations(1.0)).refused == ("VM1",)


def test_a_smaller_allocation_behind_a_refused_one_may_still_fit():
    assert admit(10.0, allocations(8.0, 5.0, 2.0)).refused == ("VM2",)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_an_impossible_reservation_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"^reservation of VM1 is "):
        allocations(value)
