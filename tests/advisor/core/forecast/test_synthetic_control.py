"""A planted effect is found, and none where nothing was planted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.forecast.synthetic_control import (
    FEWEST_DONORS,
    Effect,
    NoEffect,
    effect_of_change,
)
from advisor.core.waterfill import Booleans, Floats

WINDOWS, CHANGED = 80, 40
AFTER: Booleans = np.arange(WINDOWS) >= CHANGED
SIZES = (50.0, 100.0, 400.0)

seeds = st.integers(min_value=0, max_value=2**32 - 1)


def world(seed: int, *, donors: int = 12) -> tuple[Floats, Floats]:
    """A series of 100 on average and its donors, all with two loads that they have in common.

    The first load doubles with the change, so before and after alone tell an effect.
    """
    drawn = np.random.default_rng(seed)
    loads = np.column_stack([np.where(AFTER, 2.0, 1.0), 1 + 0.5 * np.sin(np.arange(WINDOWS))])
    mixes = drawn.dirichlet([1.0, 1.0], donors + 1)
    noise = drawn.normal(0, 0.02, (WINDOWS, donors + 1))
    every = (loads @ mixes.T + noise) * np.append(100.0, drawn.choice(SIZES, donors))
    return every[:, 0], every[:, 1:]


def estimated(series: Floats, donors: Floats) -> Effect:
    found = effect_of_change(series, donors, is_after=AFTER)
    assert isinstance(found, Effect)
    return found


@given(seeds, st.sampled_from([-60.0, 60.0, 150.0]))
def test_planted_effect_is_told_from_none(seed: int, planted: float) -> None:
    series, donors = world(seed)

    found = estimated(series + planted * AFTER, donors)

    assert found.mean == pytest.approx(estimated(series, donors).mean + planted)


def test_interval_holds_what_was_planted_as_often_as_it_says() -> None:
    inside = told = 0
    for seed in range(200):
        series, donors = world(seed)
        found = estimated(series + 60.0 * AFTER, donors)
        inside += found.low <= 60.0 <= found.high
        told += found.low > 0

    # 12 of 13 are meant.
    assert inside >= 0.85 * 200
    assert told >= 0.8 * 200


@given(seeds, st.sampled_from([0.001, 7.0, 1e6]))
def test_effect_scales_with_the_series_and_not_with_its_donors(seed: int, factor: float) -> None:
    series, donors = world(seed)
    one = estimated(series, donors)

    scaled = estimated(series * factor, donors)
    others = estimated(series, donors * factor)

    assert scaled.mean == pytest.approx(one.mean * factor, rel=1e-4, abs=1e-6 * factor)
    assert others.mean == pytest.approx(one.mean, rel=1e-4, abs=1e-6)


@given(seeds)
def test_load_that_all_share_is_no_effect(seed: int) -> None:
    series, donors = world(seed)

    twin = estimated(series, np.column_stack([donors, 3 * series]))

    # Before and after alone would tell tens.
    assert abs(twin.mean) < 5


@pytest.mark.parametrize(
    ("series", "donors", "is_after", "why"),
    [
        (np.ones(80), np.ones((80, 0)), AFTER, "0 workloads that were not changed"),
        (np.ones(80), np.full((80, 9), np.nan), AFTER, "0 workloads that were not changed"),
        (np.ones(80), np.ones((80, FEWEST_DONORS - 1)), AFTER, "4 workloads that were not"),
        (np.zeros(80), np.ones((80, 9)), AFTER, "did nothing before"),
        (np.ones(80), np.ones((80, 9)), AFTER & False, "12 windows before and after"),
        (np.tile([0.0, 9.0], 40), np.ones((80, 9)), AFTER, "no mixture"),
    ],
    ids=["no donors", "donors unknown", "few donors", "idle", "no change", "unlike them"],
)
def test_effect_that_is_not_known_has_a_reason(
    series: Floats, donors: Floats, is_after: Booleans, why: str
) -> None:
    found = effect_of_change(series, donors, is_after=is_after)

    assert isinstance(found, NoEffect)
    assert why in found.reason
