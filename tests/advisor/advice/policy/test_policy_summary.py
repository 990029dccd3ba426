"""The sentence above a recommendation names what is reserved, and for whom."""

from dataclasses import replace

from advisor.advice.policy.decide.policy_advice import advise
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
