from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enforcers.reader.latency_histogram import Histogram

BOUNDARIES = st.lists(st.integers(1, 10**10), min_size=1, max_size=6, unique=True).map(sorted)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    boundaries = draw(BOUNDARIES)
    count = len(boundaries) + 1
    bins = draw(st.lists(st.integers(0, 10**6), min_size=count, max_size=count))
    return Histogram(tuple(boundaries), tuple(bins))


@given(found=histograms(), ratio=st.floats(0.001, 1))
def test_quantile_lies_in_the_bin_where_so_many_requests_are_reached(
    found: Histogram, ratio: float
) -> None:
    value = found.quantile_ns(ratio)

    if sum(found.bins) == 0:
        assert value is None
        return
    reached = list(accumulate(found.bins))
    at = next(at for at, count in enumerate(reached) if count >= ratio * reached[-1])
    edges = (0, *found.boundaries_ns, found.boundaries_ns[-1])
    assert value is not None
    assert edges[at] <= value <= edges[at + 1]


@given(found=histograms(), low=st.floats(0.001, 1), high=st.floats(0.001, 1))
def test_quantiles_rise(found: Histogram, low: float, high: float) -> None:
    low, high = min(low, high), max(low, high)

    assert (found.quantile_ns(low) or 0) <= (found.quantile_ns(high) or 0)


def test_requests_of_a_bin_are_evenly_spread() -> None:
    found = Histogram((1000, 2000), (0, 4, 0))

    # The second of four, between 1000 and 2000 ns.
    assert found.quantile_ns(0.5) == 1500


def test_of_what_is_beyond_the_last_boundary_that_is_given() -> None:
    assert Histogram((1000, 2000), (1, 0, 9)).quantile_ns(0.99) == 2000


def test_since_takes_the_earlier_requests_away() -> None:
    assert Histogram((10,), (5, 7)).since(Histogram((10,), (4, 2))) == Histogram((10,), (1, 5))


@pytest.mark.parametrize(
    "before", [Histogram((10,), (6, 0)), Histogram((20,), (1, 1))], ids=["set anew", "other bins"]
)
def test_histogram_that_was_set_anew_gives_nothing_for_one_pass(before: Histogram) -> None:
    assert Histogram((10,), (5, 7)).since(before) is None


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        {},
        {"boundaries": [10], "bins": [1]},
        {"boundaries": [], "bins": [1]},
        {"boundaries": [10, 10], "bins": [1, 2, 3]},
        {"boundaries": [10], "bins": [1, -1]},
        {"boundaries": [10], "bins": [1, True]},
        {"boundaries": "10", "bins": [1, 2]},
    ],
)
def test_what_is_no_histogram_is_none(said: Any) -> None:
    assert Histogram.of(said) is None
