"""The day on which demand reaches what there is."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.demand.full_day import (
    ENOUGH_DAYS,
    HORIZON_DAYS,
    TUNING,
    FullDay,
    Tuning,
    draw_peaks,
    first_days,
    full_day,
    quantile_day,
)


def foretold(peaks: list[float | None], full: float) -> FullDay:
    found = full_day(peaks, full=full, random=Random(0))
    assert isinstance(found, FullDay)
    return found


def growing(days: int, *, a_day: float, noise: float = 0.0) -> list[float | None]:
    drawn = np.random.default_rng(2).normal(0.0, noise, days)
    return [100.0 + a_day * day + off for day, off in enumerate(drawn.tolist())]


def test_steady_demand_does_not_reach_twice_as_much() -> None:
    found = foretold(growing(60, a_day=0.0, noise=2.0), 200.0)

    assert (found.soonest_days, found.median_days, found.latest_days) == (None, None, None)
    assert found.reached_days_ago is None


def test_plain_growth_is_believed() -> None:
    """1 % a day up to the sixtieth; 95 % of what there is come twelve days later."""
    noise = np.random.default_rng(2).normal(0.0, 0.01, 60)
    peaks: list[float | None] = [
        100 * 1.01**day * math.exp(off) for day, off in enumerate(noise.tolist())
    ]

    found = foretold(peaks, 100 * 1.01**71 / 0.95)

    assert found.median_days == pytest.approx(12, abs=1)
    assert found.soonest_days == pytest.approx(10, abs=1)
    assert found.latest_days == pytest.approx(14, abs=1)


def test_growth_that_chance_may_have_made_is_not_believed() -> None:
    """Weeks that stray by 30 % each hide a growth of 1 % in a week."""
    level = np.random.default_rng(4).normal(0.0, 0.3, 12).repeat(7)
    peaks: list[float | None] = [
        100 * 1.01 ** (day / 7) * math.exp(off) for day, off in enumerate(level.tolist())
    ]

    drawn = {
        doubt: draw_peaks(peaks, days=30, random=Random(0), tuning=Tuning(doubt=doubt))
        for doubt in (0.0, TUNING.doubt, math.inf)
    }

    all_of_it, some, nothing = drawn.values()
    assert all_of_it is not None
    assert np.array_equal(some, nothing)
    assert not np.array_equal(some, all_of_it)


def test_what_was_reached_lately_is_said() -> None:
    peaks = growing(40, a_day=0.0, noise=1.0)
    peaks[-3] = 300.0

    assert foretold(peaks, 300.0).reached_days_ago == 2


def test_weekday_of_the_peaks_is_kept() -> None:
    """The seventh day of each week has twice the peak; the last day known is a seventh.

    Of an effect that was seen ten times 10/11 are believed, so the seventh has 176 or more.
    """
    peaks: list[float | None] = [200.0 if day % 7 == 6 else 100.0 for day in range(70)]

    found = foretold(peaks, 170.0)

    assert (found.soonest_days, found.median_days, found.latest_days) == (7, 7, 7)


@pytest.mark.parametrize("known", [ENOUGH_DAYS - 1, ENOUGH_DAYS])
def test_less_than_four_weeks_are_too_few(known: int) -> None:
    peaks = [None] * 20 + growing(known, a_day=0.0, noise=1.0)

    found = full_day(peaks, full=500.0, random=Random(0))

    assert (found == "not enough history: 27 of 28 days are known") == (known < ENOUGH_DAYS)


def test_days_that_are_far_apart_are_too_few() -> None:
    peaks = [100.0 if day % 3 == 0 else None for day in range(120)]

    found = full_day(peaks, full=500.0, random=Random(0))

    assert found == "not enough history: too many days between are not known"


def test_draws_that_do_not_reach_it_count_in_the_quantile() -> None:
    firsts = np.array([3.0, 5.0, np.inf, np.inf])

    assert quantile_day(firsts, 0.1) == 3
    assert quantile_day(firsts, 0.5) == 5
    assert quantile_day(firsts, 0.9) is None


def test_first_day_is_counted_from_the_last_known() -> None:
    drawn = np.array([[1.0, 4.0, 9.0], [5.0, 1.0, 1.0], [1.0, 1.0, 1.0]])

    assert first_days(drawn, 4.0).tolist() == [2.0, 1.0, math.inf]


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 1e12)), min_size=20, max_size=130),
    st.floats(1e-3, 1e13),
)
def test_any_history_gives_an_ordered_answer_or_a_reason(
    peaks: list[float | None], full: float
) -> None:
    found = full_day(peaks, full=full, random=Random(0))

    if isinstance(found, str):
        assert found.startswith("not enough history")
        return
    foretold_days = (found.soonest_days, found.median_days, found.latest_days)
    days = [one or HORIZON_DAYS + 1 for one in foretold_days]
    assert days == sorted(days)
    assert all(0 <= one.low <= one.median <= one.high < math.inf for one in found.ahead)


def test_same_history_gives_the_same_answer_in_any_unit() -> None:
    peaks = growing(60, a_day=0.5, noise=3.0)
    scaled = [one and one * 1e6 for one in peaks]

    one, other = foretold(peaks, 150.0), foretold(scaled, 150e6)

    assert (one.soonest_days, one.latest_days) == (other.soonest_days, other.latest_days)
    drawn = draw_peaks(peaks, days=7, random=Random(0))
    assert drawn is not None
    assert drawn.shape == (400, 7)
