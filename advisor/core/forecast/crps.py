"""How far a told distribution is from what came out: the continuous ranked probability score.

It is the mean distance of the draws from the outcome, less half their mean distance from one
another (Gneiting and Raftery 2007). So it is in the unit of the rate, 0 for a distribution that is
sure and right, and the distance of the point for one that is a point.
"""

import numpy as np

from advisor.core.waterfill import Floats


def crps(draws: Floats, measured: float) -> float:
    """That of at least one draw."""
    ordered = np.sort(draws)
    count = len(ordered)
    ranks = 2 * np.arange(1, count + 1) - count - 1
    apart = 2 * float((ranks * ordered).sum()) / count**2
    return max(float(np.abs(ordered - measured).mean()) - apart / 2, 0.0)
