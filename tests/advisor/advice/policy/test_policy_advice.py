"""Which policy is advised: promised reservations, shares by tier, or a usual rate reserved."""

from dataclasses import replace

import pytest

from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import RecommendationKind
from advisor.core.resource import Tier
from tests.advisor.advice.policy.contended_resources import MBIT, datastore, steady, uplink


def test_an_unmet_reservation_is_recommended_with_what_it_brings():
    advice = advise(uplink())

    assert advice.kind is RecommendationKind.RESERVATION
    assert advice.summary == (
        "Reserve 75.0 Mbit/s for web-1 on uplink h1/eth0: "
        "no certain gain; web-1 gets 31.2 Mbit/s now, its share is 81.3 Mbit/s if it needs more "
        "(0 of 4 calm windows seen)"
    )
    # 75 + 19/3, 19/3, 19/3 of 94; without a policy a third each.
    after = [row.predicted_after / MBIT for row in advice.allocations]
    before = [row.predicted_before / MBIT for row in advice.allocations]
    assert after == pytest.approx([75 + 19 / 3, 19 / 3, 19 / 3])
    assert before == pytest.approx([94 / 3] * 3)


def test_shares_are_recommended_where_nothing_was_promised():
    advice = advise(datastore())

    assert advice.kind is RecommendationKind.SHARES
    # 2000:1000:500 of the 1,000 IOPS that it delivered, of which iocost lets 955 through.
    assert [row.shares for row in advice.allocations] == [2000, 1000, 500]
    assert [row.entitlement for row in advice.allocations] == pytest.approx(
        [4000 / 7, 2000 / 7, 1000 / 7]
    )
    assert [row.predicted_after for row in advice.allocations] == pytest.approx(
        [4 * 955 / 7, 2 * 955 / 7, 955 / 7]
    )
    # Nobody saw it in a calm hour, so what it wants is not known.
    assert advice.summary == (
        "Divide datastore nfs-07 by shares 2000:1000:500: "
        "no certain gain; db gets 200 IOPS now, its share is 571 IOPS if it needs more "
        "(0 of 4 calm windows seen)"
    )


def test_shares_with_an_aggressor_that_is_gone_are_not_recommended():
    inputs = datastore()
    batch = replace(inputs.allocations[2], active=False)

    advice = advise(replace(inputs, allocations=(*inputs.allocations[:2], batch)))

    # db and app would divide what the two of them get anyway.
    assert advice.summary == (
        "batch took more than was due on datastore nfs-07 and sends no samples any more: "
        "nobody whose load is seen is left to divide with"
    )


def test_a_high_tier_victim_that_shares_leave_short_gets_its_usual_rate_reserved():
    inputs = datastore()
    db = replace(inputs.allocations[0], usual=steady(700.0))

    advice = advise(replace(inputs, allocations=(db, *inputs.allocations[1:])))

    assert advice.kind is RecommendationKind.RESERVATION
    assert [row.reservation for row in advice.allocations] == [700.0, 0.0, 0.0]
    # Floor mode: of the 955 that iocost lets through the other 255 by 1000:500.
    assert [row.predicted_after for row in advice.allocations] == pytest.approx(
        [700, 255 * 2 / 3, 255 / 3]
    )
    # By the same measure as the predictions.
    (shares_only,) = [one for one in advice.alternatives if one.name == "shares only"]
    assert shares_only.reason.startswith(f"db would get {955 * 4 / 7:.0f} IOPS")


@pytest.mark.parametrize(
    ("tier", "usual"),
    [
        (Tier.MEDIUM, steady(700.0)),
        (Tier.HIGH, steady(550.0)),
        (Tier.HIGH, steady(700, samples=9)),
    ],
    ids=["not of the high tier", "shares are enough", "too little history"],
)
def test_no_reservation_is_derived_without_need_or_proof(tier, usual):
    inputs = datastore()
    db = replace(inputs.allocations[0], tier=tier, shares=2000, usual=usual)

    advice = advise(replace(inputs, allocations=(db, *inputs.allocations[1:])))

    assert advice.kind is RecommendationKind.SHARES


def test_an_inactive_workload_needs_no_samples_and_leaves_its_part_to_the_others():
    inputs = uplink()
    idle = replace(inputs.allocations[2], congested=None, active=False)

    advice = advise(replace(inputs, allocations=(*inputs.allocations[:2], idle)))

    # 75 + 19/2, 19/2 and nothing; yet all three are entitled to their part.
    assert [row.predicted_after / MBIT for row in advice.allocations] == pytest.approx(
        [84.5, 9.5, 0.0]
    )
    assert advice.allocations[2].entitlement / MBIT == pytest.approx(19 / 3)


def test_a_workload_that_wants_no_more_is_predicted_its_mean():
    inputs = uplink()
    # A tenth of the windows has 4 Mbit/s: a percentile of 4 is not what it takes.
    rates = (2 * MBIT,) * 36 + (4 * MBIT,) * 4
    modest = replace(
        inputs.allocations[2],
        workload="modest",
        congested=steady(2.2 * MBIT),
        congested_rates=rates,
        calm_rates=rates,
    )

    advice = advise(replace(inputs, allocations=(*inputs.allocations[:2], modest)))

    assert advice.allocations[2].demand == pytest.approx(2.2 * MBIT)
    assert advice.allocations[2].predicted_after == pytest.approx(2.2 * MBIT)
