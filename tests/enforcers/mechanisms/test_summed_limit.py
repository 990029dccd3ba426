"""One limit over several disks: their parts, over periods, with a fluid of demands."""

from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enforcers.mechanisms.cgroup_io.summed_limit import DiskUse, parts_of_sum

LIMIT = 500.0
HELD_RATIO = 0.9
demands = st.lists(st.floats(0.0, 2000.0), min_size=2, max_size=6)


def period(parts: Sequence[float], wanted: Sequence[float]) -> list[DiskUse]:
    """What disks do that want so much and are let do no more than their parts."""
    return [
        DiskUse(rate=min(part, want), is_held=want >= HELD_RATIO * part)
        for part, want in zip(parts, wanted, strict=True)
    ]


def after(wanted: Sequence[float], *, periods: int = 20) -> list[float]:
    """What each gets in the end."""
    parts: Sequence[float] = [LIMIT / len(wanted)] * len(wanted)
    for _ in range(periods):
        parts = parts_of_sum(LIMIT, period(parts, wanted))
    return [disk.rate for disk in period(parts, wanted)]


@pytest.mark.parametrize(
    ("wanted", "got"),
    [
        ([2000.0, 2000.0], [250.0, 250.0]),
        ([100.0, 2000.0], [100.0, 400.0]),
        ([0.0, 2000.0], [0.0, 500.0]),
        ([100.0, 200.0], [100.0, 200.0]),
        ([50.0, 2000.0, 2000.0], [50.0, 225.0, 225.0]),
    ],
    ids=["both want all", "one wants little", "one is idle", "nobody is held", "three"],
)
def test_disks_share_what_the_others_leave(wanted: list[float], got: list[float]) -> None:
    assert after(wanted) == pytest.approx(got)


@given(demands)
@example([90.0, 90.0, 90.0, 90.0, 130.0])
def test_sum_comes_to_the_limit_where_more_is_wanted_and_never_beyond_it(
    wanted: list[float],
) -> None:
    sums = [sum(after(wanted, periods=periods)) for periods in range(16, 24)]

    least = min(LIMIT, sum(wanted))
    assert max(sums) <= least * (1 + 1e-9)
    # A disk that does nine tenths of its part counts as held, and keeps what it leaves of it.
    assert sum(sums) / len(sums) >= HELD_RATIO * least


@given(demands, st.integers(0, 5))
def test_idle_disk_that_comes_back_has_its_equal_part_in_the_second_period(
    wanted: list[float], which: int
) -> None:
    which %= len(wanted)
    idle = [0.0 if index == which else want for index, want in enumerate(wanted)]
    parts: Sequence[float] = [LIMIT / len(wanted)] * len(wanted)
    for _ in range(20):
        parts = parts_of_sum(LIMIT, period(parts, idle))

    back = [2000.0 if index == which else want for index, want in enumerate(wanted)]
    first = period(parts, back)
    then = parts_of_sum(LIMIT, first)

    assert first[which].rate >= 0.05 * LIMIT
    assert then[which] >= LIMIT / len(wanted) * (1 - 1e-9)


@given(
    st.lists(st.builds(DiskUse, rate=st.floats(0.0, 2000.0), is_held=st.booleans()), min_size=1)
)
def test_those_that_are_held_have_equal_parts_of_what_the_others_leave(
    disks: list[DiskUse],
) -> None:
    parts = parts_of_sum(LIMIT, disks)

    held = [part for one, part in zip(disks, parts, strict=True) if one.is_held]
    level = max(held, default=0.0)
    others = [min(one.rate, level) for one in disks if not one.is_held]
    assert all(part >= 0 for part in parts)
    assert held == pytest.approx([level] * len(held))
    assert not held or sum(held) + sum(others) == pytest.approx(LIMIT)
