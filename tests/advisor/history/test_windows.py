"""Every rate belongs to one window, however late its collector was."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.interval_mean import mean_rate
from advisor.history.windows import Span, last_window_end, window_end

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    at: datetime
    seconds: float


def collected(lateness_s: list[float]) -> list[Rate]:
    """One rate per 10 s, each stamped so much later than its due time."""
    stamps = [START + timedelta(seconds=10 * n + late) for n, late in enumerate(lateness_s)]
    return [
        Rate(at=at, seconds=(at - before).total_seconds())
        for before, at in itertools.pairwise(stamps)
    ]


@given(st.lists(st.floats(min_value=-0.9, max_value=4.0), min_size=3, max_size=50))
def test_each_window_has_exactly_its_own_rate(lateness_s: list[float]) -> None:
    rates = collected(lateness_s)
    span = Span(since=START, until=START + timedelta(hours=1), window_s=10.0)

    windows = span.group(rates)

    # lateness changes by less than half a window, so no rate leaves its own
    assert [len(found) for found in windows.values()] == [1] * len(rates)
    assert list(windows) == [START + timedelta(seconds=10 * (n + 1)) for n in range(len(rates))]


@pytest.mark.parametrize("late_s", [0.0, 0.004], ids=["on time", "late"])
def test_rate_over_two_windows_holds_for_both(late_s: float) -> None:
    at = START + timedelta(seconds=20 + late_s)
    span = Span(since=START, until=START + timedelta(seconds=40), window_s=10.0)

    windows = span.group([Rate(at=at, seconds=20.0)])

    ends = [START + timedelta(seconds=10), START + timedelta(seconds=20)]
    assert list(windows) == ends
    assert [found[0].seconds for found in windows.values()] == [10.0, 10.0]


def test_rates_of_other_windows_are_left_out() -> None:
    span = Span(
        since=START + timedelta(seconds=10), until=START + timedelta(seconds=20), window_s=10.0
    )

    windows = span.group(collected([0.0, 0.0, 0.0, 0.0]))

    assert list(windows) == [START + timedelta(seconds=20)]


def test_several_rates_in_a_window_count_by_their_length() -> None:
    rates = [Rate(at=START, seconds=1.0), Rate(at=START, seconds=3.0)]

    # (8 · 1 + 4 · 3) / 4
    assert mean_rate(rates, [8.0, 4.0]) == 5.0


@pytest.mark.parametrize(
    ("seconds", "end_s"), [(0.0, 10), (9.999, 10), (10.0, 20)], ids=["first", "last", "next"]
)
def test_moment_lies_in_the_window_that_ends_after_it(seconds: float, end_s: int) -> None:
    moment = START + timedelta(seconds=seconds)

    assert window_end(moment, 10.0) == START + timedelta(seconds=end_s)


def test_window_is_over_at_its_end() -> None:
    assert last_window_end(START + timedelta(seconds=10), 10.0) == START + timedelta(seconds=10)
    assert last_window_end(START + timedelta(seconds=9), 10.0) == START
