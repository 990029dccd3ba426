"""Workloads that start or stop by themselves are found, and nothing else is taken for it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.forecast.natural_switch import SIDE, Switch, natural_switches
from advisor.core.waterfill import Floats

COUNT = 200
seeds = st.integers(0, 2**32 - 1)
places = st.integers(SIDE, COUNT - SIDE - 1)


def steady(seed: int, *levels: float) -> Floats:
    """Workloads whose windows vary by a tenth about their levels."""
    noise = np.random.default_rng(seed).uniform(0.9, 1.1, (COUNT, len(levels)))
    return noise * np.array(levels)


@given(seeds, places, st.booleans(), st.floats(0, 1), st.floats(30, 1000))
def test_planted_step_is_found(
    seed: int, place: int, starts: bool, part: float, level: float
) -> None:
    rates = steady(seed, level, 100.0, 50.0)
    off = slice(0, place) if starts else slice(place + 1, COUNT)
    rates[off, 0] *= 0.05
    rates[place, 0] *= part

    (found,) = natural_switches(rates)

    assert (found.column, found.starts) == (0, starts)
    # A window that is on, or off, all the same may be either of two.
    assert abs(found.place - place) <= 1


@given(seeds, st.floats(0, 1.2), st.integers(2, 5))
def test_noise_is_no_switch(seed: int, spread: float, workloads: int) -> None:
    noise = np.random.default_rng(seed).lognormal(4.0, spread, (COUNT, workloads))

    assert natural_switches(noise) == []


@given(seeds, places, st.integers(15, 60), st.booleans())
def test_slow_ramp_is_no_switch(seed: int, place: int, length: int, starts: bool) -> None:
    rates = steady(seed, 100.0, 100.0)
    ramp = np.clip((np.arange(COUNT) - place) / length, 0, 1)
    rates[:, 0] *= ramp if starts else 1 - ramp

    assert natural_switches(rates) == []


@given(seeds, places, st.integers(-SIDE + 10, SIDE - 10), st.booleans(), st.booleans())
def test_two_at_once_are_not_taken(
    seed: int, place: int, later: int, first_starts: bool, second_starts: bool
) -> None:
    rates = steady(seed, 100.0, 100.0, 100.0)
    for column, at, starts in ((0, place, first_starts), (1, place + later, second_starts)):
        rates[slice(0, max(at, 0)) if starts else slice(max(at, 0), COUNT), column] = 0

    assert natural_switches(rates) == []


@given(seeds, places)
def test_small_workload_is_not_taken(seed: int, place: int) -> None:
    rates = steady(seed, 10.0, 100.0, 50.0)
    rates[place:, 0] = 0

    assert natural_switches(rates) == []


@given(seeds, places, st.floats(1e-3, 1e9))
def test_switches_do_not_depend_on_the_unit(seed: int, place: int, unit: float) -> None:
    rates = steady(seed, 80.0, 100.0)
    rates[place:, 0] = 0

    assert natural_switches(rates * unit) == natural_switches(rates) != []


@pytest.mark.parametrize("column", [0, 1], ids=["who switches", "the only other"])
def test_side_that_is_not_known_is_no_evidence(column: int) -> None:
    rates = steady(1, 80.0, 100.0)
    rates[100, 0] = 20
    rates[101:, 0] = 0
    assert natural_switches(rates) == [Switch(place=100, column=0, starts=False)]

    rates[75, column] = np.nan

    assert natural_switches(rates) == []


def test_nobody_beside_it_gives_nothing_to_foretell() -> None:
    rates = steady(1, 80.0, 0.0)
    rates[100:, 0] = 0

    assert natural_switches(rates) == []
