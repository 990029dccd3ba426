"""How often the same suspects rank first: by device time times correlation, of known windows.

Of at most ten windows every resample is all of them, so the fraction is 0 or 1.
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
