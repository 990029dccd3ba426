"""Latency under two policies: Little's law by hand, starvation, and what was not measured."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import ReservationMode
from advisor.core.forecast.comparison import Comparison
from advisor.core.forecast.latency_backtest import latency_backtest
from advisor.core.forecast.past import HistoryWindow, windows_of
from advisor.core.grant import Grant

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
NAMES = ["db", "batch"]


def grants(*shares, limit=None):
    return [
        Grant(allocation=index, reservation=0.0, limit=limit if index else None, shares=one)
        for index, one in enumerate(shares)
    ]


def play(windows, outstanding, before, after):
    policies = Comparison(mode=ReservationMode.FLOOR, before=before, after=after)
    return latency_backtest(NAMES, windows_of(windows), outstanding, policies)


def history(count, demands, *, capacity=1000.0):
    return [
        HistoryWindow(
            at=START + timedelta(minutes=index),
            window_s=60.0,
            capacity=capacity,
            demands=demands,
        )
        for index in range(count)
    ]


def test_shares_move_latency_from_one_workload_to_the_other():
    # 1000 IOPS at 1:1 are 500 each: 10 / 500 = 20 ms and 30 / 500 = 60 ms.
    # At 4:1 they are 800 and 200: 10 / 800 = 12.5 ms and 30 / 200 = 150 ms.
    windows = history(60, (None, None))

    db, batch = play(windows, [(10.0, 30.0)] * 60, grants(1000, 1000), grants(2000, 500))

    assert (db.p95_before_ms, db.p95_after_ms) == (20.0, 12.5)
    assert (batch.p95_before_ms, batch.p95_after_ms) == (60.0, 150.0)


def test_the_percentile_counts_ios_not_windows():
    # 57 idle minutes of 1 I/O/s at 1 ms and 3 busy ones of 1000 I/O/s at 10 ms: nearly all I/Os
    # waited 10 ms.
    windows = history(57, (1.0, 0.0)) + history(3, (1000.0, 0.0))
    outstanding = [(0.001, 0.0)] * 57 + [(10.0, 0.0)] * 3

    db, _ = play(windows, outstanding, grants(1, 1), grants(1, 1))

    assert db.p95_before_ms == 10.0


def test_a_limit_of_zero_starves_and_is_counted_as_such():
    windows = history(40, (None, None))

    _, batch = play(windows, [(10.0, 10.0)] * 40, grants(1, 1), grants(1, 1, limit=0.0))

    assert batch.p95_after_ms is None
    assert (batch.starved_min_before, batch.starved_min_after) == (0.0, 40.0)


def test_too_few_measured_windows_give_no_latency():
    windows = history(40, (None, None))
    outstanding = [(10.0, None)] * 20 + [(None, 10.0)] * 20

    db, _ = play(windows, outstanding, grants(1, 1), grants(2, 1))

    assert (db.p95_before_ms, db.windows) == (None, 20)


amounts = st.none() | st.floats(0, 1e6)


@given(
    st.lists(st.tuples(amounts, amounts, amounts, amounts, st.floats(0, 1e6)), max_size=60),
    st.integers(1, 4000),
    st.integers(1, 4000),
)
def test_the_same_policy_twice_changes_nothing(rows, one, other):
    windows = [
        HistoryWindow(at=START, window_s=60.0, capacity=row[4], demands=row[:2]) for row in rows
    ]

    result = play(windows, [row[2:4] for row in rows], grants(one, other), grants(one, other))

    assert [name.workload for name in result] == NAMES
    for each in result:
        assert each.p95_before_ms == each.p95_after_ms
        assert each.starved_min_before == each.starved_min_after


@pytest.mark.parametrize(
    ("outstanding", "complaint"),
    [
        ([(1.0, 1.0)], "a row of outstanding"),
        ([(1.0,)] * 2, "one number outstanding each"),
        ([(1.0, -1.0)] * 2, "^outstanding is -1.0"),
    ],
    ids=["a row missing", "a number missing", "negative"],
)
def test_what_does_not_fit_the_windows_is_refused(outstanding, complaint):
    with pytest.raises(ValueError, match=complaint):
        play(history(2, (None, None)), outstanding, grants(1, 1), grants(1, 1))
