"""Parts of the rise: the axioms of Shapley, its definition by coalitions, and named examples."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.attribution.rise import (
    MOST_PLAYERS,
    NoRise,
    RisePart,
    rise_parts,
    shapley_values,
)

NORMAL, RISEN = 20, 30
DURING = np.array([False] * NORMAL + [True] * RISEN)


def moves(most_players):
    row = st.lists(st.floats(-100, 100), min_size=3, max_size=3)
    return st.lists(row, min_size=1, max_size=most_players).map(np.array)


def by_coalitions(moved):
    """The definition: the mean of what a player adds to each coalition (Shapley 1953)."""
    players = range(len(moved))
    found = np.zeros_like(moved)
    for one in players:
        others = [other for other in players if other != one]
        for size in range(len(others) + 1):
            weight = factorial(size) * factorial(len(others) - size) / factorial(len(moved))
            for coalition in combinations(others, size):
                before = moved[list(coalition)].sum(axis=0)
                found[one] += weight * (np.maximum(before + moved[one], 0) - np.maximum(before, 0))
    return found


def load(*rows):
    """Of each workload its load in normal windows and in those of the incident."""
    return np.array([[normal] * NORMAL + [risen] * RISEN for normal, risen in rows], dtype=float)


def ratios(found):
    return [one.ratio if isinstance(one, RisePart) else None for one in found]


@given(moves(6))
def test_few_players_have_the_values_of_the_definition(moved):
    found = shapley_values(moved, np.random.default_rng(0))

    assert found == pytest.approx(by_coalitions(moved), abs=1e-9)


@given(moves(12), st.integers(0, 2**32))
def test_values_of_all_sum_to_the_whole_rise(moved, seed):
    found = shapley_values(moved, np.random.default_rng(seed))

    assert found.sum(axis=0) == pytest.approx(np.maximum(moved.sum(axis=0), 0), abs=1e-9)


@given(moves(12), st.integers(0, 2**32))
def test_nobody_has_more_than_it_brought_or_less_than_it_left(moved, seed):
    found = shapley_values(moved, np.random.default_rng(seed))

    assert np.all(found <= np.maximum(moved, 0) + 1e-9)
    assert np.all(found >= np.minimum(moved, 0) - 1e-9)


@pytest.mark.parametrize("players", [7, 12, 40])
def test_drawn_orders_come_near_to_the_values_of_many_more(players):
    moved = np.random.default_rng(players).normal(size=(players, 50))
    exact = np.mean([shapley_values(moved, np.random.default_rng(k)) for k in range(40)], axis=0)

    found = shapley_values(moved, np.random.default_rng(99))

    whole = np.maximum(moved.sum(axis=0), 0).sum()
    assert np.abs(found - exact).sum(axis=1).max() / whole < 0.05
    assert np.abs((found - exact).sum(axis=1)).max() / whole < 0.02


def test_large_workload_that_is_as_always_has_no_part():
    found = rise_parts(load((900, 900), (50, 250), (50, 150)), DURING, seed=0)

    assert ratios(found) == pytest.approx([0, 2 / 3, 1 / 3])


def test_who_is_slowed_has_a_part_below_zero():
    # Alone the first brings 100 and the second nothing; together they bring 60.
    found = rise_parts(load((100, 200), (100, 60)), DURING, seed=0)

    assert ratios(found) == pytest.approx([80 / 60, -20 / 60])


def test_interval_spans_what_parts_of_the_incident_say():
    rows = load((0, 0), (0, 10))
    rows[0, -10:] = 30.0

    first, second = rise_parts(rows, DURING, seed=1)

    assert isinstance(first, RisePart)
    assert isinstance(second, RisePart)
    assert first.ratio == pytest.approx(0.5)
    assert first.low < 0.3
    assert first.high > 0.6
    assert second.low == pytest.approx(1 - first.high)


def test_steady_incident_has_an_interval_without_width():
    (only,) = rise_parts(load((10, 40)), DURING, seed=0)

    assert only == RisePart(ratio=1.0, low=1.0, high=1.0)


def test_of_many_the_small_ones_are_not_told_and_count_nevertheless():
    count = MOST_PLAYERS + 100
    rows = load((0, 300), *[(0, 1)] * (count - 1))

    found = rise_parts(rows, DURING, seed=0)

    told = [one for one in found if isinstance(one, RisePart)]
    assert len(told) == MOST_PLAYERS
    assert isinstance(found[0], RisePart)
    assert found[0].ratio == pytest.approx(300 / (300 + count - 1))


def test_unknown_load_is_none():
    rows = load((10, 40), (10, 40))
    rows[1] = np.nan

    assert ratios(rise_parts(rows, DURING, seed=0)) == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize(
    ("rows", "during", "reason"),
    [
        (load((10, 40)), np.arange(NORMAL + RISEN) > 10, "too few windows outside the incident"),
        (load((10, 40)), np.zeros(NORMAL + RISEN, bool), "loaded it no more than normal"),
        (load((40, 10)), DURING, "loaded it no more than normal"),
        (load((40, 50), (40, 20)), DURING, "loaded it no more than normal"),
    ],
)
def test_without_a_rise_there_is_a_reason(rows, during, reason):
    for one in rise_parts(rows, during, seed=0):
        assert isinstance(one, NoRise)
        assert reason in one.reason
