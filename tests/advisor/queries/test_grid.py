"""Intervals of any length, laid on a grid, keep their amounts; gaps stay gaps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queries.grid import Grid, fitting_step_s, make_grid, mean_on, total_of
from ingest.core.steps import STEPS_S

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    at: datetime
    seconds: float


def spans(lengths: list[float]) -> list[Span]:
    """Intervals that follow each other from START on."""
    found, end = [], START
    for length in lengths:
        end += timedelta(seconds=length)
        found.append(Span(at=end, seconds=length))
    return found


def grid_over(seconds: float, step_s: int) -> Grid:
    return make_grid(START, START + timedelta(seconds=seconds), step_s)


lengths = st.lists(st.floats(min_value=0.5, max_value=90), min_size=1, max_size=40)
steps = st.sampled_from([5, 10, 30, 60])


@given(lengths, steps, st.data())
def test_amount_in_fully_covered_cells_is_kept(
    lengths: list[float], step_s: int, data: st.DataObject
) -> None:
    found = spans(lengths)
    whole_s = sum(lengths) // step_s * step_s
    grid = grid_over(whole_s, step_s)
    values = data.draw(st.lists(st.floats(0, 1e6), min_size=len(lengths), max_size=len(lengths)))

    means = mean_on(grid, found, values)

    expected = 0.0
    passed_s = 0.0
    for length, value in zip(lengths, values, strict=True):
        expected += value * max(0.0, min(length, whole_s - passed_s))
        passed_s += length
    amounts = sum(mean * step_s for mean in means if mean is not None)
    # The clock tells microseconds, so each interval moves by one, at up to 1e6 a second.
    assert amounts == pytest.approx(expected, rel=1e-6, abs=len(lengths))


@given(lengths, steps)
def test_mean_of_a_constant_is_the_constant(lengths: list[float], step_s: int) -> None:
    grid = grid_over(sum(lengths), step_s)

    means = mean_on(grid, spans(lengths), [7.0] * len(lengths))

    assert all(mean is None or mean == pytest.approx(7.0) for mean in means)


def test_cell_takes_each_interval_for_the_time_it_covers() -> None:
    # 10 s cells; the second interval covers half of each cell it touches.
    found = spans([5.0, 10.0, 5.0])

    means = mean_on(grid_over(20, 10), found, [2.0, 4.0, 6.0])

    assert means == [pytest.approx(3.0), pytest.approx(5.0)]


def test_gap_is_a_gap() -> None:
    found = [spans([10.0])[0], Span(at=START + timedelta(seconds=40), seconds=10.0)]

    means = mean_on(grid_over(40, 10), found, [1.0, 2.0])

    assert means == [1.0, None, None, 2.0]


@pytest.mark.parametrize(("seconds", "known"), [(4.9, False), (5.0, True)])
def test_cell_is_known_from_half_of_its_time_on(seconds: float, known: bool) -> None:
    means = mean_on(grid_over(10, 10), spans([seconds]), [1.0])

    assert (means[0] is not None) is known


def test_value_that_is_not_known_covers_nothing() -> None:
    assert mean_on(grid_over(10, 10), spans([10.0]), [None]) == [None]


@given(st.integers(0, 86_400), st.integers(0, 86_400), st.sampled_from(STEPS_S))
def test_cells_end_on_whole_steps_inside_the_range(offset: int, length: int, step_s: int) -> None:
    since = START + timedelta(seconds=offset)
    until = since + timedelta(seconds=length)

    grid = make_grid(since, until, step_s)

    assert all(end % step_s == 0 for end in grid.ends_s)
    assert all(since.timestamp() < end <= until.timestamp() for end in grid.ends_s)


@given(st.integers(60, 10**7), st.integers(10, 2000), st.floats(0.5, 3600))
def test_step_keeps_to_the_points_and_is_no_finer_than_the_samples(
    length: int, points: int, usual_s: float
) -> None:
    until = START + timedelta(seconds=length)

    step_s = fitting_step_s(
        [Span(at=until, seconds=usual_s)], since=START, until=until, points=points
    )

    is_coarsest = step_s == STEPS_S[-1]
    assert step_s in STEPS_S
    assert length / step_s <= points or is_coarsest
    assert step_s >= 0.95 * usual_s or is_coarsest


def test_sum_of_rows_knows_a_cell_that_any_row_knows() -> None:
    assert total_of([[1.0, None, None], [2.0, 3.0, None]]) == [3.0, 3.0, None]


def plain_mean_on(
    grid: Grid, intervals: list[Span], values: list[float | None]
) -> list[float | None]:
    """Interval by interval and cell by cell, the way it is meant."""
    sums, cover = [0.0] * len(grid.ends_s), [0.0] * len(grid.ends_s)
    for interval, value in zip(intervals, values, strict=True):
        if value is not None:
            for index, seconds in grid.cover(interval):
                sums[index] += value * seconds
                cover[index] += seconds
    return [
        total / seconds if seconds >= grid.step_s / 2 else None
        for total, seconds in zip(sums, cover, strict=True)
    ]


@given(lengths, steps, st.integers(-300, 300), st.data())
def test_means_are_those_of_adding_one_by_one_to_the_last_bit(
    lengths: list[float], step_s: int, offset_s: int, data: st.DataObject
) -> None:
    found = spans(lengths)
    since = START + timedelta(seconds=offset_s)
    grid = make_grid(since, since + timedelta(seconds=600), step_s)
    numbers = st.none() | st.floats(0, 1e6)
    values = data.draw(st.lists(numbers, min_size=len(lengths), max_size=len(lengths)))

    assert mean_on(grid, found, values) == plain_mean_on(grid, found, values)
