"""How a reservation is judged by intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.testbed.intervals import Interval, kept_ratio, overshoot_ratio, total_ratio

RATES = st.floats(min_value=0, max_value=5000)
INTERVALS = st.lists(
    st.builds(
        Interval,
        since_change_s=st.integers(min_value=0, max_value=20),
        active=st.integers(min_value=1, max_value=8),
        first_iops=st.none() | RATES,
        total_iops=RATES,
    ),
    max_size=30,
)


def interval(first_iops: float | None, *, since_change_s: int = 1, active: int = 8) -> Interval:
    return Interval(
        since_change_s=since_change_s,
        active=active,
        first_iops=first_iops,
        total_iops=2000.0,
    )


@given(INTERVALS)
def test_kept_ratio_is_between_none_and_all(intervals: list[Interval]) -> None:
    kept = kept_ratio(intervals, 800)

    assert kept is None or 0 <= kept <= 1


@given(INTERVALS, RATES)
def test_first_second_after_a_change_counts_for_nothing(
    intervals: list[Interval], rate: float
) -> None:
    more = [*intervals, interval(rate, since_change_s=0)]

    assert kept_ratio(more, 800) == kept_ratio(intervals, 800)
    assert overshoot_ratio(more, 800, 2000) == overshoot_ratio(intervals, 800, 2000)


@pytest.mark.parametrize(
    ("rates", "kept"),
    [
        ([800, 790], 1.0),
        ([760, 759], 0.5),  # 95 % of 800 is 760
        ([None, 241], 0.0),  # a pause keeps nothing and breaks nothing
        ([None], None),
        ([], None),
    ],
)
def test_reservation_is_kept_from_95_per_cent_on(
    rates: list[float | None], kept: float | None
) -> None:
    assert kept_ratio([interval(rate) for rate in rates], 800) == kept


def test_overshoot_is_measured_from_what_the_group_is_due() -> None:
    crowded = interval(840.0)  # due 800, for its equal share of 250 is less
    alone_with_one = interval(1000.0, active=2)  # due 1000, half of the disk

    assert overshoot_ratio([crowded, alone_with_one], 800, 2000) == pytest.approx(0.05)
    assert overshoot_ratio([alone_with_one], 800, 2000) == 0.0


def test_total_is_the_mean_beside_the_capacity() -> None:
    assert total_ratio([interval(None), interval(800.0)], 2500) == pytest.approx(0.8)
    assert total_ratio([], 2500) is None
