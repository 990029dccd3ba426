"""Verdicts: what was promised, what was measured, and whether more was wanted."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.compliance import (
    Measured,
    Promise,
    Verdict,
    beside_host,
    judge,
    wants_more,
)
from advisor.core.resource import Unit

MBIT = 1e6
# NetIOC study, step a at 1:10: 75 reserved, 75 + 19/3 entitled of 94 Mbit/s.
WEB = Promise(reservation=75 * MBIT, limit=None, entitlement=(75 + 19 / 3) * MBIT)
LIMITED = Promise(reservation=0.0, limit=20 * MBIT, entitlement=20 * MBIT)
SMALL = Promise(reservation=0.0, limit=None, entitlement=19 / 3 * MBIT)


def verdict(promise, mbit, *, samples=10, backlogged=10):
    measured = Measured(
        rate=None if mbit is None else mbit * MBIT,
        sample_count=samples,
        backlogged_samples=backlogged,
    )
    return judge(promise, measured, capacity=94 * MBIT, unit=Unit.BITS_PER_S)


@pytest.mark.parametrize(
    ("promise", "mbit", "backlogged", "expected"),
    [
        (WEB, 80.6, 10, Verdict.MET),
        (WEB, 79.0, 10, Verdict.MET),  # 3 % of the link below 81.3 is 78.5.
        (WEB, 76.0, 10, Verdict.OVER_THROTTLED),
        (WEB, 71.0, 10, Verdict.RESERVATION_UNMET),
        (WEB, 71.0, 0, Verdict.NO_DEMAND),
        (WEB, 71.0, 3, Verdict.UNKNOWN),
        (WEB, 71.0, None, Verdict.UNKNOWN),
        (WEB, 0.0, 10, Verdict.RESERVATION_UNMET),
        (WEB, 0.0, 0, Verdict.NO_DEMAND),
        (WEB, None, None, Verdict.UNKNOWN),
        (LIMITED, 19.13, 10, Verdict.MET),
        (LIMITED, 20.9, 10, Verdict.MET),
        (LIMITED, 21.1, 10, Verdict.LIMIT_EXCEEDED),
        (LIMITED, 94.0, 0, Verdict.LIMIT_EXCEEDED),
        (LIMITED, 5.0, 10, Verdict.OVER_THROTTLED),
        (LIMITED, 5.0, 0, Verdict.NO_DEMAND),
        (LIMITED, 0.0, 0, Verdict.NO_DEMAND),
        (SMALL, 6.7, 10, Verdict.MET),
        (SMALL, 0.0, None, Verdict.UNKNOWN),
    ],
)
def test_a_measured_rate_gets_the_verdict(promise, mbit, backlogged, expected):
    assert verdict(promise, mbit, backlogged=backlogged).verdict is expected


@pytest.mark.parametrize("samples", [0, 1, 2])
def test_too_few_samples_are_unknown_with_how_many_are_needed(samples):
    result = verdict(WEB, 80.0, samples=samples, backlogged=samples)

    assert result.verdict is Verdict.UNKNOWN
    assert result.reason == f"{samples} samples, 3 are needed"


def test_a_breach_says_what_was_measured_and_what_was_promised():
    reason = verdict(WEB, 31.2).reason

    assert reason == "got 31.2 Mbit/s, below the reservation 75.0 Mbit/s, and wanted more"


def test_a_reservation_above_the_limit_promises_the_limit():
    promise = Promise(reservation=50 * MBIT, limit=20 * MBIT, entitlement=20 * MBIT)

    assert verdict(promise, 19.5).verdict is Verdict.MET


@given(st.floats(0, 1e9), st.floats(0, 1e9), st.integers(3, 50), st.data())
def test_who_wanted_no_more_is_never_short(reservation, rate, samples, data):
    backlogged = data.draw(st.integers(0, samples // 10))
    promise = Promise(reservation=reservation, limit=None, entitlement=reservation)
    measured = Measured(rate=rate, sample_count=samples, backlogged_samples=backlogged)

    result = judge(promise, measured, capacity=1e9, unit=Unit.IOPS)

    assert result.verdict in {Verdict.MET, Verdict.NO_DEMAND}


@given(st.floats(1, 1e9), st.floats(0, 1e9), st.integers(3, 50))
def test_more_rate_within_the_limit_never_makes_a_breach(reservation, extra, samples):
    promise = Promise(reservation=reservation, limit=None, entitlement=reservation)
    measured = Measured(rate=reservation + extra, sample_count=samples, backlogged_samples=samples)

    assert judge(promise, measured, capacity=1e9, unit=Unit.IOPS).verdict is Verdict.MET


@pytest.mark.parametrize(
    ("backlogged", "expected"), [(None, None), (0, False), (1, False), (3, None), (5, True)]
)
def test_a_queue_that_comes_and_goes_proves_nothing(backlogged, expected):
    measured = Measured(rate=1.0, sample_count=10, backlogged_samples=backlogged)

    assert wants_more(measured) is expected


@pytest.mark.parametrize("capacity", [0.0, -1.0, math.nan])
def test_an_impossible_capacity_is_refused(capacity):
    with pytest.raises(ValueError, match=r"^capacity is "):
        judge(WEB, Measured(rate=1.0, sample_count=9), capacity=capacity, unit=Unit.IOPS)


def test_entitlements_shrink_above_the_reservations_beside_the_host() -> None:
    # 9.4 of 94 Mbit/s are the host's: 75 stay reserved, the three parts of 19/3 become 3.2 each.
    shrunk = beside_host([WEB, SMALL, SMALL], 84.6 * MBIT)

    assert [item.entitlement / MBIT for item in shrunk] == pytest.approx([78.2, 3.2, 3.2])
    assert [item.reservation / MBIT for item in shrunk] == [75, 0, 0]
    assert verdict(shrunk[0], 74.2).verdict is Verdict.OVER_THROTTLED  # 5 % below is 74.29.
    assert verdict(shrunk[0], 74.2).reason == (
        "got 74.2 Mbit/s, below the entitlement 78.2 Mbit/s beside the host's own traffic, "
        "and wanted more"
    )


def test_reservations_beyond_the_room_leave_nothing_above_them():
    # 5 are reserved of 3.
    (left,) = beside_host([Promise(reservation=5.0, limit=None, entitlement=10.0)], 3.0)

    assert (left.reservation, left.entitlement) == (5.0, 5.0)


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)), max_size=6), st.floats(0, 6e9))
def test_entitlements_beside_the_host_fit_unless_reservations_do_not(amounts, room):
    promises = [
        Promise(reservation=reservation, limit=None, entitlement=reservation + above)
        for reservation, above in amounts
    ]

    left = beside_host(promises, room)

    reserved = sum(reservation for reservation, _ in amounts)
    whole = sum(item.entitlement for item in promises)
    most = min(whole, max(room, reserved))
    assert sum(item.entitlement for item in left) == pytest.approx(most, rel=1e-9, abs=1e-3)
    assert all(
        item.reservation - 1e-3 <= item.entitlement <= given.entitlement
        for item, given in zip(left, promises, strict=True)
    )
