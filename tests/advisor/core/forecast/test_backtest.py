"""Backtests: winners, losers, throttled and unmet minutes, and what was not known."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import Allocation, ReservationMode, entitlements
from advisor.core.forecast.backtest import Change, NoHistory, backtest
from advisor.core.forecast.comparison import Comparison
from advisor.core.forecast.past import HistoryWindow, windows_of
from advisor.core.grant import Grant
from tests.advisor.core.forecast.weeks import history_of

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def grants(*fields):
    defaults = {"reservation": 0.0, "limit": None, "shares": 1000}
    return [Grant(allocation=index, **(defaults | one)) for index, one in enumerate(fields)]


def history(*rows, capacity=100.0):
    """One-minute windows with these demands."""
    return [
        HistoryWindow(
            at=START + timedelta(minutes=index + 1),
            window_s=60.0,
            capacity=capacity,
            demands=tuple(demands),
        )
        for index, demands in enumerate(rows)
    ]


def play(windows, before, after, mode=ReservationMode.ADDITIVE):
    names = [f"w{index}" for index in range(len(before))]
    return backtest(names, windows_of(windows), Comparison(mode=mode, before=before, after=after))


def test_a_reservation_makes_a_winner_and_a_loser():
    # Two greedy workloads for 10 min: 50 : 50 before, 60 + 20 : 20 after.
    windows = history(*[(None, None)] * 10)

    result = play(windows, grants({}, {}), grants({"reservation": 60.0}, {}))

    assert [(w.change, w.rate_before, w.rate_after) for w in result.workloads] == [
        (Change.GAINS, 50.0, 80.0),
        (Change.LOSES, 50.0, 20.0),
    ]
    assert [w.unknown_demand_min for w in result.workloads] == [10.0, 10.0]


def test_minutes_below_a_reservation_are_counted_while_it_is_wanted():
    # 60 of 50 are reserved while both want all of it; in the third minute nobody wants more.
    windows = history((60.0, None), (None, None), (10.0, 10.0), capacity=50.0)

    before = grants({"reservation": 60.0}, {"reservation": 60.0})
    result = play(windows, before, grants({"reservation": 30.0}, {"reservation": 20.0}))

    assert [w.unmet_min_before for w in result.workloads] == [2.0, 2.0]
    assert [w.unmet_min_after for w in result.workloads] == [0.0, 0.0]


def test_minutes_at_an_own_limit_are_counted_and_so_is_what_it_wastes():
    # Alone with a limit of 30 of 100, wanting 80, then 20.
    result = play(history((80.0,), (20.0,)), grants({}), grants({"limit": 30.0}))

    (only,) = result.workloads
    assert (only.throttled_min_before, only.throttled_min_after) == (0.0, 1.0)
    assert (only.rate_before, only.rate_after) == (50.0, 25.0)
    # 70 of 200 capacity minutes were left unused although somebody wanted them.
    assert (result.idle_ratio_before, result.idle_ratio_after) == (0.0, 0.35)


def test_a_policy_that_never_binds_changes_nothing():
    result = play(history((20.0, 30.0)), grants({}, {}), grants({"shares": 4000}, {}))

    assert {w.change for w in result.workloads} == {Change.SAME}


@st.composite
def cases(draw):
    count = draw(st.integers(1, 4))
    amount = st.just(0.0) | st.floats(1, 100)
    policy = st.lists(
        st.fixed_dictionaries(
            {
                "reservation": amount,
                "limit": st.none() | st.floats(1, 100),
                "shares": st.integers(1, 4000),
            }
        ),
        min_size=count,
        max_size=count,
    )
    rows = st.lists(
        st.lists(st.none() | amount, min_size=count, max_size=count), min_size=1, max_size=6
    )
    return draw(rows), grants(*draw(policy)), grants(*draw(policy))


@given(cases(), st.sampled_from(ReservationMode))
def test_each_window_is_played_as_the_solver_would(case, mode):
    rows, before, after = case

    result = play(history(*rows), before, after, mode)

    singly = [
        entitlements(
            100.0,
            [
                Allocation(g.reservation, g.limit, g.shares, d)
                for g, d in zip(after, row, strict=True)
            ],
            mode,
        )
        for row in rows
    ]
    expected = [sum(rates) / len(rows) for rates in zip(*singly, strict=True)]
    assert [w.rate_after for w in result.workloads] == pytest.approx(expected)


@given(cases(), st.sampled_from(ReservationMode))
def test_a_policy_against_itself_changes_nobody(case, mode):
    rows, policy, _ = case

    result = play(history(*rows), policy, policy, mode)

    assert {w.change for w in result.workloads} == {Change.SAME}
    assert result.idle_ratio_before == result.idle_ratio_after


@pytest.mark.slow
def test_a_week_of_ten_second_windows_is_played_at_once():
    # 60,480 windows of 3 workloads; every second one wants everything.
    windows = [
        HistoryWindow(
            at=START + timedelta(seconds=10 * index),
            window_s=10.0,
            capacity=90.0,
            demands=(None, 10.0, None) if index % 2 else (10.0, 10.0, 10.0),
        )
        for index in range(60_480)
    ]

    result = play(windows, grants({}, {}, {}), grants({"shares": 3000}, {}, {}))

    # 10 and 40 in turn before, 10 and 60 after.
    assert result.workloads[0].rate_before == pytest.approx(25.0)
    assert result.workloads[0].rate_after == pytest.approx(35.0)


def test_history_knows_demand_where_nothing_was_short():
    ends = [START + timedelta(minutes=minute) for minute in (1, 2)]
    rates = np.array([[20.0, np.nan], [40.0, 50.0]])
    backlogged = np.array([[np.nan, np.nan], [1.0, 0.0]])

    windows = history_of(
        ends, rates, backlogged, window_s=60.0, capacity=100.0, congested=[False, True]
    )

    assert [(w.at, w.capacity, w.demands) for w in windows] == [
        (ends[0], 100.0, (20.0, 0.0)),
        (ends[1], 90.0, (None, 50.0)),
    ]


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        # The median of those that send is 40: from half of it on, more may be wanted.
        ((40.0, 20.0, 60.0), (None, None, None)),
        ((40.0, 19.0, 60.0), (None, 19.0, None)),
        ((40.0, 0.0, 60.0), (None, 0.0, None)),
    ],
)
def test_demand_without_queues_is_unknown_of_who_keeps_up(rates, expected):
    (window,) = history_of(
        [START],
        np.array([rates]),
        np.full((1, 3), np.nan),
        window_s=60.0,
        capacity=100.0,
        congested=[True],
    )

    assert window.demands == expected


@pytest.mark.parametrize(
    ("windows", "names", "reason"),
    [([], ["a"], "no windows"), (history(()), [], "no workloads")],
)
def test_nothing_to_play_is_said(windows, names, reason):
    policy = grants(*({} for _ in names))

    result = backtest(
        names,
        windows_of(windows),
        Comparison(mode=ReservationMode.FLOOR, before=policy, after=policy),
    )

    assert result == NoHistory(reason=reason)


@pytest.mark.parametrize(
    ("names", "row", "message"),
    [
        (["a"], (1.0, 2.0), "one grant per workload"),
        (["a", "b"], (1.0,), "one demand per workload"),
    ],
)
def test_rows_that_do_not_match_the_workloads_are_refused(names, row, message):
    policies = Comparison(mode=ReservationMode.FLOOR, before=grants({}, {}), after=grants({}, {}))

    with pytest.raises(ValueError, match=message):
        backtest(names, windows_of(history(row)), policies)


def test_policies_of_different_length_are_refused():
    with pytest.raises(ValueError, match="one grant per workload"):
        Comparison(mode=ReservationMode.FLOOR, before=grants({}, {}), after=grants({}))


@pytest.mark.parametrize("ratio", [0.0, -1.0, math.nan, math.inf])
def test_impossible_capacity_of_the_candidate_is_refused(ratio):
    with pytest.raises(ValueError, match="capacity_ratio"):
        Comparison(mode=ReservationMode.FLOOR, before=[], after=[], capacity_ratio=ratio)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_an_impossible_demand_is_refused(value):
    with pytest.raises(ValueError, match=r"^demand is "):
        history((value,))
