"""Columns of the timeline of an incident."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.reporting.incident_timeline import (
    last_of_cells,
    quantiles_of_cells,
    rest_of,
)


def test_quantiles_are_values_that_were_measured_in_the_cell() -> None:
    places = np.array([0, 0, 0, 0, 2, 2, -1])
    values = np.array([4.0, 1.0, 3.0, 2.0, 9.0, np.nan, 50.0])

    median, high = quantiles_of_cells(places, values, cells=4)

    # Half of 1, 2, 3, 4 are at most 2, 95 % at most 4; a cell without a value has none.
    assert median == (2.0, None, 9.0, None)
    assert high == (4.0, None, 9.0, None)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1e6)), min_size=1, max_size=60).map(
        lambda rows: sorted(rows, key=lambda row: row[0])
    )
)
def test_median_is_never_above_the_95th_percentile(rows: list[tuple[int, float]]) -> None:
    places = np.array([place for place, _ in rows])
    values = np.array([value for _, value in rows])

    median, high = quantiles_of_cells(places, values, cells=5)

    for place, (low, top) in enumerate(zip(median, high, strict=True)):
        own = [value for cell, value in rows if cell == place]
        assert (low is None) == (top is None) == (not own)
        if low is not None and top is not None:
            assert min(own) <= low <= top <= max(own)


def test_newest_known_value_of_a_cell_stands_for_it() -> None:
    places = np.array([0, 0, 1, -1])

    assert last_of_cells(places, np.array([15.0, 20.0, np.nan, 1.0]), cells=2) == (20.0, None)


def test_rest_of_a_load_is_unknown_where_the_load_is_and_never_negative() -> None:
    parts = [(2.0, 1.0, 9.0), (1.0, None, 0.0)]

    assert rest_of([10.0, None, 8.0], parts) == (7.0, None, 0.0)
