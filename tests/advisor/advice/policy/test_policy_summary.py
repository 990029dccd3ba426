"""The sentence above a recommendation names what is reserved, and for whom."""

from dataclasses import replace

from advisor.advice.policy.decide.candidate import setting_of
from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import RecommendationKind
from advisor.advice.policy.decide.policy_why import summarize, surest
from advisor.advice.shared.decide.recommended_allocation import RecommendedAllocation
from advisor.core.forecast.prediction_interval import Interval
from tests.advisor.advice.policy.contended_resources import MBIT, uplink


def promised(*amounts):
    """The summary where these rates, in Mbit/s, are promised to the first workloads."""
    inputs = uplink()
    rest = [0] * (len(inputs.allocations) - len(amounts))
    allocations = tuple(
        replace(allocation, reservation=amount * MBIT)
        for allocation, amount in zip(inputs.allocations, [*amounts, *rest], strict=True)
    )
    return advise(replace(inputs, allocations=allocations)).summary


def test_two_reservations_are_both_told_with_their_rates():
    # 40 and 20 of 94 leave 34, a third of it for each.
    assert promised(40, 20) == (
        "Reserve 40.0 Mbit/s for web-1 and 20.0 Mbit/s for web-2 on uplink h1/eth0: "
        "no certain gain; web-1 gets 31.2 Mbit/s now, its share is 51.3 Mbit/s if it needs more "
        "(0 of 4 calm windows seen)"
    )


def test_more_reservations_are_counted():
    assert promised(40, 20, 10).startswith(
        "Reserve 40.0 Mbit/s for web-1 and what 2 others are promised on uplink h1/eth0: "
    )


def test_sure_gain_of_another_victim_is_told_before_a_suspicion():
    first, second = "web-1", "web-2"
    setting = replace(setting_of(uplink(), 94 * MBIT), victims=frozenset({first, second}))
    rows = [
        row(1, first, reservation=40 * MBIT, unsure="0 of 4 calm windows seen"),
        row(2, second, interval=Interval(low=15 * MBIT, high=20 * MBIT, level=0.9)),
    ]

    said = summarize(setting, RecommendationKind.RESERVATION, rows)

    assert said == (
        "Reserve 40.0 Mbit/s for web-1 on uplink h1/eth0: "
        "web-2 gets 10.0 Mbit/s now, 15.0 Mbit/s to 20.0 Mbit/s predicted"
    )
    assert surest(setting, rows) == second


def row(key, workload, **more):
    """It gets 10 Mbit/s now, and 18 afterwards."""
    fields = {"reservation": 0.0, "demand": None, **more}
    return RecommendedAllocation(
        allocation=key, workload=workload, host="h1", limit=None, shares=100,
        entitlement=18 * MBIT, measured=10 * MBIT, predicted_before=10 * MBIT,
        predicted_after=18 * MBIT, **fields,
    )  # fmt: skip
