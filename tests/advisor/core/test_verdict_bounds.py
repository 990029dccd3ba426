"""Verdicts of compliance at the exact value of each tolerance: at it, and just beyond."""

import pytest

from advisor.core.compliance import Measured, Promise, Verdict, judge, wants_more
from advisor.core.resource import Unit


def verdict(
    rate: float,
    *,
    reservation: float = 0.0,
    limit: float | None = None,
    entitlement: float = 0.0,
    capacity: float = 1000.0,
    samples: int = 10,
    backlogged: int | None = 10,
) -> Verdict:
    promise = Promise(reservation=reservation, limit=limit, entitlement=entitlement)
    measured = Measured(rate=rate, sample_count=samples, backlogged_samples=backlogged)
    return judge(promise, measured, capacity=capacity, unit=Unit.IOPS).verdict


@pytest.mark.parametrize(("rate", "expected"), [(105.0, "met"), (105.1, "limit_exceeded")])
def test_limit_may_be_passed_by_a_twentieth(rate: float, expected: str) -> None:
    assert verdict(rate, limit=100.0, entitlement=100.0) == expected


@pytest.mark.parametrize(("rate", "expected"), [(95.0, "met"), (94.9, "reservation_unmet")])
def test_reservation_may_lack_a_twentieth(rate: float, expected: str) -> None:
    assert verdict(rate, reservation=100.0, entitlement=95.0, capacity=1.0) == expected


@pytest.mark.parametrize(
    ("capacity", "rate", "expected"),
    [
        # A twentieth of 100 is more than 3 % of 100 ...
        (100.0, 95.0, "met"),
        (100.0, 94.9, "over_throttled"),
        # ... and less than 3 % of 1000.
        (1000.0, 70.0, "met"),
        (1000.0, 69.9, "over_throttled"),
    ],
)
def test_entitlement_may_lack_a_twentieth_or_three_hundredths_of_the_capacity(
    capacity: float, rate: float, expected: str
) -> None:
    assert verdict(rate, entitlement=100.0, capacity=capacity) == expected


def test_no_more_than_the_limit_is_due() -> None:
    assert verdict(20.0, limit=20.0, reservation=50.0, entitlement=80.0, capacity=1.0) == "met"
    assert verdict(18.9, limit=20.0, reservation=50.0, capacity=1.0) == "reservation_unmet"
    assert verdict(18.9, limit=20.0, entitlement=50.0, capacity=1.0) == "over_throttled"


@pytest.mark.parametrize(("samples", "expected"), [(3, "met"), (2, "unknown")])
def test_three_samples_are_enough(samples: int, expected: str) -> None:
    assert verdict(5.0, samples=samples, backlogged=0) == expected


@pytest.mark.parametrize(
    ("samples", "backlogged", "wants"),
    [(10, 5, True), (100, 49, None), (10, 1, False), (100, 11, None), (0, 0, None)],
)
def test_queue_in_half_of_the_samples_is_wanting_and_in_a_tenth_is_not(
    samples: int, backlogged: int, wants: bool | None
) -> None:
    measured = Measured(rate=1.0, sample_count=samples, backlogged_samples=backlogged)

    assert wants_more(measured) is wants


@pytest.mark.parametrize(
    ("rate", "backlogged", "expected"),
    [(0.0, 0, "no_demand"), (0.0, None, "no_demand"), (0.0, 10, "met"), (0.1, 0, "met")],
)
def test_who_is_entitled_to_nothing_and_sends_nothing_has_no_demand(
    rate: float, backlogged: int | None, expected: str
) -> None:
    assert verdict(rate, backlogged=backlogged) == expected


def test_shortfall_is_judged_by_whether_more_was_wanted() -> None:
    found = {
        wants: verdict(50.0, reservation=100.0, entitlement=100.0, backlogged=wants)
        for wants in (10, 3, 0, None)
    }

    assert found == {10: "reservation_unmet", 3: "unknown", 0: "no_demand", None: "unknown"}
