"""Entitlements are checked where they are computed and where they are read back."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from advisor.core.entitlement_checks import (
    COMPUTED_TOLERANCE,
    SMALLEST,
    STORED_TOLERANCE,
    check_entitlements,
    check_stored_entitlements,
)
from advisor.core.waterfill import groups_of

INVARIANT = "invariant entitlements-within-capacity: "
# Two groups: 60 + 40 of 100, and 50 of 50.
GROUPS = groups_of(np.array([2, 1]))
CAPACITY = np.array([100.0, 50.0])
MOST = np.array([60.0, np.inf, 50.0])


def complaint(error: type[Exception], check: Callable[[], None]) -> str | None:
    """What the check says with this error, without the invariant's name; None if it passes."""
    try:
        check()
    except error as broken:
        return str(broken).removeprefix(INVARIANT)
    return None


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        pytest.param((60.0, 40.0, 50.0), None, id="all of it"),
        pytest.param((0.0, 0.0, 0.0), None, id="nothing"),
        pytest.param((0.0, 100.0, 1.0), None, id="one takes all"),
        pytest.param((61.0, 0.0, 0.0), "above its cap", id="above its cap"),
        pytest.param((-1.0, 0.0, 0.0), "above its cap", id="negative"),
        pytest.param((0.0, np.nan, 0.0), "above its cap", id="no number"),
        pytest.param((60.0, 40.001, 0.0), "above the capacity", id="sum"),
        pytest.param((0.0, 0.0, 50.001), "above its cap", id="the other group"),
    ],
)
def test_entitlements_beyond_caps_or_capacity_stop_the_solver(
    amounts: tuple[float, ...], expected: str | None
) -> None:
    found = complaint(
        AssertionError,
        lambda: check_entitlements(np.array(amounts), capacity=CAPACITY, most=MOST, groups=GROUPS),
    )

    assert found == expected


@pytest.mark.parametrize("capacity", [0.0, 100.0])
@pytest.mark.parametrize("beyond", [False, True])
def test_sum_may_be_off_by_the_tolerance_and_by_nothing_more(
    capacity: float, beyond: bool
) -> None:
    most = capacity * (1 + COMPUTED_TOLERANCE) + SMALLEST
    amount = np.array([np.nextafter(most, np.inf) if beyond else most])

    found = complaint(
        AssertionError,
        lambda: check_entitlements(
            amount,
            capacity=np.array([capacity]),
            most=np.array([np.inf]),
            groups=groups_of(np.array([1])),
        ),
    )

    assert found == ("above the capacity" if beyond else None)


def stored(**change: Any) -> dict[str, Any]:
    """Workload web may have 10 to 60 and is entitled to 50."""
    return {"workload": "web", "reservation": 10.0, "limit": 60.0, "entitlement": 50.0} | change


OUTSIDE = "the entitlement of web is not within 0 and its limit"


@pytest.mark.parametrize(
    ("allocations", "capacity", "expected"),
    [
        ([stored(), stored()], 100.0, None),
        ([stored(), stored()], None, None),
        ([stored(limit=None, entitlement=100.0)], 100.0, None),
        ([stored(reservation=60.0, entitlement=60.0)], 60.0, None),
        # Reservations that do not fit are cut: an entitlement may lie below its reservation.
        ([stored(entitlement=0.0)], 100.0, None),
        ([stored(entitlement=60.0 * (1 + STORED_TOLERANCE))], None, None),
        ([stored(entitlement=60.0 * (1 + 2 * STORED_TOLERANCE))], None, OUTSIDE),
        # Nine significant digits are stored.
        ([stored(limit=None, entitlement=33.3333334)] * 3, 100.0, None),
        ([], 0.0, None),
        # What is divided is device time: I/Os that take less than the mean add up to more of them.
        ([stored(limit=None, entitlement=110.0, io_cost=0.9)], 100.0, None),
        (
            [stored(limit=None, entitlement=95.0, io_cost=1.1)],
            100.0,
            "the entitlements exceed the capacity together",
        ),
        ([stored(reservation=61.0)], 100.0, "the reservation of web is above its limit"),
        ([stored(entitlement=61.0)], 100.0, OUTSIDE),
        ([stored(entitlement=-1.0)], 100.0, OUTSIDE),
        (
            [stored(), stored(entitlement=51.0)],
            100.0,
            "the entitlements exceed the capacity together",
        ),
    ],
)
def test_stored_allocations_that_no_solver_made_are_refused(
    allocations: list[dict[str, Any]], capacity: float | None, expected: str | None
) -> None:
    found = complaint(
        ValueError, lambda: check_stored_entitlements(allocations, capacity=capacity)
    )

    assert found == expected
