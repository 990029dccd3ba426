"""Stages, bounds that hold at every look, and what guards make of them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.betting import mean_bounds
from advisor.core.rollout import Next, Pace, Step, next_step, stage_sizes
from advisor.core.rollout_guard import (
    Against,
    Guard,
    Guarded,
    GuardVerdict,
    Watched,
    judge,
)
from ingest.core.grid import Floats

PACE = Pace(stage_s=600, longest_s=3600, goes_on_unsure=False)
SERIES = 400
LOOKS = 60


@given(st.integers(1, 500))
def test_stages_grow_to_all_hosts_from_one(hosts: int) -> None:
    sizes = stage_sizes(hosts)

    assert sizes[0] == 1
    assert sizes[-1] == hosts
    assert list(sizes) == sorted(set(sizes))
    assert len(sizes) <= 3


@pytest.mark.parametrize(
    ("hosts", "sizes"), [(0, (0,)), (1, (1,)), (2, (1, 2)), (4, (1, 2, 4)), (41, (1, 11, 41))]
)
def test_second_stage_is_a_quarter_of_the_others(hosts: int, sizes: tuple[int, ...]) -> None:
    assert stage_sizes(hosts) == sizes


def walk(seed: int, kind: str) -> list[float]:
    """Values of mean 0 given those before; some have a variance that depends on these."""
    drawn = random.Random(seed)
    values: list[float] = []
    spread = 0.3
    for _ in range(LOOKS):
        match kind:
            case "even":
                values.append(drawn.uniform(-1, 1))
            case "rare":
                values.append(0.9 if drawn.random() < 0.1 else -0.1)
            case _:
                spread = 0.9 if values and abs(values[-1]) > 0.2 else 0.25
                values.append(drawn.choice((-spread, spread)))
    return values


@pytest.mark.parametrize("kind", ["even", "rare", "by those before"])
def test_bounds_are_wrong_at_any_look_at_most_as_often_as_said(kind: str) -> None:
    """An error once made stays, so the last look shows whether any look was wrong."""
    alpha = 0.1

    wrong_low = wrong_high = 0
    for seed in range(SERIES):
        bounds = mean_bounds(walk(seed, kind), low_alpha=alpha, high_alpha=alpha)
        assert bounds is not None
        wrong_low += bounds.low > 0
        wrong_high += bounds.high < 0

    # Three standard deviations above what is promised: 0.1 + 3 * sqrt(0.09 / 400).
    assert max(wrong_low, wrong_high) / SERIES <= 0.145


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.floats(-1, 1))
def test_bounds_only_narrow(values: list[float], more: float) -> None:
    first = mean_bounds(values, low_alpha=0.05, high_alpha=0.05)
    second = mean_bounds([*values, more], low_alpha=0.05, high_alpha=0.05)

    assert first is not None
    assert second is not None
    assert -1 <= first.low <= second.low
    assert second.high <= first.high <= 1


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40))
def test_bounds_of_the_opposite_are_mirrored(values: list[float]) -> None:
    found = mean_bounds(values, low_alpha=0.02, high_alpha=0.05)
    mirrored = mean_bounds([-one for one in values], low_alpha=0.05, high_alpha=0.02)

    assert found is not None
    assert mirrored is not None
    assert found.low == pytest.approx(-mirrored.high)
    assert found.high == pytest.approx(-mirrored.low)


def test_nothing_measured_has_no_bounds() -> None:
    assert mean_bounds([], low_alpha=0.05, high_alpha=0.05) is None


def rates(seed: int, means: list[float], windows: int = LOOKS) -> Floats:
    """Rates with a noise of a tenth, and a shift in common from window to window."""
    drawn = np.random.default_rng(seed)
    common = 1 + 0.3 * drawn.standard_normal((windows, 1))
    noise = 1 + 0.1 * drawn.standard_normal((windows, len(means)))
    found: Floats = np.abs(np.array(means) * common * noise)
    return found


def guarded(seed: int, means: list[float], *, is_compared: bool = True) -> Guarded:
    watched = Watched(
        guard=Guard.THROUGHPUT, before=rates(seed + 10_000, [100.0] * 4), since=rates(seed, means)
    )
    changed = np.array([True, False, False, False])
    return judge(
        watched,
        changed=changed,
        compared=~changed if is_compared else np.zeros(4, dtype=np.bool_),
        against=Against.UNCHANGED,
    )


def test_loss_of_all_hosts_is_no_harm_of_those_that_changed() -> None:
    lost_everywhere = [50.0] * 4

    assert guarded(1, lost_everywhere).verdict is GuardVerdict.NO_HARM
    assert guarded(1, lost_everywhere, is_compared=False).verdict is GuardVerdict.HARM


def test_loss_of_the_host_that_changed_is_harm() -> None:
    found = guarded(1, [50.0, 100.0, 100.0, 100.0])

    assert found.verdict is GuardVerdict.HARM
    assert found.low is not None
    assert found.high is not None
    assert found.tolerance < found.low < found.high < 0.6


def test_loss_of_a_half_shows_in_every_drawn_series() -> None:
    lost = [50.0, 100.0, 100.0, 100.0]

    assert {guarded(seed, lost).verdict for seed in range(100)} == {GuardVerdict.HARM}


def test_harmless_policies_are_rolled_back_no_more_often_than_said() -> None:
    """What a false alarm may cost is divided among guards and stages: 0.05 / 9 each."""
    verdicts = [guarded(seed, [100.0] * 4).verdict for seed in range(SERIES)]

    # Three standard deviations above it: the square root of 0.0056 / 400 is 0.0037.
    assert verdicts.count(GuardVerdict.HARM) / SERIES <= 0.017
    assert verdicts.count(GuardVerdict.NO_HARM) / SERIES >= 0.8


def test_host_without_a_time_before_says_nothing() -> None:
    unknown = np.full((5, 2), np.nan)
    watched = Watched(guard=Guard.PROMISE, before=unknown, since=np.ones((5, 2)))

    found = judge(
        watched,
        changed=np.array([True, False]),
        compared=np.array([False, True]),
        against=Against.UNCHANGED,
    )

    assert found.verdict is GuardVerdict.UNMEASURED
    assert found.worse is None
    assert found.gap == "no window is known of it on the hosts that are compared"


def guard(verdict: GuardVerdict) -> Guarded:
    return Guarded(
        guard=Guard.PROMISE,
        verdict=verdict,
        tolerance=0.1,
        against=Against.UNCHANGED,
        windows=40,
        worse=0.83,
        low=0.4,
        high=0.9,
    )


def step(*verdicts: GuardVerdict, lasted_s: float, pace: Pace = PACE, last: bool = False) -> Next:
    return next_step(list(map(guard, verdicts)), lasted_s=lasted_s, pace=pace, is_last=last)


def test_harm_is_rolled_back_at_once_with_its_figures() -> None:
    found = step(GuardVerdict.HARM, GuardVerdict.NO_HARM, lasted_s=1)

    assert found.step is Step.ROLL_BACK
    assert found.reason == (
        "promise kept is 83 % worse (between 40 and 90 %) against hosts that do not have it yet"
    )


@pytest.mark.parametrize(
    ("verdicts", "lasted_s", "expected", "reason"),
    [
        ([GuardVerdict.NO_HARM], 590, Step.WAIT, "the stage lasts another 10 s"),
        ([GuardVerdict.NO_HARM], 600, Step.GO_ON, "no harm to promise kept"),
        ([GuardVerdict.OPEN], 600, Step.WAIT, "too little is known yet of promise kept"),
        ([GuardVerdict.UNMEASURED], 600, Step.WAIT, "nothing of it is measured"),
        (
            [GuardVerdict.OPEN],
            3600,
            Step.WAIT,
            "too little is known yet of promise kept after 1 h: somebody has to decide",
        ),
    ],
)
def test_stage_goes_on_when_it_is_long_enough_and_harmless(
    verdicts: list[GuardVerdict], lasted_s: float, expected: Step, reason: str
) -> None:
    assert step(*verdicts, lasted_s=lasted_s) == Next(step=expected, reason=reason)


@pytest.mark.parametrize("unsure", [True, False])
def test_too_little_data_goes_on_after_the_longest_time_if_that_is_allowed(unsure: bool) -> None:
    pace = Pace(stage_s=600, longest_s=3600, goes_on_unsure=unsure)

    found = step(GuardVerdict.OPEN, lasted_s=3600, pace=pace)

    assert found.step is (Step.GO_ON if unsure else Step.WAIT)


def test_guard_of_the_last_stage_ends_after_the_longest_time() -> None:
    assert step(GuardVerdict.UNMEASURED, lasted_s=3600, last=True).step is Step.GO_ON
