"""A limit holds when what is measured is not above it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.mechanisms.cgroup_io.limit_grip import LimitGrip, next_limit_grip

LIMIT = 500.0


def after(rates: Sequence[float]) -> LimitGrip:
    """After half seconds with these rates."""
    grip = LimitGrip()
    for rate in rates:
        grip = next_limit_grip(grip, limit=LIMIT, rate=rate, elapsed_s=0.5)
    return grip


@pytest.mark.parametrize(
    ("rates", "exceeded_by"),
    [
        ([1000.0] * 4 + [500.0] * 4, None),
        ([600.0] * 7, None),
        ([600.0] * 8, 600.0),
        ([540.0] * 40, None),
        ([600.0] * 8 + [500.0] * 4, None),
        ([0.0] * 8, None),
    ],
    ids=["at first", "for less than two looks", "for two", "a little", "and back", "idle"],
)
def test_limit_is_exceeded_after_two_looks_of_two_seconds(
    rates: list[float], exceeded_by: float | None
) -> None:
    assert after(rates).exceeded_by == exceeded_by


@given(st.lists(st.floats(0.0, 550.0), max_size=60))
def test_limit_that_holds_within_a_tenth_is_never_said_to_be_exceeded(rates: list[float]) -> None:
    assert after(rates).exceeded_by is None
