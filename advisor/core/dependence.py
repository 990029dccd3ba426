"""Partial rank correlation of two series over several lags, with confidence intervals.

Ranks, because latency rises faster than load. Neighbouring windows are similar, so they count as
fewer pairs than there are (Bartlett 1935).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ENOUGH_PAIRS = 12
"""Windows with both values that are needed."""
INTERVAL_Z = 2.394
"""Two-sided 95 % for the best of three lags: the normal quantile of 1 - 0.05 / 6."""
SAME_SERIES = 0.99
"""Above this correlation, cause and control cannot be separated."""
CLEARLY_LATER = 0.05
"""A later lag must exceed an earlier one by this much; smaller differences are chance."""
LARGEST_AUTOCORRELATION = 0.95
REMEMBERED = 32
"""Series whose ranks are remembered: the same harm is compared with many workloads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """Partial rank correlation of effect on cause at the lag where it is highest.

    `low` and `high` are its 95 % interval; `effective_pairs` is the number of independent windows.
    """

    correlation: float
    low: float
    high: float
    lag_windows: int
    effective_pairs: float


def rank_dependence(
    cause: Floats, effect: Floats, control: Floats, *, lags: Sequence[int] = (0, 1, 2)
) -> Dependence | None:
    """The strongest dependence over the lags (in rising order), the earlier if nearly equal.

    None if nothing varies or too few pairs exist. All series are (windows), NaN where unknown.
    The control, the victim's own load, counts only where it rises with the effect: a load that
    falls when latency rises is a consequence, not a cause.
    """
    best = None
    for lag in lags:
        one = _at_lag(cause, effect, control, lag)
        if one and (best is None or one.correlation > best.correlation + CLEARLY_LATER):
            best = one
    return best


def _at_lag(cause: Floats, effect: Floats, control: Floats, lag: int) -> Dependence | None:
    x, y, z = lagged(cause, effect, control, lag)
    if len(x) < ENOUGH_PAIRS:
        return None
    ranks = residual_ranks(x, y, z)
    plain = None if ranks is None else correlation(*ranks)
    if plain is None:
        return None
    # A perfect correlation has no finite Fisher z.
    value = min(max(plain, -1 + 1e-9), 1 - 1e-9)
    pairs = len(x) / variance_inflation(x, y)
    half = INTERVAL_Z / math.sqrt(max(pairs - 4, 1.0))
    return Dependence(
        correlation=value,
        low=math.tanh(math.atanh(value) - half),
        high=math.tanh(math.atanh(value) + half),
        lag_windows=lag,
        effective_pairs=pairs,
    )


def residual_ranks(cause: Floats, effect: Floats, control: Floats) -> tuple[Floats, Floats] | None:
    """Ranks of cause and effect (windows) without the part that the control explains.

    None if the control explains all of the cause or of the effect.
    """
    x, y, z = (ranks_of(one) - (len(one) + 1) / 2 for one in (cause, effect, control))
    own_effect, own_cause = correlation(y, z), correlation(x, z)
    if own_effect is None or own_cause is None or own_effect <= 0:
        return x, y
    if abs(own_cause) > SAME_SERIES or own_effect > SAME_SERIES:
        return None
    scale = float(z @ z)
    return x - z * (float(x @ z) / scale), y - z * (float(y @ z) / scale)


def ranks_of(values: Floats) -> Floats:
    """The rank of each value from 1 on, the mean of their ranks for equal ones; (values).

    As `scipy.stats.rankdata` gives them.
    The result cannot be changed: one series is ranked for many others.
    """
    return _ranks(values.tobytes())


@lru_cache(maxsize=REMEMBERED)
def _ranks(packed: bytes) -> Floats:
    values = np.frombuffer(packed)
    order = np.argsort(values)
    ordered = values[order]
    differs = np.ones(len(values) + 1, dtype=np.bool_)
    differs[1:-1] = ordered[1:] != ordered[:-1]
    edges = np.flatnonzero(differs)
    ranks = np.empty(len(values))
    ranks[order] = np.repeat((edges[:-1] + edges[1:] + 1) / 2, np.diff(edges))
    ranks.setflags(write=False)
    return ranks


def lagged(
    cause: Floats, effect: Floats, control: Floats, lag: int
) -> tuple[Floats, Floats, Floats]:
    """Cause, and effect and control `lag` windows later, where all are known; each (pairs)."""
    x, y, z = cause[: len(cause) - lag], effect[lag:], control[lag:]
    known = ~(np.isnan(x) | np.isnan(y) | np.isnan(z))
    return x[known], y[known], z[known]


def correlation(x: Floats, y: Floats) -> float | None:
    """Pearson's correlation; None where one of the two does not vary."""
    dx, dy = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(dx @ dx) * float(dy @ dy))
    return float(dx @ dy) / scale if scale > 0 else None


def variance_inflation(x: Floats, y: Floats) -> float:
    """How many neighbouring windows equal one independent window, at least 1."""
    product = _autocorrelation(x) * _autocorrelation(y)
    return (1 + product) / (1 - product)


def _autocorrelation(x: Floats) -> float:
    """Rank correlation of each value with the next, between 0 and the largest accepted."""
    return _autocorrelation_of(x.tobytes())


@lru_cache(maxsize=REMEMBERED)
def _autocorrelation_of(packed: bytes) -> float:
    ranks = _ranks(packed)
    if len(ranks) < 3:
        return 0.0
    found = correlation(ranks[:-1], ranks[1:])
    return min(max(found or 0.0, 0.0), LARGEST_AUTOCORRELATION)
