"""How often the same suspects rank first: by device time times correlation, of known windows.

Of at most ten windows every resample is all of them, so the fraction is 0 or 1. Of eleven it is
ten neighbours and one more.
"""

import numpy as np
import pytest

from advisor.core.attribution.agreement import agreement

RISING = np.arange(10.0)
FALLING = -RISING
UNKNOWN = [np.nan] * 7


def parts(*per_window, windows=10):
    """Device time of each suspect, the same in all windows of the incident."""
    return np.array([[one] * windows for one in per_window])


def test_small_suspect_that_latency_follows_ranks_before_large_one_that_it_does_not():
    # Correlations 1 and -1, which counts as 0: scores 0.1 · 1 and 0.9 · 0.
    found = agreement([RISING, RISING], [RISING, FALLING], parts(1, 9), named=1, seed=0)

    assert found == 1.0


@pytest.mark.parametrize(("named", "expected"), [(1, 0.0), (2, 1.0)])
def test_larger_of_two_suspects_that_latency_follows_ranks_first(named, expected):
    # Scores 0.1 · 1 and 0.9 · 1: the second ranks first.
    found = agreement([RISING, RISING], [RISING, RISING], parts(1, 9), named=named, seed=0)

    assert found == expected


def test_no_suspect_ranks_first_without_a_correlation_above_0():
    assert agreement([RISING], [FALLING], parts(1), named=1, seed=0) == 0.0


@pytest.mark.parametrize("windows", [1, 10], ids=["one", "a block"])
def test_incident_of_one_block_is_drawn_whole(windows):
    found = agreement([RISING], [RISING], parts(1, windows=windows), named=1, seed=0)

    assert found == 1.0


def test_unknown_windows_do_not_move_the_mean_of_the_known_ones():
    # Known are 11, 12, 13 against 21, 22, 23: correlation 1, scores 0.6 · 1 and 0.4 · 1.
    # Seven zeros or ones more would put a mean near 4 or 7 and the correlation below 0.3.
    cause = np.array([11.0, 12.0, 13.0, *UNKNOWN])
    effect = np.array([21.0, 22.0, 23.0, *UNKNOWN])

    found = agreement([cause, RISING], [effect, RISING], parts(6, 4), named=1, seed=0)

    assert found == 1.0


def test_block_has_ten_neighbours_and_one_resample_of_eleven_windows_two_blocks():
    # All of the first suspect's device time is in the first of eleven windows. A block of ten
    # begins with the first or the second window. It has the first in half of the resamples, and
    # the second block, of which one window counts, begins with it in half of the others.
    taken = np.array([[1.0] + [0.0] * 10, [0.0, 0.001] + [0.0] * 9])
    rising = np.arange(11.0)

    found = agreement([rising, rising], [rising, rising], taken, named=1, seed=0)

    assert found == pytest.approx(0.75, abs=0.1)


def test_resamples_are_two_hundred():
    taken = np.array([[1.0] + [0.0] * 10, [0.0, 0.001] + [0.0] * 9])
    rising = np.arange(11.0)

    for seed in range(3):
        found = 200 * agreement([rising, rising], [rising, rising], taken, named=1, seed=seed)
        assert 0 < found < 200
        assert found == pytest.approx(round(found))


def test_incident_of_21_windows_is_drawn_from_its_beginning_to_its_end():
    # Device time of the first suspect is at both ends; either alone decides for it. Three blocks
    # of ten begin at one of twelve windows each: each end is in about one of twelve of them.
    ends = np.array([[1.0] + [0.0] * 19 + [1.0], [0.0] * 5 + [0.001] * 11 + [0.0] * 5])
    rising = np.arange(21.0)

    found = [
        agreement([rising, rising], [rising, rising], ends, named=1, seed=seed)
        for seed in range(10)
    ]

    # Two blocks count whole and one window of the third, which is never the last: both ends are
    # missed by (10/12)² · 11/12.
    assert np.mean(found) == pytest.approx(1 - (10 / 12) ** 2 * 11 / 12, abs=0.04)


def test_windows_of_the_study_are_resampled_as_those_of_the_incident_are():
    # The latency follows the load in the last of 40 windows alone; elsewhere it falls.
    cause = np.arange(40.0)
    effect = np.where(cause < 39, -cause, 1000.0)

    found = agreement([cause], [effect], parts(1), named=1, seed=0)

    # The last is in one of the four blocks: 1 - (30/31)⁴.
    assert found == pytest.approx(1 - (30 / 31) ** 4, abs=0.06)


def test_suspect_without_variation_ranks_last():
    steady = np.full(10, 5.0)

    assert agreement([steady, RISING], [RISING, RISING], parts(9, 1), named=1, seed=0) == 0.0


def test_incident_without_device_time_has_no_first():
    assert agreement([RISING], [RISING], parts(0), named=1, seed=0) == 0.0


def test_correlation_is_that_of_the_windows_known_in_both():
    # Known in both are the last three, with correlation -1: the second suspect ranks first.
    cause = np.array([5.0, *[np.nan] * 6, 1.0, 2.0, 3.0])
    effect = np.array([*[np.nan] * 6, 50.0, 3.0, 2.0, 1.0])

    assert agreement([cause, RISING], [effect, RISING], parts(9, 1), named=1, seed=0) == 0.0


def test_weaker_correlation_counts_by_its_size():
    # Correlation 1 of a twentieth more than half the part of the other: 0.6 · r against 0.4 · 1.
    zigzag = RISING + np.array([0.0, 4.0] * 5)
    expected = np.corrcoef(RISING, zigzag)[0, 1]
    assert 0.6 < expected < 0.9

    for part, wins in ((0.95 / expected, 0.0), (1.05 / expected, 1.0)):
        found = agreement([RISING, RISING], [zigzag, RISING], parts(part, 1), named=1, seed=0)
        assert found == wins


@pytest.mark.parametrize(("part", "wins"), [(6, 1.0), (4, 0.0)])
def test_level_of_a_series_does_not_count(part, wins):
    # Both correlations are 1, on whatever level the series lie.
    high = RISING + 1000.0

    found = agreement([high, RISING], [RISING, high], parts(part, 10 - part), named=1, seed=0)

    assert found == wins
