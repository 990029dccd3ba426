"""Whether weights act: requests pile up in the device, and iocost holds nobody back."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.mechanisms.cgroup_io.device_look import Look
from enforcers.mechanisms.cgroup_io.grip import NO_GRIP_S, Grip, next_grip

SERVICE_S = 0.004


def seen(**change: Any) -> Look:
    """A second in which eight groups have 64 requests in a device that does 1500 I/Os."""
    values: dict[str, Any] = {"elapsed_s": 1.0, "total": 1500.0, "queue": 64.0}
    rest = {"active_groups": 8, "waited_ratio": 0.0, "is_pressed": True}
    return Look(**{**values, **rest, **change})


def calm() -> Look:
    """A second with one request at a time."""
    return seen(total=1 / SERVICE_S, queue=1.0, is_pressed=False)


def after(looks: Sequence[Look]) -> Grip:
    grip = Grip()
    for one in looks:
        grip = next_grip(grip, one)
    return grip


@pytest.mark.parametrize("before", [[], [calm()] * 3], ids=["full at once", "idle before"])
def test_grip_is_lost_after_ten_seconds_in_which_requests_pile_up(before: list[Look]) -> None:
    lasted = [after([*before, *[seen()] * seconds]).is_lost for seconds in (9, 10, 30)]

    assert lasted == [False, True, True]


@pytest.mark.parametrize(
    "change",
    [{"waited_ratio": 0.1}, {"active_groups": 1}, {"is_pressed": False}],
    ids=["somebody waits", "one group alone", "the device is not full"],
)
def test_grip_is_there_again_after_one_period(change: dict[str, Any]) -> None:
    grip = after([*[seen()] * 30, seen(**change)])

    assert grip == Grip()


@pytest.mark.parametrize(("longer", "is_lost"), [(1.9, False), (2.1, True)])
def test_nobody_is_in_the_way_where_requests_take_as_long_as_alone(
    longer: float, is_lost: bool
) -> None:
    busy = seen(queue=longer * SERVICE_S * 10_000, total=10_000.0)

    assert after([calm(), *[busy] * int(NO_GRIP_S)]).is_lost is is_lost


def test_device_that_became_slower_is_compared_with_what_it_is_now() -> None:
    quick = seen(queue=1.0, total=10_000.0, is_pressed=False)

    # From 0.1 ms each to 4 ms, by 1 % each period.
    grip = after([quick, *[calm()] * 400])

    assert grip.calm_s == pytest.approx(SERVICE_S)


looks = st.builds(
    seen,
    elapsed_s=st.floats(0.1, 5.0),
    total=st.floats(0.0, 5000.0),
    queue=st.floats(0.0, 300.0),
    active_groups=st.integers(0, 8),
    waited_ratio=st.floats(0.0, 8.0),
    is_pressed=st.booleans(),
)


@given(st.lists(looks, max_size=40))
def test_grip_is_never_lost_for_longer_than_nobody_waited(history: list[Look]) -> None:
    silent_s = 0.0
    for one in history:
        silent_s = silent_s + one.elapsed_s if one.waited_ratio < 0.02 else 0.0

    assert after(history).lost_s <= silent_s + 1e-9
