from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ingest.core.grid import WRAP_32
from ingest.core.growth_columns import (
    GrowthColumns,
    NoRateReason,
    growth_columns,
    longest_interval_of,
    merged_columns,
    no_rate_reasons,
)
from tests.ingest.core.readings import NEVER, START, Columns, at, columns, every, rows_of

SECOND_US = 1_000_000


def growths(
    readings: Columns, *, wide: int | None = None, longest_s: float = NEVER
) -> list[tuple[int, ...] | NoRateReason]:
    found = iter(rows_of(growth_columns(*readings, longest_s=longest_s, wide=wide).growth))
    reasons = no_rate_reasons(*readings, longest_s=longest_s, wide=wide)
    told = [next(found) if reason is None else reason for reason in reasons]
    assert next(found, None) is None
    return told


GROWTHS = st.lists(
    st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1)), min_size=1, max_size=20
)


@given(GROWTHS, st.integers(0, 2**62), st.integers(0, WRAP_32 - 1))
def test_growth_is_recovered_through_wraps(
    grown: list[tuple[int, int]], start_wide: int, start_narrow: int
) -> None:
    # A 64-bit counter beside a 32-bit one, as the kernel prints them.
    wide, narrow, sent = start_wide, start_narrow, [(start_wide, start_narrow)]
    for more_wide, more_narrow in grown:
        wide, narrow = wide + more_wide, (narrow + more_narrow) % WRAP_32
        sent.append((wide, narrow))

    assert growths(every(*sent), wide=1) == grown


@given(
    st.lists(st.integers(1, 10**6), min_size=1, max_size=10),
    st.lists(st.integers(1, 10**6), min_size=1, max_size=10),
)
def test_growth_around_a_reset_is_what_was_counted_on_either_side(
    before: list[int], after: list[int]
) -> None:
    def counting(grown: list[int]) -> list[int]:
        return [sum(grown[:count]) for count in range(1, len(grown) + 1)]

    assume(after[0] < sum(before))
    values = [0, *counting(before), *counting(after)]

    found = growths(every(*((value, value) for value in values)))

    assert found.count(NoRateReason.RESET) == 1
    # The first growth after the reset began at an unknown time, so it is in no interval.
    counted = sum(growth[0] for growth in found if isinstance(growth, tuple))
    assert counted == sum(before) + sum(after[1:])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param((100, 200), (150, 200), (50, 0), id="growth"),
        pytest.param((100, 200), (0, 0), NoRateReason.RESET, id="reset to zero"),
        pytest.param((100, 200), (3, 5), NoRateReason.RESET, id="reset and counting again"),
        pytest.param((100, 200), (150, 5), NoRateReason.RESET, id="one counter already beyond"),
        pytest.param((100, 200), (150, 199), NoRateReason.RESET, id="a step back of one"),
        # 2^32 - 16 + 16 + 84 = 84 beyond the wrap
        pytest.param((WRAP_32 - 16, 200), (84, 300), (100, 100), id="32-bit wrap"),
        # From 2^31 down to 0 is a growth of 2^31, half of what a wrap takes.
        pytest.param((2**31, 200), (0, 300), NoRateReason.RESET, id="half a wrap"),
        pytest.param((2**31 + 1, 200), (0, 300), (2**31 - 1, 100), id="less than half a wrap"),
        pytest.param((WRAP_32, 200), (84, 300), NoRateReason.RESET, id="beyond 32 bits"),
        pytest.param((2**63 - 1, 200), (84, 300), NoRateReason.RESET, id="no wrap at 63 bits"),
        pytest.param((5, None), (6, 1), NoRateReason.INCOMPLETE, id="a counter not sent"),
        pytest.param((5, 1), (6, None), NoRateReason.INCOMPLETE, id="a counter sent no more"),
        pytest.param((0, 0), (0, 0), (0, 0), id="nothing happened"),
        pytest.param((0, 0), (7, 0), (7, 0), id="first activity"),
    ],
)
def test_two_readings_give_a_growth_or_a_reason(
    before: tuple[int, int],
    after: tuple[int, int],
    expected: tuple[int, int] | NoRateReason,
) -> None:
    assert growths(every(before, after)) == [expected]


@pytest.mark.parametrize(
    ("wide", "expected"),
    # read_time of diskstats: 32-bit milliseconds, 50 ms before its wrap and 30 ms after it.
    [(1, (2, 80)), (2, (2, 80))],
)
def test_narrow_counter_wraps_while_wide_ones_count_on(
    wide: int, expected: tuple[int, int]
) -> None:
    assert growths(every((10, WRAP_32 - 50), (12, 30)), wide=wide) == [expected]


def test_narrow_counters_do_not_hide_that_the_wide_ones_start_again() -> None:
    # 32-bit milliseconds grew by 5, but all 64-bit counters went down, as if at a wrap.
    readings = every((WRAP_32 - 50, 10), (30, 15))

    assert growths(readings, wide=1) == [NoRateReason.RESET]
    assert growths(readings, wide=2) == [(80, 5)]


