"""Histograms of days add up exactly and give percentiles within the stated error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.histogram import (
    LARGEST,
    RELATIVE_ERROR,
    SMALLEST,
    DamagedHistogramError,
    counts_of,
    histograms,
    merged,
    percentile,
)

GOLDEN = Path(__file__).parent / "golden"
VALUES = st.lists(st.one_of(st.just(0.0), st.floats(SMALLEST, LARGEST)), min_size=1, max_size=60)


def column(values: list[float]) -> npt.NDArray[np.float64]:
    return np.array(values)[:, None]


def golden_values() -> npt.NDArray[np.float64]:
    return column([0.0] * 300 + [0.1, 0.1, 12.5, 13.0, 13.0, 4e6, np.nan])


@given(VALUES, st.floats(0, 100))
def test_percentile_is_within_the_stated_error(values: list[float], percent: float) -> None:
    (data,) = histograms(column(values))

    exact = np.percentile(values, percent, method="inverted_cdf")
    assert percentile(data, percent) == pytest.approx(exact, rel=RELATIVE_ERROR * 1.001)


@pytest.mark.parametrize("count", [127, 128, 129, 16_384])
def test_histogram_holds_any_number_of_equal_values(count: int) -> None:
    # Numbers are written in sevens of bits.
    (data,) = histograms(column([12.5] * count + [0.0]))

    assert sorted(counts_of(data).tolist())[-2:] == [1, count]


@given(VALUES, VALUES)
def test_merged_histogram_is_that_of_all_values(one: list[float], other: list[float]) -> None:
    parts = [histograms(column(values))[0] for values in (one, other)]

    assert merged(parts) == histograms(column(one + other))[0]


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_each_column_has_its_own_histogram(columns: list[list[float]]) -> None:
    longest = max(len(values) for values in columns)
    padded = [values + [np.nan] * (longest - len(values)) for values in columns]

    assert histograms(np.array(padded).T) == [histograms(column(values))[0] for values in columns]


@given(VALUES, st.data())
def test_cut_histogram_is_an_error(values: list[float], data: st.DataObject) -> None:
    (whole,) = histograms(column(values))

    with pytest.raises(DamagedHistogramError):
        counts_of(whole[: data.draw(st.integers(0, len(whole) - 1))])


def test_day_without_a_known_value_has_no_percentile() -> None:
    (data,) = histograms(column([np.nan, np.nan]))

    assert percentile(data, 95) is None
    assert len(data) == 2


def test_values_beyond_the_largest_count_as_the_largest() -> None:
    (data,) = histograms(column([LARGEST * 1000]))

    assert percentile(data, 50) == pytest.approx(LARGEST, rel=0.06)


def test_histogram_of_another_version_says_so() -> None:
    with pytest.raises(DamagedHistogramError, match="no histogram of version 1"):
        counts_of(b"\x02")


def test_idle_day_takes_seven_bytes() -> None:
    """The version, 8,640 in two bytes, no gap, a run of one bucket, and 8,640 once more."""
    (data,) = histograms(np.zeros((8640, 1)))

    assert len(data) == 7


def test_histograms_written_by_every_version_are_read_for_ever() -> None:
    """The file was written when version 1 came; it is never written again."""
    data = (GOLDEN / "day-1.histogram").read_bytes()

    assert histograms(golden_values()) == [data]
    assert counts_of(data).sum() == 306
    # The 303rd of 306, after 300 zeros and twice 0.1.
    assert percentile(data, 99) == pytest.approx(12.5, rel=RELATIVE_ERROR)
