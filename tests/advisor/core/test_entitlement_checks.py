"""Entitlements are checked where they are computed and where they are read back."""

from typing import Any

import numpy as np
import pytest

from advisor.core.entitlement_checks import check_entitlements, check_stored_entitlements
from advisor.core.waterfill import groups_of

# Two groups: 60 + 40 of 100, and 50 of 50.
GROUPS = groups_of(np.array([2, 1]))
CAPACITY = np.array([100.0, 50.0])
MOST = np.array([60.0, np.inf, 50.0])


def check(*amounts: float) -> None:
    check_entitlements(np.array(amounts), capacity=CAPACITY, most=MOST, groups=GROUPS)


@pytest.mark.parametrize("amounts", [(60.0, 40.0, 50.0), (0.0, 0.0, 0.0), (0.0, 100.0, 1.0)])
def test_entitlements_within_caps_and_capacity_pass(amounts: tuple[float, ...]) -> None:
    check(*amounts)


@pytest.mark.parametrize(
    "amounts",
    [
        (61.0, 0.0, 0.0),
        (-1.0, 0.0, 0.0),
        (60.0, 40.001, 0.0),
        (0.0, 0.0, 50.001),
        (0.0, np.nan, 0.0),
    ],
    ids=["above its cap", "negative", "sum", "sum of the other group", "no number"],
)
def test_entitlements_beyond_caps_or_capacity_stop_the_solver(amounts: tuple[float, ...]) -> None:
    with pytest.raises(AssertionError, match="invariant entitlements-within-capacity"):
        check(*amounts)


def stored(**change: Any) -> dict[str, Any]:
    """Workload web may have 10 to 60 and is entitled to 50."""
    return {"workload": "web", "reservation": 10.0, "limit": 60.0, "entitlement": 50.0} | change


@pytest.mark.parametrize(
    ("allocations", "capacity"),
    [
        ([stored(), stored()], 100.0),
        ([stored(), stored()], None),
        ([stored(limit=None, entitlement=100.0)], 100.0),
        ([stored(reservation=60.0, entitlement=60.0)], 60.0),
        # Reservations that do not fit are cut: an entitlement may lie below its reservation.
        ([stored(entitlement=0.0)], 100.0),
        # Nine significant digits are stored.
        ([stored(limit=None, entitlement=33.3333334)] * 3, 100.0),
        ([], 0.0),
    ],
)
def test_stored_allocations_that_the_solver_could_have_made_pass(
    allocations: list[dict[str, Any]], capacity: float | None
) -> None:
    check_stored_entitlements(allocations, capacity=capacity)


@pytest.mark.parametrize(
    ("allocations", "reason"),
    [
        ([stored(reservation=61.0)], "the reservation of web is above its limit"),
        ([stored(entitlement=61.0)], "the entitlement of web is not within 0 and its limit"),
        ([stored(entitlement=-1.0)], "the entitlement of web is not within 0 and its limit"),
        ([stored(), stored(entitlement=51.0)], "the entitlements exceed the capacity together"),
    ],
)
def test_stored_allocations_that_no_solver_made_are_refused(
    allocations: list[dict[str, Any]], reason: str
) -> None:
    with pytest.raises(ValueError, match="invariant entitlements-within-capacity") as refusal:
        check_stored_entitlements(allocations, capacity=100.0)

    assert reason in str(refusal.value)