def test_gap_gives_no_growth_but_a_reason() -> None:
    readings = columns(*((s, (s, s)) for s in (0, 10, 50, 60)))

    # 40 s are longer than 30 s.
    assert growths(readings, longest_s=30) == [(10, 10), NoRateReason.GAP, (10, 10)]
    assert growths(readings, longest_s=40) == [(10, 10), (40, 40), (10, 10)]
    found = growth_columns(*readings, longest_s=30)
    assert found.ends_s.tolist() == [at(10).timestamp(), at(60).timestamp()]
    assert found.seconds.tolist() == [10, 10]


def test_reason_of_a_gap_comes_before_others() -> None:
    assert growths(columns((0, (5, 5)), (50, (1, 1))), longest_s=30) == [NoRateReason.GAP]
    assert growths(every((5, 5), (1, None))) == [NoRateReason.INCOMPLETE]


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_readings_grow_nothing(count: int) -> None:
    readings = columns(*[(0, (5, 5))] * count, width=2)

    assert growths(readings) == []


@pytest.mark.parametrize(
    ("seconds", "step_s", "expected"),
    [
        pytest.param([0, 10, 20, 31], 0, 30, id="three typical intervals"),
        # The middle of 10 s and 20 s is 15 s.
        pytest.param([0, 10, 30], 0, 45, id="an even number of intervals"),
        pytest.param([0, 10, 20, 620, 630], 0, 30, id="a gap does not count as typical"),
        pytest.param([0, 10], 0, 30, id="two readings"),
        pytest.param([0, 7200], 0, 900, id="two readings far apart"),
        pytest.param([0], 0, 900, id="one reading"),
        pytest.param([0, 3600, 7200], 3600, 10800, id="asked for hourly"),
    ],
)
def test_longest_interval_is_three_typical_ones(
    seconds: list[int], step_s: float, expected: float
) -> None:
    at_us, _ = columns(*((s, (0,)) for s in seconds))

    assert longest_interval_of(at_us, step_s=step_s) == expected


def intervals(*spans: tuple[int, int], growth: int = 0) -> GrowthColumns:
    """Intervals from one second to another."""
    ends_us = [end * SECOND_US for _, end in spans]
    return GrowthColumns(
        at_us=np.array(ends_us, dtype=np.int64),
        interval_us=np.array([(end - start) * SECOND_US for start, end in spans], dtype=np.int64),
        growth=np.full((len(spans), 1), growth, dtype=np.int64),
    )


def merged(*parts: GrowthColumns, since: int = 0, until: int = 100) -> list[tuple[int, int, int]]:
    found = merged_columns(parts, since_us=since * SECOND_US, until_us=until * SECOND_US, width=1)
    starts_us = found.at_us - found.interval_us
    return [
        (start // SECOND_US, end // SECOND_US, growth)
        for start, end, growth in zip(
            starts_us.tolist(), found.at_us.tolist(), found.growth[:, 0].tolist(), strict=True
        )
    ]


def test_of_two_series_that_overlap_the_first_is_believed() -> None:
    first = intervals((10, 20), (20, 30), growth=1)
    # The one from 5 to 12 and the one from 29 to 40 share time with the first series.
    second = intervals((0, 5), (5, 12), (29, 40), (40, 50), growth=2)

    assert merged(first, second) == [(0, 5, 2), (10, 20, 1), (20, 30, 1), (40, 50, 2)]


def test_intervals_that_touch_do_not_overlap() -> None:
    first = intervals((10, 20), growth=1)
    second = intervals((0, 10), (20, 30), growth=2)

    assert merged(first, second) == [(0, 10, 2), (10, 20, 1), (20, 30, 2)]


def test_intervals_are_those_that_end_in_the_range() -> None:
    assert merged(intervals((0, 10), (10, 20), (20, 30), (30, 40)), since=10, until=30) == [
        (10, 20, 0),
        (20, 30, 0),
    ]


def test_no_series_makes_no_interval() -> None:
    assert merged() == []


SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=6).map(
    lambda steps: [
        (start, start + length)
        for start, length in zip(
            np.cumsum([gap + length for gap, length in steps]).tolist(),
            [length for _, length in steps],
            strict=True,
        )
    ]
)


@given(st.lists(SPANS, max_size=4))
def test_merged_intervals_are_in_order_and_each_moment_is_told_once(
    series: list[list[tuple[int, int]]],
) -> None:
    apart = [_without_overlap(spans) for spans in series]

    found = merged(*(intervals(*spans) for spans in apart), since=-1, until=10**6)

    ends = [end for _, end, _ in found]
    starts = [start for start, _, _ in found]
    assert ends == sorted(ends)
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    # Every interval that was left out shares time with one that was told.
    for start, end in (span for spans in apart for span in spans):
        assert any(start < other_end and other < end for other, other_end, _ in found)
    assert {span for spans in apart[:1] for span in spans} <= {(a, b) for a, b, _ in found}


def _without_overlap(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for span in spans:
        if not kept or kept[-1][1] <= span[0]:
            kept.append(span)
    return kept


def test_times_are_since_1970() -> None:
    found = growth_columns(*every((0,), (5,)), longest_s=NEVER)

    assert found.ends_s.tolist() == [START.timestamp() + 10]
