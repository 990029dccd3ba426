"""What a change did to one series, beside a mixture of series that it did not touch.

The mixture (Abadie, Diamond and Hainmueller 2010) has weights that are not negative and sum to 1,
so it never leaves what the donors did. They are fitted on the windows before the change, each
series as a part of its own mean there, since donors are of any size:

    min |y - X·w|²   with w >= 0 and Σw = 1

The effect is the mean gap after the change, less that before it. Each donor is treated as if it
had been changed, with a mixture of the others: the placebos. The interval reaches from the
estimate by the largest gap of a placebo, relative to how well its own mixture fitted: a placebo
that never fitted says little. With n donors it covers no effect at all with n / (n + 1).

A donor has to be untouched. What shares a resource with the changed series is not, since all that
one gets another has lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from advisor.core.waterfill import Booleans, Floats

FEWEST_DONORS = 5
"""With fewer, no effect of any size is told from none with five sixths."""
MOST_DONORS = 40
FEWEST_WINDOWS = 12
"""On either side."""
SUM_WEIGHT = 1e3
"""So much more than a window counts that the weights sum to 1."""
WORST_FIT = 0.5
"""A mixture that is off by half of the series before the change says nothing of it after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """How much more the series had than without the change; in its unit, with its interval.

    `level` is the part of placebos within theirs.
    """

    mean: float
    low: float
    high: float
    level: float
    donors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoEffect:
    """Why the effect is not known."""

    reason: str


def effect_of_change(series: Floats, donors: Floats, *, is_after: Booleans) -> Effect | NoEffect:
    """That on `series` (windows) by `donors` (windows, donors); NaN is unknown.

    Windows in which the series is unknown are left out, and so are donors that are not known in
    all of the others, or did nothing before the change.
    """
    known = ~np.isnan(series)
    own, others, after = series[known], donors[known], is_after[known]
    if min(int(after.sum()), int((~after).sum())) < FEWEST_WINDOWS:
        return NoEffect(reason=f"{FEWEST_WINDOWS} windows before and after the change are needed")
    base = float(own[~after].mean())
    if base <= 0:
        return NoEffect(reason="it did nothing before the change")
    usable = ~np.isnan(others).any(axis=0) & (others[~after].mean(axis=0) > 0)
    others = others[:, np.flatnonzero(usable)[:MOST_DONORS]]
    count = others.shape[1]
    if count < FEWEST_DONORS:
        return NoEffect(
            reason=f"{count} workloads that were not changed are measured in all of that time, "
            f"{FEWEST_DONORS} are needed"
        )
    others = others / others[~after].mean(axis=0)
    gap, fit = _gap(own / base, others, after)
    if fit > WORST_FIT:
        return NoEffect(reason="no mixture of the workloads that were not changed is like it")
    placebos = [
        _gap(others[:, place], np.delete(others, place, axis=1), after) for place in range(count)
    ]
    half = max(abs(one) * max(fit / own_fit, 1.0) for one, own_fit in placebos)
    return Effect(
        mean=gap * base,
        low=(gap - half) * base,
        high=(gap + half) * base,
        level=count / (count + 1),
        donors=count,
    )


def _gap(series: Floats, donors: Floats, after: Booleans) -> tuple[float, float]:
    """The gap after the change less that before, and how far off the mixture is before."""
    weights = _weights(series[~after], donors[~after])
    gap = series - donors @ weights
    before = gap[~after]
    fit = max(float(np.sqrt((before**2).mean())), 1e-9)
    return float(gap[after].mean() - before.mean()), fit


def _weights(series: Floats, donors: Floats) -> Floats:
    """Those of the donors; (donors)."""
    # It takes 26 MB, and most processes of the product need none of it.
    from scipy.optimize import nnls

    # The last row is the sum of the weights.
    table = np.vstack([donors, np.full((1, donors.shape[1]), SUM_WEIGHT)])
    found, _ = nnls(table, np.append(series, SUM_WEIGHT))
    weights: Floats = found / found.sum()
    return weights
