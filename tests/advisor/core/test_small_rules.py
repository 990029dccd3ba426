"""Small rules of the core at the exact value where each changes."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from advisor.core.admission import (
    RequestedReservation,
    admit,
    refusal_text,
    reservable_in_pool,
    reservable_on_host,
)
from advisor.core.duration import duration_text
from advisor.core.enforced_time import HostReport, enforced_stretches
from advisor.core.entitlement_checks import check_stored_entitlements
from advisor.core.freshness import is_stale
from advisor.core.number_checks import check_amount, check_positive, check_ratio
from advisor.core.own_limit import latency_is_of_limits
from advisor.core.quantity import format_rate, parse_rate, significant, without_dust

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("held", "calm", "others_wait", "is_of_limits"),
    [
        # Of 100 I/Os, five or fewer that are held back do not matter for the mean.
        (5.0, 95.0, False, False),
        (5.1, 94.9, False, True),
        # If one waits without a limit, the datastore is the cause.
        (90.0, 0.0, True, False),
        # Of those that are held back or do not wait, 95 must be known ...
        (20.0, 75.0, False, True),
        (20.0, 74.9, False, False),
        # ... or more than half be held back.
        (50.0, 0.0, False, False),
        (50.1, 0.0, False, True),
        (0.0, 0.0, False, False),
        (0.0, 100.0, False, False),
    ],
)
def test_latency_is_of_our_limits_where_nothing_else_explains_it(
    held: float, calm: float, *, others_wait: bool, is_of_limits: bool
) -> None:
    found = latency_is_of_limits(
        np.array([100.0]),
        held=np.array([held]),
        calm=np.array([calm]),
        others_wait=np.array([others_wait]),
    )

    assert found.tolist() == [is_of_limits]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1e12, "bits_per_s", "1.00 Tbit/s"),
        (999.4e9, "bits_per_s", "999 Gbit/s"),
        (0.9995e12, "bits_per_s", "1.00 Tbit/s"),
        (1e9, "bytes_per_s", "1.00 GB/s"),
        (0.9994e9, "bytes_per_s", "999 MB/s"),
        (1e6, "iops", "1.00 MIOPS"),
        (999_000.0, "iops", "999000 IOPS"),
        (1e3, "bits_per_s", "1.00 kbit/s"),
        (999.4, "bits_per_s", "999 bit/s"),
        (0.0004, "iops", "0 IOPS"),
        (0.0436, "iops", "0.044 IOPS"),
        (-2e6, "bits_per_s", "-2.00 Mbit/s"),
    ],
)
def test_rate_has_the_largest_prefix_that_it_reaches(value: float, unit: str, text: str) -> None:
    assert format_rate(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.9996, "1.00"), (0.9994, "0.999"), (1234.5, "1234"), (12.34, "12.3"), (0.0, "0")],
)
def test_number_has_three_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0436, "0.044"), (0.436, "0.436"), (0.0005001, "0.001"), (4e-10, "0")]
)
def test_number_has_no_dust_below_a_thousandth(value: float, text: str) -> None:
    assert without_dust(value) == text


@pytest.mark.parametrize(
    ("text", "value"), [("1T", 1e12), ("1g", 1e9), ("1M", 1e6), ("1k", 1e3), ("1e3", 1e3)]
)
def test_prefixes_are_decimal(text: str, value: float) -> None:
    assert parse_rate(text, "iops") == value


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (3659, "1 h"),
        (3660, "1 h 1 min"),
        (86_399, "23 h 59 min"),
        (86_400, "1 d"),
        (90_000, "1 d 1 h"),
    ],
)
def test_duration_is_told_in_the_units_of_its_size(seconds: int, text: str) -> None:
    assert duration_text(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(("seconds", "stale"), [(120, False), (121, True)])
def test_state_is_stale_after_two_minutes(seconds: int, stale: bool) -> None:
    assert is_stale(NOW - timedelta(seconds=seconds), now=NOW) is stale


def asked(*amounts: float) -> list[RequestedReservation]:
    return [
        RequestedReservation(workload=f"w{place}", reservation=amount)
        for place, amount in enumerate(amounts)
    ]


def test_reservations_are_admitted_in_order_as_far_as_they_fit() -> None:
    wanted = asked(50.0, 30.0, 25.0)
    found = admit(75.0, wanted)

    assert (found.reserved, found.refused, found.admitted) == (75.0, ("w1",), False)
    assert refusal_text(found, wanted, "iops") == (
        "w1 asks for 30.0 IOPS; 0 IOPS of 75.0 IOPS that may be reserved is free"
    )
    fitting = admit(75.0, asked(50.0, 20.0))
    assert (fitting.admitted, fitting.reserved) == (True, 70.0)


@pytest.mark.parametrize(("excess", "fits"), [(1e-8, True), (1e-6, False)])
def test_difference_of_rounding_fits(excess: float, fits: bool) -> None:
    # A thousand-millionth of 75 is 7.5e-8.
    assert admit(75.0, asked(75.0 + excess)).admitted is fits


def test_three_quarters_of_each_smallest_uplink_may_be_reserved() -> None:
    assert reservable_on_host([10.0, 40.0]) == 7.5
    assert reservable_in_pool([10.0, 40.0]) == 37.5
    assert reservable_on_host([10.0], ratio=0.5) == 5.0
    assert reservable_on_host([]) == 0.0


@pytest.mark.parametrize(("minutes", "counts"), [(3.0, True), (3.01, False)])
def test_reports_may_be_as_far_apart_as_allowed(minutes: float, counts: bool) -> None:
    reports = [
        HostReport(at=NOW, holds=True, untouched=True),
        HostReport(at=NOW + timedelta(minutes=minutes), holds=True, untouched=True),
    ]

    found = enforced_stretches(reports, longest_gap=timedelta(minutes=3))

    assert bool(found) is counts


@pytest.mark.parametrize(("entitlement", "passes"), [(100.00009, True), (100.0002, False)])
def test_stored_entitlement_may_differ_in_its_ninth_digit(
    entitlement: float, passes: bool
) -> None:
    # A millionth of 100 is 0.0001.
    row = {"workload": "web", "reservation": 0.0, "limit": 100.0, "entitlement": entitlement}
    if passes:
        check_stored_entitlements([row], capacity=None)
        return
    with pytest.raises(ValueError, match="is not within 0 and its limit"):
        check_stored_entitlements([row], capacity=None)


def test_numbers_at_their_bounds_are_accepted_and_beyond_are_refused() -> None:
    check_amount("x", 0.0)
    check_positive("x", 5e-324)
    check_ratio("x", 0.0)
    check_ratio("x", 1.0)
    for check, bad in (
        (check_amount, -5e-324),
        (check_positive, 0.0),
        (check_ratio, 1.0000001),
        (check_ratio, -5e-324),
    ):
        check("x", None)
        with pytest.raises(ValueError, match=r"^x is "):
            check("x", bad)
