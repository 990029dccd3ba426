"""Limits: recommended last, where the past week bears them out, and told where it does not."""

from dataclasses import replace

import pytest

from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import RecommendationKind
from advisor.advice.policy.decide.policy_inputs import NO_PAST
from advisor.core.explanation.answer import AdviceOutcome
from advisor.core.forecast.backtest import Change
from tests.advisor.advice.policy.contended_resources import crowded, incident, steady
from tests.advisor.core.forecast.weeks import week


def test_a_limit_is_recommended_only_once_shares_are_in_force_and_did_not_help():
    inputs = crowded(week())

    without, enforced = advise(replace(inputs, in_force=())), advise(inputs)

    assert without.kind is RecommendationKind.SHARES
    assert enforced.kind is RecommendationKind.LIMIT
    # A limit is not weighed against limits, shares are.
    assert [one.name for one in enforced.alternatives] == ["do nothing"]
    assert "limit batch" in [one.name for one in without.alternatives]
    # 1.15 · 200 · (1 + 1/20) = 241.5, to three digits.
    limits = [row.limit for row in enforced.allocations]
    assert limits == [None, None, pytest.approx(242, abs=1)]
    assert enforced.summary.startswith("Limit batch to 24")
    # Of 1,000 the others get 758 or so instead of 300: latency falls by 1 - 300/758.
    assert "the others' p95 latency would fall by 60." in enforced.justification


@pytest.mark.parametrize(
    "batch",
    [
        {"usual": None},
        {"usual": steady(200.0, span_days=0.1)},
        {"reservation": 50.0},
    ],
    ids=["usual rate unknown", "history so short that the limit would not bind", "reserved"],
)
def test_no_limit_is_recommended_without_its_justification(batch):
    inputs = crowded(week(), **batch)
    force = tuple(
        replace(grant, reservation=allocation.reservation)
        for grant, allocation in zip(inputs.in_force, inputs.allocations, strict=True)
    )

    advice = advise(replace(inputs, in_force=force))

    assert advice.outcome is AdviceOutcome.NO_CHANGE
    assert "in force" in advice.summary
    assert advice.alternatives == ()


@pytest.mark.parametrize(
    ("past", "words"),
    [
        # 120 of 167 · 60 + 120 minutes.
        (week(busy_minutes=120), "would be throttled 1.18% of the 7.0 days"),
        (week(calm_hours=3), "4.0 h of the past week are stored; 24 h are needed"),
        (NO_PAST, "no history was looked at; 24 h are needed"),
    ],
    ids=["throttled too long", "short past", "no past"],
)
def test_a_limit_that_the_week_does_not_bear_out_is_told_among_what_was_tried(past, words):
    advice = advise(crowded(past))

    assert advice.outcome is AdviceOutcome.NO_CHANGE
    (tried,) = advice.alternatives
    assert tried.name == "limit batch"
    assert words in tried.reason
    assert tried.reason in advice.summary


def test_only_the_limit_that_throttles_too_long_is_dropped_before_the_rest_is_judged():
    # app and batch take 400 each. app wants 250 in the past, below its limit of 302; batch would
    # be throttled for 120 minutes of the week.
    past = week(busy_minutes=120, busy=(200.0, 400.0, 400.0), wanted=(None, 250.0, None))
    inputs = crowded(past, congested=steady(400.0))
    app = replace(
        inputs.allocations[1], congested=steady(400.0), usual=steady(250.0, span_days=20.0)
    )
    inputs = replace(
        inputs,
        allocations=(inputs.allocations[0], app, inputs.allocations[2]),
        incident=incident(
            {"db": (200.0, 571.0)}, {"app": (400.0, 286.0), "batch": (400.0, 143.0)}
        ),
    )

    refused = advise(inputs).alternatives

    assert [one.name for one in refused] == ["limit batch", "limit app"]
    assert "batch would be throttled 1.18%" in refused[0].reason
    assert "app would be throttled 0.00%" in refused[1].reason


def test_a_limit_in_force_that_nobody_stated_is_kept():
    inputs = crowded(week())
    held = tuple(
        replace(grant, limit=242.0) if grant.allocation == 3 else grant
        for grant in inputs.in_force
    )

    advice = advise(replace(inputs, in_force=held))

    assert advice.outcome is AdviceOutcome.NO_CHANGE
    assert "in force" in advice.summary


def test_a_recommended_limit_carries_what_the_week_would_have_been():
    found = advise(crowded(week())).counterfactual

    assert (found.congested_windows, found.windows) == (60, 227)
    throttled = {one.workload: one.past.throttled_min_after for one in found.allocations}
    assert throttled == {"db": 0.0, "app": 0.0, "batch": 60.0}
    assert [one.workload for one in found.of(Change.LOSES)] == ["batch"]
    # 20 ms at 200 IOPS become 20 · 200/505 ms at (1000 - 242) · 2/3
    (db, *_) = found.allocations
    assert db.latency.p95_before_ms == pytest.approx(20.0)
    assert db.latency.p95_after_ms == pytest.approx(20 * 300 / 758, rel=0.01)
