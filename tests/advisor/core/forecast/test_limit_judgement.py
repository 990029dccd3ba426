"""Limits before the past: throttled less than a hundredth, others better by a twentieth."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import ReservationMode
from advisor.core.forecast.backtest import Change
from advisor.core.forecast.comparison import Comparison
from advisor.core.forecast.counterfactual import counterfactual
from tests.advisor.core.forecast.weeks import ALLOCATIONS, grants, judged, week


def test_limit_that_frees_a_crowded_hour_of_a_week_is_allowed():
    # One of 168 hours is 0.60 %. Of 1,000 the batch job keeps 250, and 750 go to those who got
    # 200 and 100 in that proportion: 500 and 250. As much outstanding at 2.5 times the rate is
    # 20 ms / 2.5 = 8 ms, 60 % less.
    verdict = judged(week())

    assert verdict.allowed
    assert verdict.reason == (
        "batch would be throttled 0.60% of the 7.0 days simulated, and in congestion the others' "
        "p95 latency would fall by 60.0%; 5% are needed"
    )


def test_limit_without_latency_is_judged_by_the_rates_of_the_others():
    # 200 + 100 become 750
    verdict = judged(week(latency_ms=None))

    assert verdict.allowed
    assert "the others' rates could rise by 150.0%" in verdict.reason


@pytest.mark.parametrize(
    ("past", "limit", "words"),
    [
        # 2 of 168 hours are 1.19 %
        (
            week(calm_hours=166, busy_minutes=120),
            250.0,
            "batch would be throttled 1.19% of the 7.0 days simulated; less than 1% is allowed",
        ),
        # The others wanted no more than they got, so what the limit frees helps nobody.
        (week(wanted=(200.0, 100.0, None)), 250.0, "p95 latency would not change; 5%"),
        # 700 to 690: 10 more for 300 are 3.3 %, so latency falls by 1 - 300/310.
        (week(), 690.0, "p95 latency would fall by 3.2%; 5% are needed"),
        (week(calm_hours=20), 250.0, "21.0 h of the past week are stored; 24 h are needed"),
        (
            week(busy_minutes=0),
            250.0,
            "no window of the 7.0 days simulated shows the congestion",
        ),
        (
            replace(week(calm_hours=0, busy_minutes=0), gap="no samples of db in that time"),
            250.0,
            "no samples of db in that time; 24 h are needed",
        ),
    ],
    ids=["throttles too long", "helps nobody", "helps too little", "short", "calm", "silent"],
)
def test_limit_that_the_past_does_not_bear_out_is_refused_with_its_number(past, limit, words):
    verdict = judged(past, limit=limit)

    assert not verdict.allowed
    assert words in verdict.reason


def test_what_pressed_is_played_as_it_was_measured():
    past = week()

    policies = Comparison(
        mode=ReservationMode.FLOOR, before=grants(), after=grants(limit=250.0),
        before_as_measured=True, after_as_pressed=True,
    )  # fmt: skip
    found = counterfactual(ALLOCATIONS, past, policies)

    # Minutes of one hour among windows of whole hours: time is told, not their number.
    assert (found.hours, found.congested_hours) == (168.0, 1.0)
    assert (found.windows, found.congested_windows) == (227, 60)
    contended = [one.contended for one in found.allocations]
    assert [one.rate_before for one in contended] == pytest.approx([200, 100, 700])
    assert [one.rate_after for one in contended] == pytest.approx([500, 250, 250])
    assert [one.change for one in found.allocations] == [Change.GAINS, Change.GAINS, Change.LOSES]
    # 60 minutes at its limit, and no minute more
    assert [one.past.throttled_min_after for one in found.allocations] == [0.0, 0.0, 60.0]
    assert found.of(Change.LOSES)[0].workload == "batch"


amounts = st.floats(0, 1e18)


@given(
    hours=st.integers(0, 200),
    minutes=st.integers(0, 300),
    busy=st.tuples(*[amounts] * 3),
    wanted=st.tuples(*[st.none() | amounts] * 3),
    latency_ms=st.none() | amounts,
    limit=st.floats(1e-9, 1e18),
)
def test_verdict_has_numbers_whatever_the_week(*, hours, minutes, limit, **happened):
    verdict = judged(week(calm_hours=hours, busy_minutes=minutes, **happened), limit=limit)

    assert verdict.reason
    assert "nan" not in verdict.reason
    assert "inf" not in verdict.reason
