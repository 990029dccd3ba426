"""What-if: entitlement and the past under a candidate, admission, drafts with their grounds."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.advice.registry import answer
from advisor.advice.what_if.decide.what_if_draft import PolicyDraft, changed_controls, draft
from advisor.core.allocation import ReservationMode
from advisor.core.canonical import CanonicalError, dumps, loads
from advisor.core.forecast.backtest import Change
from advisor.core.forecast.past import HistoryWindow
from advisor.core.forecast.what_if import (
    CandidateAllocation,
    StoredWhatIfInputs,
    WhatIfInputs,
    what_if,
)
from advisor.core.grant import Grant
from advisor.core.pools import PoolTerms
from advisor.core.resource import ResourceKind, Unit

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def grant(allocation, *, reservation=0.0, limit=None, shares=1000):
    return Grant(allocation=allocation, reservation=reservation, limit=limit, shares=shares)


def candidate(allocation, before=None, after=None):
    before = before or grant(allocation)
    return CandidateAllocation(
        allocation=allocation,
        workload=f"w{allocation}",
        host="h1",
        before=before,
        after=after or before,
    )


def window(minute, *demands, capacity=100.0):
    return HistoryWindow(
        at=START + timedelta(minutes=minute), window_s=60.0, capacity=capacity, demands=demands
    )


def inputs(*allocations, windows=(), congested=(), **other):
    stated = {
        "capacity": 100.0, "capacity_source": "stated", "capacity_after": 100.0,
        "reservable": 75.0, "enforced": True, "mode": ReservationMode.ADDITIVE,
    }  # fmt: skip
    stored = StoredWhatIfInputs(
        resource="h1/up0",
        kind=ResourceKind.UPLINK,
        unit=Unit.BITS_PER_S,
        began_at=START,
        ended_at=START + timedelta(hours=1),
        allocations=allocations,
        windows=tuple(windows),
        congested=tuple(congested),
        **(stated | other),
    )
    return WhatIfInputs.of(stored)


GREEDY = [window(minute, None, None) for minute in range(1, 11)]


def test_doubled_shares_win_what_the_other_loses():
    # 100 among 1000 : 1000, then among 2000 : 1000
    asked = inputs(
        candidate(1, after=grant(1, shares=2000)),
        candidate(2),
        windows=GREEDY,
        congested=[True] * 10,
    )

    found = what_if(asked)

    assert [row.change for row in found.rows] == [Change.GAINS, Change.LOSES]
    rates = [(row.contended.rate_before, row.contended.rate_after) for row in found.rows]
    assert rates[0] == pytest.approx((50.0, 200 / 3))
    assert rates[1] == pytest.approx((50.0, 100 / 3))
    assert [row.entitlement_after for row in found.rows] == pytest.approx([200 / 3, 100 / 3])


@pytest.mark.parametrize(
    ("enforced", "now", "change"),
    [(False, 10.0, Change.GAINS), (True, 50.0, Change.LOSES)],
    ids=["measured, nothing is enforced", "by the model of the policy"],
)
def test_now_is_what_was_measured_unless_a_policy_is_in_force(enforced, now, change):
    # w1 got 10 of 100 from a neighbour that presses harder; with 500 : 1000 shares it gets 33.
    pressed = replace(candidate(1, after=grant(1, shares=500)), measured=10.0)
    asked = inputs(pressed, candidate(2), windows=GREEDY, congested=[True] * 10, enforced=enforced)

    first = what_if(asked).rows[0]

    assert (first.now, first.change) == (now, change)
    assert first.then == pytest.approx(100 / 3)


def test_quiet_past_is_told_and_entitlement_decides_who_gains():
    asked = inputs(
        candidate(1, after=grant(1, shares=3000)),
        candidate(2),
        windows=[window(1, 10.0, 10.0)],
        congested=[False],
    )

    found = what_if(asked)

    # A window is longer than short congestion in it.
    assert "in no window of 60 s was it congested for half of the time" in found.gap
    assert [row.contended for row in found.rows] == [None, None]
    assert [row.past.rate_after for row in found.rows] == [10.0, 10.0]
    # 100 among 3000 : 1000
    assert [row.entitlement_after for row in found.rows] == pytest.approx([75.0, 25.0])
    assert [row.change for row in found.rows] == [Change.GAINS, Change.LOSES]


def test_limit_throttles_minutes_and_leaves_capacity_idle():
    # w1 wants 80 in 10 min and may do 20: 60 of 100 stay unused while w2 wants 20.
    asked = inputs(
        candidate(1, after=grant(1, limit=20.0)),
        candidate(2),
        windows=[window(minute, 80.0, 20.0) for minute in range(1, 11)],
        congested=[False] * 10,
    )

    found = what_if(asked)

    assert [row.past.throttled_min_after for row in found.rows] == [10.0, 0.0]
    assert found.idle_ratio_before == 0.0
    assert found.idle_ratio_after == pytest.approx(0.6)


def test_reservation_that_did_not_fit_is_unmet_until_the_capacity_grows():
    # 80 reserved of 40 while both want everything; twice the capacity holds it.
    held = grant(1, reservation=80.0)
    asked = inputs(
        candidate(1, before=held),
        candidate(2),
        windows=[window(minute, None, None, capacity=40.0) for minute in range(1, 11)],
        congested=[True] * 10,
        capacity=40.0,
        capacity_after=80.0,
        reservable=80.0,
    )

    found = what_if(asked)

    first = found.rows[0].past
    assert (first.unmet_min_before, first.unmet_min_after) == (10.0, 0.0)


def test_reservations_beyond_what_may_be_reserved_are_refused_by_name():
    asked = inputs(
        candidate(1, after=grant(1, reservation=60.0)),
        candidate(2, after=grant(2, reservation=30.0)),
    )

    found = what_if(asked)

    # 60 of 75 are taken, so 30 more do not fit
    assert found.refused == ("w2",)
    assert found.refusal == (
        "w2 asks for 30.0 bit/s; 15.0 bit/s of 75.0 bit/s that may be reserved is free"
    )


@pytest.mark.parametrize(
    ("change", "gap"),
    [
        ({"windows": (), "congested": ()}, "no samples were stored in that time"),
        ({"gap": "no samples of w2"}, "no samples of w2"),
        (
            {"allocations": (), "windows": (), "congested": ()},
            "no workload has an allocation on it",
        ),
    ],
)
def test_missing_past_has_its_reason(change, gap):
    asked = inputs(candidate(1), candidate(2), windows=GREEDY, congested=[True] * 10)

    other = WhatIfInputs.of(replace(asked.stored(), **change))

    assert what_if(other).gap == gap


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ({"limit": 10.0, "reservation": 20.0}, "limit of w1 is 10"),
        ({"shares": 0}, "shares of w1 is 0"),
        ({"limit": 0.0}, "limit of w1"),
        ({"reservation": float("nan")}, "reservation of w1"),
    ],
)
def test_contradictory_settings_are_refused_by_name(after, words):
    with pytest.raises(ValueError, match=words):
        candidate(1, after=grant(1, **after))


amounts = st.floats(0, 1e9, allow_subnormal=False)


@st.composite
def settings(draw):
    count = draw(st.integers(1, 5))
    demand = st.one_of(st.none(), amounts)
    windows = draw(st.lists(st.tuples(*[demand] * count), max_size=8))

    def one(allocation):
        reservation = draw(amounts)
        return grant(
            allocation,
            reservation=reservation,
            limit=draw(st.none() | st.floats(max(reservation, 1.0), 2e9)),
            shares=draw(st.integers(1, 10_000)),
        )

    return inputs(
        *[candidate(allocation, one(allocation), one(allocation)) for allocation in range(count)],
        windows=[window(place, *row) for place, row in enumerate(windows, start=1)],
        congested=[draw(st.booleans()) for _ in windows],
        mode=draw(st.sampled_from(list(ReservationMode))),
    )


@given(settings())
def test_entitlements_never_exceed_the_capacity_or_a_limit(asked):
    found = what_if(asked)

    assert sum(row.entitlement_after for row in found.rows) <= asked.capacity_after * (1 + 1e-6)
    assert all(
        row.after.limit is None or row.entitlement_after <= row.after.limit * (1 + 1e-6)
        for row in found.rows
    )


@given(settings())
def test_unchanged_settings_change_nothing(asked):
    same = replace(
        asked, allocations=tuple(replace(one, after=one.before) for one in asked.allocations)
    )

    found = what_if(same)

    assert {row.change for row in found.rows} == {Change.SAME}
    assert changed_controls(same) == []


@given(settings())
def test_draft_comes_out_of_its_stored_inputs_byte_for_byte(asked):
    text = dumps(asked)

    first = answer("what_if", text)

    assert first == dumps(draft(loads(WhatIfInputs, text)))
    assert answer("what_if", dumps(loads(WhatIfInputs, text))) == first
    assert 0 <= loads(PolicyDraft, first).confidence.value <= 1


def test_draft_says_what_changes_and_who_gains():
    asked = inputs(
        candidate(1, after=grant(1, shares=2000, limit=80e6)),
        candidate(2),
        windows=[window(minute, None, None, capacity=90e6) for minute in range(1, 61)],
        congested=[True] * 60,
        capacity=90e6,
        capacity_after=90e6,
    )

    found = draft(asked)

    # 90 among 2000 : 1000
    assert found.summary == (
        "Draft for uplink h1/up0: shares of w1 1000 → 2000 and limit of w1 none → 80.0 Mbit/s; "
        "w1 gains (45.0 Mbit/s → at most 60.0 Mbit/s) and w2 loses (45.0 Mbit/s → 30.0 Mbit/s)"
    )
    assert [one.predicted_after for one in found.allocations] == pytest.approx([60e6, 30e6])


def test_confidence_is_low_without_congestion_and_where_demand_is_unknown():
    quiet = inputs(candidate(1), windows=[window(1, 10.0)], congested=[False])
    greedy = inputs(
        candidate(1), candidate(2),
        windows=[window(minute, None, None) for minute in range(1, 361)], congested=[True] * 360,
    )  # fmt: skip

    assert draft(quiet).confidence.value == 0.0
    # 360 windows and 30 congested ones are plenty; every demand is unknown: 1 - 0.5
    assert draft(greedy).confidence.value == 0.5


def test_text_of_something_else_is_refused():
    with pytest.raises(CanonicalError, match="capacity"):
        answer(
            "what_if",
            '{"resource": "x", "kind": "uplink", "unit": "iops", "mode": "floor"}',
        )


def test_confidence_names_congested_windows_and_the_time_of_unknown_demand():
    # 15 of 30 windows are congested; one of two workloads' demands is unknown in all of them.
    asked = inputs(
        candidate(1),
        candidate(2),
        windows=[window(minute, None, 10.0) for minute in range(1, 31)],
        congested=[True] * 15 + [False] * 15,
    )

    parts = {part.name: part for part in draft(asked).confidence.parts}

    assert parts["congestion"].value == 0.5
    assert parts["demand"].value == 0.75
    assert parts["demand"].how.startswith("in 50% of the congested time")


def test_unknown_demand_never_takes_more_than_the_congested_time():
    # A first window of half the length must not make 190 % of the other nine.
    half = replace(window(0, None), window_s=30.0)
    windows = [half, *(window(minute, None) for minute in range(1, 10))]
    asked = inputs(candidate(1), windows=windows, congested=[True] * 10)

    (demand,) = [one for one in draft(asked).confidence.parts if one.name == "demand"]

    assert demand.value == 0.5
    assert demand.how.startswith("in 100% of the congested time")


def test_limit_may_equal_the_reservation():
    one = candidate(1, after=grant(1, limit=20.0, reservation=20.0))

    assert (one.after.limit, one.after.reservation) == (20.0, 20.0)


@pytest.mark.parametrize(("unknown", "words"), [(1, "at most "), (0, "")])
def test_gain_is_the_most_there_may_be_from_one_minute_of_unknown_demand_on(unknown, words):
    # 100 among 1000 : 1000, then among 3000 : 1000, in ten minutes.
    windows = [
        window(minute, None if minute <= unknown else 90.0, None) for minute in range(1, 11)
    ]
    asked = inputs(
        candidate(1, after=grant(1, shares=3000)),
        candidate(2),
        windows=windows,
        congested=[True] * 10,
    )

    assert f"w1 gains (50.0 bit/s → {words}75.0 bit/s)" in draft(asked).summary


THREE_GREEDY = [window(minute, None, None, None) for minute in range(1, 11)]


def pool(*members, reservation=0.0, limit=None, shares=None):
    return PoolTerms(
        pool=1, name="web", reservation=reservation, limit=limit, shares=shares, members=members
    )


def test_limit_of_a_pool_holds_its_members_together_in_the_past():
    # 100 among three of 1000 shares, then two of them have 20 together
    asked = inputs(
        candidate(1), candidate(2), candidate(3),
        windows=THREE_GREEDY, congested=[True] * 10, pools_after=(pool(2, 3, limit=20.0),),
    )  # fmt: skip

    found = what_if(asked)

    assert [row.entitlement_after for row in found.rows] == pytest.approx([80.0, 10.0, 10.0])
    then = [row.contended.rate_after for row in found.rows]
    assert then == pytest.approx([80.0, 10.0, 10.0])
    assert [row.contended.throttled_min_after for row in found.rows] == [0.0, 10.0, 10.0]


def test_pool_in_force_is_what_the_candidate_is_compared_with():
    # Before: 1000 against the pool's 1000 for both members; then each of three has a third.
    asked = inputs(
        candidate(1), candidate(2), candidate(3),
        windows=THREE_GREEDY, congested=[True] * 10, pools_before=(pool(2, 3, shares=1000),),
    )  # fmt: skip

    found = what_if(asked)

    assert [row.now for row in found.rows] == pytest.approx([50.0, 25.0, 25.0])
    assert [row.then for row in found.rows] == pytest.approx([100 / 3] * 3)
    assert changed_controls(asked) == ["no pool web"]


def test_pool_that_reserves_more_than_fits_is_refused():
    asked = inputs(candidate(1), candidate(2), pools_after=(pool(2, reservation=80.0),))

    found = what_if(asked)

    assert found.refused == ("pool web",)
    assert "pool web of w2 (80.0 bit/s reserved, shares of its members)" in changed_controls(asked)


def test_what_members_reserve_counts_within_their_pool():
    # 70 for both members together; beside 70 the 30 that one reserves itself would not fit in 75
    member = candidate(2, after=grant(2, reservation=30.0))
    asked = inputs(candidate(1), member, pools_after=(pool(2, reservation=70.0),))

    assert what_if(asked).refused == ()


def test_members_that_reserve_more_than_their_limit_are_refused():
    member = candidate(2, after=grant(2, reservation=30.0))

    with pytest.raises(ValueError, match="members of pool web reserve 30, and its limit is 20"):
        inputs(candidate(1), member, pools_after=(pool(2, limit=20.0),))


def test_inputs_without_pools_are_stored_as_before():
    assert "pools" not in dumps(inputs(candidate(1)))


def test_pools_are_stored_with_the_inputs():
    asked = inputs(candidate(1), pools_after=(pool(1, limit=20.0),))

    assert loads(WhatIfInputs, dumps(asked)).pools_after == asked.pools_after
