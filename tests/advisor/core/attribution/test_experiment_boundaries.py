"""On against off at the exact value of each rule, and the interval where values are equal."""

import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm

from advisor.core.attribution.natural_experiment import (
    NaturalExperiment,
    NoExperiment,
    natural_experiments,
)
from advisor.core.dependence import Floats

NAN = float("nan")


def alternating(windows: int) -> Floats:
    return np.array([0.0, 100.0] * windows)[:windows]


def compared(load: Floats, harm: Floats | None = None) -> NaturalExperiment | NoExperiment:
    """The harm is the number of the window unless said otherwise."""
    own = np.arange(float(len(load))) if harm is None else harm
    (found,) = natural_experiments(load[None], own[None])
    return found


def test_16_windows_are_enough_and_15_are_not() -> None:
    assert isinstance(compared(alternating(16)), NaturalExperiment)
    assert compared(alternating(15)) == NoExperiment(reason="15 windows; 16 are needed")


def test_window_without_load_or_harm_does_not_count() -> None:
    load, harm = alternating(17), np.arange(17.0)
    load[3] = harm[8] = NAN

    assert compared(load, harm) == NoExperiment(reason="15 windows; 16 are needed")


@pytest.mark.parametrize("kind", [0.0, 100.0], ids=["off", "on"])
def test_8_windows_of_each_kind_are_enough_and_7_are_not(kind: float) -> None:
    other = 100.0 - kind
    enough = np.array([kind, other] * 8 + [other] * 4)
    too_few = np.array([kind, other] * 7 + [other] * 6)

    assert isinstance(compared(enough), NaturalExperiment)
    counts = (7, 13) if kind else (13, 7)
    assert compared(too_few) == NoExperiment(
        reason=f"on in {counts[0]} windows, off in {counts[1]}"
    )


@pytest.mark.parametrize(("on_load", "is_compared"), [(100.0, True), (99.0, False)])
def test_load_of_on_is_at_least_twice_that_of_off(on_load: float, is_compared: bool) -> None:
    found = compared(np.array([50.0, on_load] * 8))

    assert isinstance(found, NaturalExperiment) is is_compared
    assert isinstance(found, NaturalExperiment) or found.reason == "its load hardly changed"


def test_two_switches_are_enough() -> None:
    found = compared(np.array([0.0] * 8 + [100.0] * 8 + [0.0] * 8))

    assert isinstance(found, NaturalExperiment)
    assert (found.switches, found.on_windows) == (2, 8)


def test_on_is_above_the_middle_of_the_10th_and_the_90th_percentile() -> None:
    # Of 101 values the percentiles are the 11th and the 91st: 0 and 100, with 50 between them.
    # The next ones are 40 and 200, so that a percentile more would put the middle elsewhere.
    values = [0.0] * 11 + [40.0] * 30 + [60.0] * 20 + [100.0] * 30 + [200.0] * 10
    shuffled = np.random.default_rng(1).permutation(values)

    found = compared(shuffled)

    assert isinstance(found, NaturalExperiment)
    assert found.on_windows == 60


def test_load_at_the_middle_is_off() -> None:
    found = compared(np.array([0.0, 50.0, 100.0] * 10))

    assert isinstance(found, NaturalExperiment)
    assert found.on_windows == 10


def test_interval_takes_equal_harm_into_account() -> None:
    # 36 of the 40 windows without the load are equal. SciPy's p-value gives the deviation of U.
    rng = np.random.default_rng(5)
    load, harm = alternating(80), np.zeros(80)
    harm[1::2] = rng.normal(0.1, size=40)
    harm[::20] = rng.normal(size=4)
    on, off = harm[1::2], harm[::2]
    test = mannwhitneyu(on, off, alternative="greater", use_continuity=False, method="asymptotic")
    deviation = (test.statistic - 40 * 40 / 2) / norm.isf(test.pvalue)

    found = compared(load, harm)

    assert isinstance(found, NaturalExperiment)
    half = 1.959964 * deviation / (40 * 40)
    expected = np.quantile(np.subtract.outer(on, off), [0.5 - half, 0.5, 0.5 + half])
    assert (found.shift_low, found.shift, found.shift_high) == pytest.approx(tuple(expected))
    assert found.superiority == pytest.approx(test.statistic / 1600)


def test_interval_of_few_windows_that_hang_together_is_that_of_all_differences() -> None:
    # Runs of 8: neighbours are so alike that the half width is more than the half of all pairs.
    load = np.repeat([0.0, 100.0, 0.0, 100.0], 8)
    harm = np.arange(32.0)

    found = compared(load, harm)

    assert isinstance(found, NaturalExperiment)
    # On are 8 to 15 and 24 to 31, off are 0 to 7 and 16 to 23.
    assert (found.shift_low, found.shift_high) == (8.0 - 23.0, 31.0 - 0.0)


def test_thinned_sample_keeps_least_and_most_and_what_lies_evenly_between() -> None:
    # 2000 windows on and 2000 off; harm is 0 while off and from 0 to 1999 while on.
    load = alternating(4000)
    harm = np.zeros(4000)
    harm[1::2] = np.random.default_rng(1).permutation(2000)

    found = compared(load, harm)

    assert isinstance(found, NaturalExperiment)
    assert found.shift == pytest.approx(999.5, abs=1)
    half = 1.959964 * math.sqrt(2000 * 2000 / 12 * 4001) / 2000**2
    # Half of all windows are equal, which makes the deviation smaller by √(1 - (1/2)³).
    half *= math.sqrt(1 - 1 / 8)
    assert found.shift_high == pytest.approx(1999 * (0.5 + half), abs=3)


@pytest.mark.parametrize(("windows", "shift"), [(999, 10.0), (1001, 50.0)])
def test_more_than_a_thousand_windows_are_thinned_evenly(windows: int, shift: float) -> None:
    # The middle one has 10, those below 0, those above 100. Of 1001 evenly spaced ones, 1000 are
    # kept and the middle is left out, so that the median lies between 0 and 100.
    half = windows // 2
    harm = np.zeros(2 * windows)
    harm[1::2] = [0.0] * half + [10.0] + [100.0] * half

    found = compared(alternating(2 * windows), harm)

    assert isinstance(found, NaturalExperiment)
    assert found.shift == shift
