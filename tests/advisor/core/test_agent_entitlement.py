"""The agent's solver beside the service's: the reference's vectors, and any other case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core import allocation
from enforcers.contract import ReservationMode
from enforcers.entitlement import Claim, entitlements

MODES = list(ReservationMode)
VECTOR_KEY = {ReservationMode.FLOOR: "MAX", ReservationMode.ADDITIVE: "SUM"}

amounts = st.one_of(st.just(0.0), st.floats(1e-3, 1e4))
claims = st.builds(
    Claim,
    reservation=amounts,
    limit=st.none() | amounts,
    shares=st.just(0.0) | st.floats(1e-2, 1e4),
    demand=st.none() | amounts,
)


def by_the_service(capacity: float, some: list[Claim], mode: ReservationMode) -> list[float]:
    theirs = [
        allocation.Allocation(one.reservation, one.limit, one.shares, one.demand) for one in some
    ]
    return allocation.entitlements(capacity, theirs, allocation.ReservationMode(mode))


@pytest.mark.parametrize("mode", MODES)
def test_agent_agrees_with_the_reference(alloc_vector, mode):
    some = [
        Claim(reservation=e["r"], limit=e["l"], shares=e["s"], demand=e["d"])
        for e in alloc_vector["entities"]
    ]

    result = entitlements(alloc_vector["capacity"], some, mode)

    assert result == pytest.approx(alloc_vector[VECTOR_KEY[mode]], rel=1e-9, abs=1e-9)


@given(st.floats(1e-2, 1e5), st.lists(claims, min_size=1, max_size=12), st.sampled_from(MODES))
def test_agent_agrees_with_the_service(capacity, some, mode):
    result = entitlements(capacity, some, mode)

    assert result == pytest.approx(by_the_service(capacity, some, mode), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_nobody_claims_nothing(mode):
    assert entitlements(100.0, [], mode) == ()
