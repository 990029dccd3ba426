"""How far a told distribution is from what came out: the continuous ranked probability score.

It is the mean distance of the draws from the outcome, less half their mean distance from one
another (Gneiting and Raftery 2007). So it is in the unit of the rate, 0 for a distribution that is
sure and right, and the distance of the point for one that is a point.
"""

import numpy as np

from advisor.core.waterfill import Floats

DRAWS = 200
"""More change the score of a range by less than a part in a thousand of its width."""


def crps(draws: Floats, measured: float) -> float:
    """That of at least one draw."""
    ordered = np.sort(draws)
    count = len(ordered)
    ranks = 2 * np.arange(1, count + 1) - count - 1
    apart = 2 * float((ranks * ordered).sum()) / count**2
    return max(float(np.abs(ordered - measured).mean()) - apart / 2, 0.0)


def even_draws(*, low: float, middle: float, high: float, level: float) -> Floats:
    """Draws of a forecast of which only a range and its middle are kept.

    So much as `level` lies in the range, half of that on either side of the middle and evenly
    there; the rest lies at its ends, since nothing says how far beyond.
    """
    outside = (1 - level) / 2
    places = (np.arange(DRAWS) + 0.5) / DRAWS
    found: Floats = np.interp(places, [outside, 0.5, 1 - outside], [low, middle, high])
    return found
