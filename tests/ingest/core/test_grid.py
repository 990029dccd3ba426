"""Counters on a grid: totals are kept, and what cannot be known stays unknown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.grid import (
    NOT_SENT,
    Grid,
    GridGrowth,
    Readings,
    grid_around,
    grid_of,
    merging,
    microseconds,
    moment,
    on_grid,
)

WINDOW_S = 10
S = 1_000_000
START = 1_000 * WINDOW_S * S

Rows = list[tuple[float, int]]
"""Seconds after the start of the grid, and the value of one counter."""


def grid(count: int) -> Grid:
    return Grid(since_us=START, window_us=WINDOW_S * S, count=count)


def readings(*series: Rows) -> Readings:
    rows = [
        (place, START + round(at_s * S), value)
        for place, own in enumerate(series)
        for at_s, value in own
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return Readings(series=table[:, 0], at_us=table[:, 1], values=table[:, 2:])


def grown(found: GridGrowth, series: int = 0) -> list[int | None]:
    return [
        int(growth) if seconds > 0 else None
        for growth, seconds in zip(
            found.growth[0, :, series], found.seconds[:, series], strict=True
        )
    ]


def one(rows: Rows, count: int) -> list[int | None]:
    return grown(on_grid(readings(rows), grid(count), series_count=1, counters=1))


class TestExamples:
    def test_readings_on_the_edges_are_taken_as_they_are(self) -> None:
        assert one([(0, 100), (10, 130), (20, 130), (30, 190)], 3) == [30, 0, 60]

    def test_a_counter_between_edges_is_interpolated(self) -> None:
        # 5 a second from second 4 on: 30 until 10, 50 until 20, the rest belongs to the next.
        assert one([(-6, 0), (4, 50), (14, 100), (24, 150)], 2) == [50, 50]

    def test_a_host_that_sends_every_five_minutes_fills_its_windows(self) -> None:
        rows: Rows = [(-600, 0), (-300, 3000), (0, 6000), (300, 9000)]
        assert one(rows, 30) == [100] * 30

    def test_after_a_pause_of_a_frequent_host_nothing_is_known(self) -> None:
        rows: Rows = [(-10, 0), (0, 10), (100, 110), (110, 120)]
        assert one(rows, 11) == [None] * 10 + [10]

    def test_a_short_pause_is_bridged_by_its_mean(self) -> None:
        assert one([(-10, 0), (0, 0), (30, 60), (40, 80)], 4) == [20, 20, 20, 20]

    def test_a_reset_hides_only_its_interval(self) -> None:
        assert one([(0, 5000), (10, 6000), (20, 30), (30, 90)], 3) == [1000, None, 60]

    def test_a_wrap_of_32_bits_goes_on(self) -> None:
        wrapped = readings([(0, 2**32 - 40), (10, 60)])
        found = on_grid(wrapped, grid(1), series_count=1, counters=1, wide=0)
        assert grown(found) == [100]

    def test_what_was_not_sent_is_unknown(self) -> None:
        assert one([(0, 5), (10, NOT_SENT), (20, 30), (30, 90)], 3) == [None, None, 60]

    def test_a_reading_a_moment_off_the_edge_counts_as_at_the_edge(self) -> None:
        assert one([(0.02, 0), (9.97, 100), (20.01, 150)], 2) == [100, 50]

    @pytest.mark.parametrize(("late_s", "first"), [(0.05, 30), (0.06, None)])
    def test_half_a_hundredth_of_a_window_is_a_moment(
        self, late_s: float, first: int | None
    ) -> None:
        found = on_grid(
            readings([(late_s, 100), (10, 130), (20, 130)]),
            grid(2),
            series_count=1,
            counters=1,
            least_cover=1.0,
        )
        assert grown(found) == [first, 0]

    def test_a_window_with_less_than_half_a_reading_is_unknown(self) -> None:
        found = on_grid(
            readings([(6, 0), (16, 100), (26, 200)]), grid(3), series_count=1, counters=1
        )
        assert grown(found) == [None, 100, 60]
        assert found.seconds[2, 0] == pytest.approx(6.0)

    def test_gauges_are_the_newest_at_each_edge(self) -> None:
        rows = readings([(0, 1), (10, 2), (20, 3)])
        with_gauge = Readings(
            series=rows.series,
            at_us=rows.at_us,
            values=np.column_stack([rows.values, [7, NOT_SENT, 9]]),
        )
        found = on_grid(with_gauge, grid(3), series_count=1, counters=1)
        assert found.gauges[0, :, 0].tolist() == [7, NOT_SENT, 9, 9]

    def test_gauge_of_another_series_is_not_its_own(self) -> None:
        # The only reading of the first series lies before those of the second.
        rows = readings([(0, 1)], [(10, 5)])
        with_gauge = Readings(
            series=rows.series, at_us=rows.at_us, values=np.column_stack([rows.values, [7, 8]])
        )
        found = on_grid(with_gauge, grid(1), series_count=2, counters=1)
        assert found.gauges[0].tolist() == [[7, NOT_SENT], [7, 8]]

    def test_without_readings_nothing_is_known(self) -> None:
        found = on_grid(readings([], [(0, 1)]), grid(2), series_count=3, counters=1)
        assert found.seconds.tolist() == [[0.0] * 3] * 2
        assert found.growth.shape == (1, 2, 3)


class TestGrids:
    def test_a_grid_has_the_windows_that_end_in_the_time(self) -> None:
        at = datetime(2026, 1, 1, 12, 0, 3, tzinfo=UTC)
        found = grid_of(at, at + timedelta(seconds=27), 10)
        assert found.ends == [
            datetime(2026, 1, 1, 12, 0, second, tzinfo=UTC) for second in (10, 20, 30)
        ]

    def test_a_grid_around_covers_the_whole_time(self) -> None:
        at = datetime(2026, 1, 1, 12, 0, 3, tzinfo=UTC)
        found = grid_around(at, at + timedelta(seconds=28), 10)
        assert (found.since.second, found.until.second) == (0, 40)
        assert [one.second for one in found.ends] == [10, 20, 30, 40]

    def test_ends_are_the_edges_but_the_first(self) -> None:
        edges = [START + place * WINDOW_S * S for place in range(4)]
        assert grid(3).edges_us.tolist() == edges
        assert grid(3).ends_us.tolist() == edges[1:]

    def test_part_of_a_grid(self) -> None:
        assert grid(5).part(1, 3).ends == grid(5).ends[1:3]

    def test_time_that_ends_before_it_begins_has_no_window(self) -> None:
        at = datetime(2026, 1, 1, 12, tzinfo=UTC)
        before = at - timedelta(seconds=60)
        assert [grid_of(at, before, 10).count, grid_around(at, before, 10).count] == [0, 0]
        assert [grid_of(at, at, 10).count, grid_around(at, at, 10).count] == [0, 0]
        assert grid(5).part(3, 2).count == 0


class TestMerging:
    def test_the_first_known_series_counts(self) -> None:
        found = on_grid(
            readings([(0, 0), (10, 50)], [(0, 0), (10, 7), (20, 14)]),
            grid(2),
            series_count=2,
            counters=1,
        )
        merged = found.merged(merging([[0, 1], [1], []]))
        assert grown(merged, 0) == [50, 7]
        assert grown(merged, 1) == [7, 7]
        assert grown(merged, 2) == [None, None]

    def test_the_first_gauge_that_was_sent_counts(self) -> None:
        rows = readings([(0, 0), (10, 1)], [(0, 0), (10, 1)])
        with_gauges = Readings(
            series=rows.series,
            at_us=rows.at_us,
            values=np.column_stack([rows.values, [7, NOT_SENT, 4, 5], [1, 2, 3, 4]]),
        )
        found = on_grid(with_gauges, grid(1), series_count=2, counters=1)
        assert found.gauges[:, :, 0].tolist() == [[7, NOT_SENT], [1, 2]]
        merged = found.merged(merging([[0, 1], [1, 0], []]))
        assert merged.gauges[0].tolist() == [[7, 4, NOT_SENT], [5, 5, NOT_SENT]]
        assert merged.gauges[1].tolist() == [[1, 3, NOT_SENT], [2, 4, NOT_SENT]]

    def test_without_any_series_nothing_is_known_of_a_subject(self) -> None:
        merged = on_grid(readings(), grid(2), series_count=0, counters=1).merged(merging([[], []]))
        assert merged.seconds.tolist() == [[0.0, 0.0]] * 2
        assert merged.growth.tolist() == [[[0, 0]] * 2]


@st.composite
def regular(draw: st.DrawFn) -> Rows:
    """Readings of one collector: any phase, some jitter, from before the grid to after it."""
    phase = draw(st.floats(-10, 0))
    growths = draw(st.lists(st.integers(0, 10**12), min_size=8, max_size=8))
    jitters = draw(st.lists(st.floats(0, 3), min_size=8, max_size=8))
    value, rows = draw(st.integers(1, 10**15)), []
    for index, (growth, jitter) in enumerate(zip(growths, jitters, strict=True)):
        value += growth
        rows.append((phase + 10 * index + jitter, value))
    return rows


class TestProperties:
    @given(rows=regular())
    def test_windows_are_the_interpolated_counter(self, rows: Rows) -> None:
        found = on_grid(readings(rows), grid(5), series_count=1, counters=1)
        at, values = np.array(rows).T
        for place in range(5):
            begin, end = np.interp([10 * place, 10 * place + 10], at, values - values[0])
            if at[0] <= 10 * place:
                # An edge is snapped by at most 50 ms, and rounded to a whole number.
                steepest = np.diff(values).max() / np.diff(at).min()
                assert found.growth[0, place, 0] == pytest.approx(
                    end - begin, abs=2 + 0.1 * steepest + 1e-6 * values[-1]
                )

    @given(rows=regular())
    def test_windows_add_up_to_what_a_long_window_grew_by(self, rows: Rows) -> None:
        short = on_grid(readings(rows), grid(4), series_count=1, counters=1)
        whole = Grid(since_us=START, window_us=4 * WINDOW_S * S, count=1)
        long = on_grid(readings(rows), whole, series_count=1, counters=1, least_cover=0.01)
        if (short.seconds > 0).all() and rows[0][0] <= -0.2:
            steepest = max(
                (after - before) / (end - begin)
                for (begin, before), (end, after) in pairwise(rows)
            )
            # The long window snaps readings that are 200 ms from its edges.
            assert short.growth.sum() == pytest.approx(long.growth.sum(), abs=2 + steepest)

    @given(series=st.lists(regular(), min_size=1, max_size=4))
    def test_many_series_give_what_each_gives_alone(self, series: list[Rows]) -> None:
        together = on_grid(readings(*series), grid(6), series_count=len(series), counters=1)
        for place, rows in enumerate(series):
            assert grown(together, place) == one(rows, 6)

    @given(rows=regular(), cut=st.integers(1, 7))
    def test_readings_that_come_later_change_no_window_that_was_enclosed(
        self, rows: Rows, cut: int
    ) -> None:
        early, late = one(rows[:cut], 6), one(rows, 6)
        for place in range(6):
            if rows[cut - 1][0] >= 10 * (place + 1):
                assert early[place] == late[place]


# 2001-09-09 01:46:40 UTC is 10^9 seconds after 1970.
BILLIONTH_SECOND = datetime(2001, 9, 9, 1, 46, 40, 7, tzinfo=UTC)


def test_moment_and_microseconds_are_each_others_inverse() -> None:
    assert moment(10**15 + 7) == BILLIONTH_SECOND
    assert microseconds(BILLIONTH_SECOND) == 10**15 + 7
