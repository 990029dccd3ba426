"""Bounds of a mean that hold at every look, however often one looks.

A capital is bet on the mean lying above a value. While it does not, no strategy makes the capital
grow in the mean, so it ever grows to 1/alpha with a probability of at most alpha (Ville's
inequality). Values for which it grew are refused: Waudby-Smith and Ramdas, "Estimating means of
bounded random variables by betting", JRSS B 86 (2024), sections 4 and 5.

Nothing is assumed of the values but that they lie in [-1, 1] and that each has the same mean given
those before: they may depend on one another, and need not be normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEPS = 200
"""Bounds are found to a hundredth of the range from -1 to 1."""
LARGEST_BET = 0.9
"""Of the bet that could lose the whole capital at once."""
FIRST_VARIANCE = 1 / 16
"""What is taken for the variance before anything is known; it counts as one value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanBounds:
    """The mean of `count` values, and bounds of the mean that they are drawn from."""

    count: int
    mean: float
    low: float
    high: float


def mean_bounds(
    values: Sequence[float], *, low_alpha: float, high_alpha: float
) -> MeanBounds | None:
    """Bounds that are wrong at any look with these probabilities; None without values.

    The true mean is ever below `low` with a probability of at most `low_alpha`, and above `high`
    with at most `high_alpha`.
    """
    if not values:
        return None
    # Bets are on values from 0 to 1.
    units = (np.clip(np.array(values, dtype=np.float64), -1.0, 1.0) + 1) / 2
    return MeanBounds(
        count=len(units),
        mean=float(2 * units.mean() - 1),
        low=2 * _lowest_kept(units, low_alpha) - 1,
        high=1 - 2 * _lowest_kept(1 - units, high_alpha),
    )


def _lowest_kept(units: NDArray[np.float64], alpha: float) -> float:
    """The smallest mean that was never refused for being too small."""
    means = np.arange(1, STEPS) / STEPS
    log_capital, most = np.zeros(len(means)), np.zeros(len(means))
    mean, squares = 0.5, FIRST_VARIANCE
    for seen, value in enumerate(units.tolist(), start=1):
        # A bet goes by what came before, and never against the mean lying above.
        ahead = np.maximum(mean - means, 0.0)
        bets = np.minimum(ahead / (squares / seen + ahead**2), LARGEST_BET / means)
        log_capital += np.log1p(bets * (value - means))
        most = np.maximum(most, log_capital)
        former = mean
        mean += (value - mean) / (seen + 1)
        squares += (value - former) * (value - mean)
    kept = np.flatnonzero(most < np.log(1 / alpha))
    if len(kept) == 0:
        return 1.0
    # Below the first step of the grid nothing can be refused.
    return float(means[kept[0]]) if kept[0] > 0 else 0.0
