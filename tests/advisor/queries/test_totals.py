"""Sums know what is absent, cells lie on whole steps, and the newest minute is the newest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.history.history import numbers
from advisor.history.recent_rates import recent_grid, recent_means
from advisor.queries.charts import ChartSpan, charts_on
from advisor.queries.totals import total, total_of
from ingest.core.steps import STEPS_S

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NAN = float("nan")


@given(st.integers(0, 86_400), st.integers(0, 86_400), st.sampled_from(STEPS_S))
def test_cells_end_on_whole_steps_inside_the_range(offset: int, length: int, step_s: int) -> None:
    since = START + timedelta(seconds=offset)
    until = since + timedelta(seconds=length)

    drawn = charts_on(ChartSpan(since=since, until=until, points=400).grid(step_s, finest_s=1), [])

    assert drawn.step_s == step_s
    assert all(end % step_s == 0 for end in drawn.ends_s)
    assert all(since.timestamp() < end <= until.timestamp() for end in drawn.ends_s)
    assert len(drawn.ends_s) >= length // step_s - 1


@given(st.integers(60, 10**7), st.integers(10, 2000), st.floats(1, 3600))
def test_step_keeps_to_the_points_and_is_no_finer_than_the_windows(
    length: int, points: int, finest_s: float
) -> None:
    span = ChartSpan(since=START, until=START + timedelta(seconds=length), points=points)

    grid = span.grid(None, finest_s=finest_s)

    is_coarsest = grid.window_s == STEPS_S[-1]
    assert grid.window_s in STEPS_S
    assert length / grid.window_s <= points or is_coarsest
    assert grid.window_s >= finest_s or is_coarsest


def test_sum_of_rows_knows_a_cell_that_any_row_knows() -> None:
    assert total_of([[1.0, None, None], [2.0, 3.0, None]]) == [3.0, 3.0, None]


def test_sum_of_columns_knows_a_window_that_any_column_knows() -> None:
    columns = np.array([[1.0, 2.0], [NAN, 3.0], [NAN, NAN]])

    assert numbers(total(columns)) == [3.0, 3.0, None]


def test_sum_of_no_columns_is_unknown() -> None:
    assert numbers(total(np.zeros((2, 0)))) == [None, None]


def test_newest_minute_is_that_before_the_newest_known_window() -> None:
    # 12 windows of 10 s: 100 in the first five, 40 in six more, and nothing in the last.
    rate = np.array([100.0] * 5 + [40.0] * 6 + [NAN])[:, None]
    seconds = np.where(np.isnan(rate), 0.0, 10.0)

    assert recent_grid(START).count == len(rate)
    # The six windows that end with the newest known one.
    assert recent_means(rate, seconds).tolist() == [40.0]


def test_newest_minute_weighs_windows_by_the_time_that_is_known() -> None:
    rate, seconds = np.full((12, 1), NAN), np.zeros((12, 1))
    rate[10], rate[11] = 100.0, 40.0
    seconds[10], seconds[11] = 10.0, 5.0

    # (10 s of 100 and 5 s of 40) / 15 s
    assert recent_means(rate, seconds).tolist() == [pytest.approx(80.0)]


def test_newest_minute_of_what_was_not_measured_is_unknown() -> None:
    assert numbers(recent_means(np.full((12, 1), NAN), np.zeros((12, 1)))) == [None]
