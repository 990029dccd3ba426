"""The capacity that hosts track together: it falls below what was measured, and is probed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.errors import ContractError
from enforcers.joint_capacity import (
    Capacity,
    CapacityLaw,
    Seen,
    drained_ratio,
    next_capacity,
)

LAW = CapacityLaw(stated_iops=2000.0, threshold_ms=20.0)
capacities = st.builds(
    Capacity,
    iops=st.floats(500, 4000),
    steps=st.integers(0, 20),
    drain_periods=st.integers(0, 2),
    fell_from=st.none() | st.floats(1, 1e6),
)
periods = st.builds(
    Seen,
    done_iops=st.floats(0, 1e6),
    latency_ms=st.none() | st.floats(0, 1e6),
    is_wanted=st.booleans(),
)


def seen(done_iops: float, latency_ms: float | None, *, is_wanted: bool = True) -> Seen:
    return Seen(done_iops=done_iops, latency_ms=latency_ms, is_wanted=is_wanted)


@pytest.mark.parametrize(
    ("latency_ms", "part"),
    [(20.1, 0.99), (20.6, 0.97), (21.0, 0.95), (64.0, 0.95)],
    ids=["at it", "a little late", "late", "very late"],
)
def test_late_ios_bring_it_below_what_was_measured(latency_ms: float, part: float) -> None:
    after = next_capacity(Capacity(iops=2600), seen(1700.0, latency_ms), law=LAW)

    assert after.iops == pytest.approx(part * 1700)


def test_it_falls_once_until_that_can_show() -> None:
    fallen = next_capacity(Capacity(iops=2600), seen(1700.0, 64.0), law=LAW)

    held = next_capacity(fallen, seen(1500.0, 64.0), law=LAW)
    again = next_capacity(
        next_capacity(held, seen(1500.0, 64.0), law=LAW), seen(1500.0, 64.0), law=LAW
    )

    assert held.iops == fallen.iops
    assert again.iops == pytest.approx(0.95 * 1500)


@pytest.mark.parametrize(
    "period",
    [seen(0.0, None), seen(900.0, 64.0), seen(900.0, 12.0)],
    ids=["no I/O", "late", "held"],
)
def test_what_drains_is_waited_for_in_periods(period: Seen) -> None:
    left = []
    capacity = Capacity(iops=1000, drain_periods=2)
    for _ in range(2):
        capacity = next_capacity(capacity, period, law=LAW)
        left.append((capacity.iops, capacity.drain_periods))

    assert left == [(1000, 1), (1000, 0)]


def test_it_is_not_raised_by_a_fall() -> None:
    # Somebody whose I/O no budget holds back.
    after = next_capacity(Capacity(iops=1000), seen(1900.0, 64.0), law=LAW)

    assert after.iops == 1000


@pytest.mark.parametrize(
    ("before", "period", "after"),
    [
        (2000, seen(1990.0, 2.0), 2020),
        (2000, seen(1990.0, 2.0, is_wanted=False), 2000),
        (2000, seen(1800.0, 2.0), 2000),
        (2000, seen(1990.0, 12.0), 2000),
        (2000, seen(1990.0, 16.0), 1990),
        (2000, seen(0.0, None), 2000),
    ],
    ids=["probed", "nobody wants more", "not all used", "held", "nearly late", "no I/O"],
)
def test_it_is_probed_where_the_latency_is_low_and_all_is_used(
    before: float, period: Seen, after: float
) -> None:
    assert next_capacity(Capacity(iops=before), period, law=LAW).iops == pytest.approx(after)


def ratios_from(capacity: Capacity, steps: int) -> list[float]:
    ratios = []
    for _ in range(steps):
        after = next_capacity(capacity, seen(capacity.iops, 2.0), law=LAW)
        ratios.append(after.iops / capacity.iops)
        capacity = after
    return ratios


def test_steps_grow_far_below_what_is_stated() -> None:
    assert ratios_from(Capacity(iops=1000), 7) == pytest.approx([1.01] * 5 + [1.04] * 2)


def test_steps_stay_small_near_to_where_it_went_wrong() -> None:
    # Until 1.05 times 1,000: ten steps from 950, and those after have grown.
    assert ratios_from(Capacity(iops=950, fell_from=1000.0), 13) == pytest.approx(
        [1.01] * 11 + [1.04] * 2
    )


def test_late_ios_end_the_large_steps() -> None:
    fallen = next_capacity(Capacity(iops=1500, steps=9), seen(1400.0, 30.0), law=LAW)

    after = next_capacity(fallen, seen(fallen.iops, 2.0), law=LAW)

    assert after.iops == pytest.approx(1.01 * 0.95 * 1400)


@given(capacities, periods)
def test_it_stays_within_a_quarter_and_twice_of_what_is_stated(
    capacity: Capacity, period: Seen
) -> None:
    after = next_capacity(capacity, period, law=LAW)

    assert 500 <= after.iops <= 4000


@given(capacities, periods)
def test_no_step_is_larger_than_its_kind(capacity: Capacity, period: Seen) -> None:
    after = next_capacity(capacity, period, law=LAW)

    assert after.iops <= 1.04 * capacity.iops * (1 + 1e-9)


@pytest.mark.parametrize(
    ("latency_ms", "ratio"),
    # (latency - 10 ms) / 500 ms is left out.
    [(None, 1.0), (4.0, 1.0), (10.0, 1.0), (20.0, 0.98), (60.0, 0.9), (1e6, 0.8)],
)
def test_hosts_leave_out_what_is_late(latency_ms: float | None, ratio: float) -> None:
    assert drained_ratio(latency_ms, threshold_ms=20.0, period_s=0.5) == pytest.approx(ratio)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_law_without_sense_is_refused(wrong: float) -> None:
    with pytest.raises(ContractError):
        CapacityLaw(stated_iops=wrong, threshold_ms=20.0)
    with pytest.raises(ContractError):
        CapacityLaw(stated_iops=2000.0, threshold_ms=wrong)
