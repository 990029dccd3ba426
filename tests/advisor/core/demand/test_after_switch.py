"""The rates of the others after a workload starts or stops, foretold from the time before."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.demand.after_switch import (
    BeforeSwitch,
    NotForetold,
    after_switch,
    before_switch,
)
from advisor.core.forecast.natural_switch import SIDE
from advisor.core.waterfill import Booleans, Floats
from tests.advisor.core.demand.test_forecast import equally

CAPACITY = 100.0
PHASES = (60, 60, 60, 60)


def contended(seed: int, *, wanted: float = 40.0) -> Floats:
    """A greedy workload beside two that want 40 and 20 of 100, off and on in turns."""
    parts = []
    for is_on, length in zip((False, True, False, True), PHASES, strict=True):
        level = np.array([100.0 if is_on else 0.0, wanted, 20.0])
        got = equally(level[np.newaxis], capacity=CAPACITY)[0]
        noise = np.random.default_rng(seed + len(parts)).uniform(0.95, 1.05, (length, 3))
        parts.append(noise * got)
    return np.concatenate(parts)


def clear(rates: Floats) -> Booleans:
    """Congested while the first one is on."""
    return rates[:, 0] < 1


def foretold(rates: Floats, *, starts: bool) -> tuple[Floats, Floats, Floats]:
    """The rate and its bounds of each."""
    found = before_switch(rates, clear(rates), column=0, starts=starts)
    assert isinstance(found, BeforeSwitch)
    _, told = after_switch(found, partial(equally, capacity=CAPACITY))
    return told.rate, told.low, told.high


@given(st.integers(0, 2**31))
def test_others_get_what_they_want_when_the_greedy_one_stops(seed: int) -> None:
    rates = contended(seed)

    rate, low, high = foretold(rates, starts=False)

    assert rate[0] == 0
    assert rate[1:] == pytest.approx([40, 20], rel=0.1)
    assert (low[1:] <= [40, 20]).all()
    assert (high[1:] >= [40, 20]).all()


@given(st.integers(0, 2**31))
def test_start_is_foretold_by_an_earlier_time_in_which_it_was_on(seed: int) -> None:
    before = contended(seed)[: sum(PHASES[:3])]

    rate, low, high = foretold(before, starts=True)

    # 20 of 100 leave 40 for each of the two others.
    assert rate[1] == pytest.approx(40, rel=0.1)
    assert low[1] <= 40 <= high[1]
    assert low[2] <= 20 <= high[2]


def test_workload_that_was_never_on_is_not_foretold_to_start() -> None:
    before = contended(1)[: PHASES[0]]

    found = before_switch(before, clear(before), column=0, starts=True)

    assert isinstance(found, NotForetold)
    assert found.reason == "it was not on before, so what it wants is not known"


def test_who_was_on_alone_in_a_clear_time_wants_what_it_got() -> None:
    rates = np.tile([0.0, 10.0, 10.0], (SIDE * 3, 1))
    rates[SIDE : 2 * SIDE, 0] = 30.0
    found = before_switch(rates, np.ones(len(rates), dtype=np.bool_), column=0, starts=True)
    assert isinstance(found, BeforeSwitch)

    _, told = after_switch(found, partial(equally, capacity=CAPACITY))

    # Were it taken for greedy, it would be foretold to take 80.
    assert told.rate == pytest.approx([30, 10, 10])


@given(st.integers(0, 2**31), st.booleans())
def test_draws_lie_about_the_bounds(seed: int, starts: bool) -> None:
    rates = contended(seed)
    before = rates[: sum(PHASES[:3])] if starts else rates
    found = before_switch(before, clear(before), column=0, starts=starts)
    assert isinstance(found, BeforeSwitch)

    _, told = after_switch(found, partial(equally, capacity=CAPACITY))

    inside = (told.draws >= told.low - 1e-9) & (told.draws <= told.high + 1e-9)
    assert (inside.mean(axis=0) >= 0.89).all()
