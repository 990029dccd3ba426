"""Rates under a policy, forecast from what workloads were seen to want."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import ReservationMode, solve
from advisor.core.demand.forecast import HORIZON, STRETCH, forecast
from advisor.core.demand.kind import SeenRates, demands_of
from advisor.core.waterfill import Floats, groups_of
from tests.advisor.core.demand.test_kind import seen, workloads


def equally(demands: Floats, parts: Floats | float = 1.0, *, capacity: float) -> Floats:
    """A resource divided by equal shares."""
    draws, width = demands.shape
    found = solve(
        np.full(draws, capacity) * parts,
        np.zeros(demands.size),
        demands.ravel(),
        np.ones(demands.size),
        mode=ReservationMode.FLOOR,
        groups=groups_of(np.full(draws, width)),
    )
    return found.reshape(draws, width)


def under(found: list[SeenRates], capacity: float):  # type: ignore[no-untyped-def]
    return forecast(demands_of(found), partial(equally, capacity=capacity))


@given(st.lists(workloads, max_size=5), st.floats(1, 1e9))
def test_rates_lie_between_their_bounds_and_add_up_to_no_more_than_the_capacity(
    found: list[SeenRates], capacity: float
) -> None:
    future = under(found, capacity)

    assert (future.low <= future.rate).all()
    assert (future.rate <= future.high).all()
    assert (future.low >= 0).all()
    assert future.rate.sum() <= capacity * (1 + 1e-9)


@given(
    st.lists(workloads, max_size=5),
    st.floats(1, 1e9),
    st.lists(st.floats(0.5, 1.0), min_size=2, max_size=2).map(sorted),
)
def test_what_a_mechanism_keeps_back_nobody_gets(
    found: list[SeenRates], capacity: float, parts: list[float]
) -> None:
    divide = partial(equally, capacity=capacity)
    least, most = parts

    future = forecast(demands_of(found), divide, delivered=(least, most))

    assert future.rate.sum() <= (least + most) / 2 * capacity * (1 + 1e-9)
    assert (future.low <= future.rate).all()
    assert (future.rate <= future.high).all()


def test_unknown_part_that_is_let_through_widens_the_range_of_who_has_the_rest() -> None:
    found = [seen([50.0] * 30, [450.0] * 30), seen([50.0] * 30, [450.0] * 30)]
    divide = partial(equally, capacity=500.0)

    whole = forecast(demands_of(found), divide)
    between = forecast(demands_of(found), divide, delivered=(0.8, 1.0))

    assert whole.rate == pytest.approx([250.0, 250.0])
    assert between.rate == pytest.approx([225.0, 225.0])
    assert (between.low < 210).all()
    assert (between.high > 240).all()


@given(st.lists(workloads, max_size=5), st.floats(1, 1e9))
def test_same_windows_give_the_same_forecast(found: list[SeenRates], capacity: float) -> None:
    one, again = under(found, capacity), under(found, capacity)

    for name in ("rate", "low", "high"):
        assert (getattr(one, name) == getattr(again, name)).all()


@given(st.lists(workloads, min_size=1, max_size=5), st.floats(1, 1e6))
def test_forecast_does_not_depend_on_the_unit(found: list[SeenRates], capacity: float) -> None:
    eightfold = [
        SeenRates(
            calm=8 * one.calm,
            congested=8 * one.congested,
            waits=one.waits,
            is_throttled=one.is_throttled,
        )
        for one in found
    ]

    plain, other = under(found, capacity), under(eightfold, 8 * capacity)

    # Powers of two change no digit.
    assert other.rate == pytest.approx(8 * plain.rate)
    assert other.low == pytest.approx(8 * plain.low)


def test_steady_workloads_get_what_they_want_and_the_greedy_one_the_rest() -> None:
    future = under([seen([100.0] * 30, [60.0] * 30), seen([50.0] * 30, [440.0] * 30)], 500.0)

    assert future.rate == pytest.approx([100, 400])
    # What is sure of a steady workload is bounded by the mechanism's own error alone:
    # 1.645 standard deviations of 3 %, moved away; work that was put off may come on top.
    assert future.low[0] == pytest.approx(100 * (1 - STRETCH * 1.645 * 0.03), abs=3)
    assert future.high[0] <= 140


def test_unknown_demand_may_be_anything_from_what_it_got_to_all_there_is() -> None:
    future = under([seen([], [60.0] * 30), seen([100.0] * 30, [60.0] * 30)], 500.0)

    assert future.rate == pytest.approx([400, 100])
    assert future.low[0] < 100
    assert future.high[0] >= 400


def test_work_that_was_put_off_raises_the_upper_bound_alone() -> None:
    waiting, patient = (
        under([seen([100.0] * 30, [50.0] * 30, waits=waits)], 500.0) for waits in (True, False)
    )

    assert waiting.rate == patient.rate
    assert waiting.low == pytest.approx(patient.low, rel=0.05)
    # Up to the 50 that were missed, over as many windows.
    assert waiting.high[0] > 1.2 * patient.high[0]


def test_clients_that_may_wait_for_answers_get_a_part_of_what_they_wanted() -> None:
    # Beside the greedy one half of 500 is its due: 100 / (1 + 100 / 250 - 100 / 500) = 83.3.
    answering = seen([110.0, 90.0] * 15, [40.0] * 30, waits=False)
    greedy = seen([50.0] * 30, [440.0] * 30)

    future = under([answering, greedy], 500.0)

    assert future.rate[0] == pytest.approx((100 + 83.3) / 2, abs=0.1)
    assert future.low[0] < 85
    assert future.high[0] > 98


def test_few_windows_of_bursts_are_drawn_from_all_of_them() -> None:
    # Windows of 0 and 300 in turn have a mean of 150, of which blocks of five are off by a fifth.
    future = under([seen([0.0, 300.0] * 15, [0.0, 300.0] * 15)], 1e9)

    assert future.rate[0] == pytest.approx(150, rel=0.02)
    assert future.low[0] > 0.75 * 150
    assert future.high[0] < 1.25 * 150


def test_bounds_cover_what_happens_to_nine_in_ten_workloads() -> None:
    """Made loads of many kinds: the mean of the windows to come beside earlier bounds."""
    random = np.random.default_rng(7)
    inside = 0
    loads = 400
    for number in range(loads):
        whole = _load(random, number)
        future = under([seen(whole[:40].tolist(), whole[40:80].tolist())], 1e9)
        got = whole[80 : 80 + HORIZON].mean()
        inside += bool(future.low[0] <= got <= future.high[0])

    assert inside >= 0.88 * loads


def _load(random: np.random.Generator, number: int) -> Floats:
    """Windows of a load that does not change its nature: even, noisy, slowly wandering, on/off."""
    count = 80 + HORIZON
    noise = random.normal(size=count)
    match number % 4:
        case 0:
            found = 100 + 5 * noise
        case 1:
            found = 100 * np.exp(0.4 * noise)
        case 2:
            wander = np.zeros(count)
            for place in range(1, count):
                wander[place] = 0.7 * wander[place - 1] + noise[place]
            found = 100 + 10 * wander
        case _:
            found = np.where(random.random(count) < 0.4, 200.0, 10.0)
    return np.maximum(found, 0.0)
