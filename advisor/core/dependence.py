"""Partial rank correlation of two series over several lags, with confidence intervals.

Ranks, because latency rises faster than load. Neighbouring windows are similar, so they count as
fewer pairs than there are (Bartlett 1935).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


LAGS = (0, 1, 2)
ENOUGH_PAIRS = 12
"""Windows with both values that are needed."""
INTERVAL_Z = 2.394
"""Two-sided 95 % for the best of three lags: the normal quantile of 1 - 0.05 / 6."""
SAME_SERIES = 0.99
"""Above this correlation, cause and control cannot be separated."""
CLEARLY_LATER = 0.05
"""A later lag must exceed an earlier one by this much; smaller differences are chance."""
LARGEST_AUTOCORRELATION = 0.95


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


def rank_dependences(
    causes: Floats, effects: Floats, controls: Floats, *, lags: Sequence[int] = LAGS
) -> list[Dependence | None]:
    """Of each row the strongest over the lags (in rising order), the earlier if nearly equal.

    None if nothing varies or too few pairs exist. All are (rows, windows), NaN where unknown.
    The control, the victim's own load, counts only where it rises with the effect: a load that
    falls when latency rises is a consequence, not a cause.
    """
    best: list[Dependence | None] = [None] * len(causes)
    for lag in lags:
        for row, one in enumerate(_at_lag(causes, effects, controls, lag)):
            held = best[row]
            if one and (held is None or one.correlation > held.correlation + CLEARLY_LATER):
                best[row] = one
    return best


def _at_lag(
    causes: Floats, effects: Floats, controls: Floats, lag: int
) -> list[Dependence | None]:
    x, y, z = lagged(causes, effects, controls, lag)
    known = ~(np.isnan(x) | np.isnan(y) | np.isnan(z))
    if known.all():
        return _of_complete(x, y, z, lag=lag)
    found: list[Dependence | None] = [None] * len(x)
    for rows, windows in alike(known):
        complete = (one[rows][:, windows] for one in (x, y, z))
        for row, one in zip(rows.tolist(), _of_complete(*complete, lag=lag), strict=True):
            found[row] = one
    return found


def alike(known: Flags) -> Iterator[tuple[Places, Flags]]:
    """The rows that are known in the same windows, with these windows; `known` as both."""
    firsts, like = distinct(known)
    for place, first in enumerate(firsts):
        yield np.flatnonzero(like == place), known[first]


def distinct(table: npt.NDArray[Any]) -> tuple[list[int], Places]:
    """The first row of each kind, and of each row the place of its like in them."""
    places: dict[bytes, int] = {}
    like = [places.setdefault(row.tobytes(), len(places)) for row in table]
    return [like.index(place) for place in range(len(places))], np.array(like, dtype=np.intp)


def _of_complete(
    cause: Floats, effect: Floats, control: Floats, *, lag: int
) -> list[Dependence | None]:
    """Of rows without a gap, each (rows, pairs)."""
    pairs = cause.shape[1]
    if pairs < ENOUGH_PAIRS:
        return [None] * len(cause)
    ranks = ranks_of(cause), ranks_of(effect), ranks_of(control)
    values = correlations(*residual_ranks(*ranks))
    inflations = variance_inflations(ranks[0], ranks[1])
    return [
        None if math.isnan(plain) else _dependence(plain, pairs / inflation, lag)
        for plain, inflation in zip(values.tolist(), inflations.tolist(), strict=True)
    ]


def _dependence(correlation: float, pairs: float, lag: int) -> Dependence:
    # A perfect correlation has no finite Fisher z.
    value = min(max(correlation, -1 + 1e-9), 1 - 1e-9)
    half = INTERVAL_Z / math.sqrt(max(pairs - 4, 1.0))
    return Dependence(
        correlation=value,
        low=math.tanh(math.atanh(value) - half),
        high=math.tanh(math.atanh(value) + half),
        lag_windows=lag,
        effective_pairs=pairs,
    )


def residual_ranks(cause: Floats, effect: Floats, control: Floats) -> tuple[Floats, Floats]:
    """Ranks of cause and effect about their middle, without what those of the control explain.

    All are ranks, (rows, pairs). NaN where the control explains all of the cause or of the effect.
    """
    middle = (cause.shape[1] + 1) / 2
    x, y, z = cause - middle, effect - middle, control - middle
    own_effect, own_cause = correlations(y, z), correlations(x, z)
    counts = (own_effect > 0) & ~np.isnan(own_cause)
    explained = counts & ((np.abs(own_cause) > SAME_SERIES) | (own_effect > SAME_SERIES))
    scale = np.where(counts, _products(z, z), 1.0)
    found = []
    for one in (x, y):
        part = np.where(counts, _products(one, z), 0.0) / scale
        part[explained] = np.nan
        found.append(one - z * part[:, None])
    return found[0], found[1]


def ranks_of(values: Floats) -> Floats:
    """The rank of each value in its row from 1 on, for equal values the mean of their ranks.

    As `scipy.stats.rankdata` gives them; (rows, pairs).
    """
    # The same harm is compared with many workloads: it is ranked once.
    firsts, like = distinct(values)
    if len(firsts) < len(values):
        return _ranks(values[firsts])[like]
    return _ranks(values)


def _ranks(values: Floats) -> Floats:
    row_begins = np.arange(len(values))[:, None] * values.shape[1]
    order = (np.argsort(values, axis=1) + row_begins).ravel()
    ordered = values.ravel()[order].reshape(values.shape)
    differs = np.ones(values.shape, dtype=np.bool_)
    differs[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ranks = np.empty(values.size)
    if differs.all():
        ranks[order] = np.arange(1, values.size + 1)
    else:
        begins = np.append(np.flatnonzero(differs), values.size)
        ranks[order] = np.repeat((begins[:-1] + begins[1:] + 1) / 2, np.diff(begins))
    result: Floats = ranks.reshape(values.shape) - row_begins
    return result


def lagged(
    causes: Floats, effects: Floats, controls: Floats, lag: int
) -> tuple[Floats, Floats, Floats]:
    """Causes, and effects and controls `lag` windows later; each (rows, pairs)."""
    return causes[:, : causes.shape[1] - lag], effects[:, lag:], controls[:, lag:]


def correlations(x: Floats, y: Floats) -> Floats:
    """Pearson's correlation of each row, NaN where one of the two does not vary; (rows)."""
    dx = x - x.mean(axis=1, keepdims=True)
    dy = y - y.mean(axis=1, keepdims=True)
    return _ratio(_products(dx, dy), _products(dx, dx), _products(dy, dy))


def _ratio(both: Floats, x: Floats, y: Floats) -> Floats:
    """The correlation by the sums of products about the means, each (rows)."""
    scale = np.sqrt(x * y)
    result: Floats = np.where(scale > 0, both / np.where(scale > 0, scale, 1), np.nan)
    return result


def _products(x: Floats, y: Floats) -> Floats:
    # No table of products is made, which would not fit into the cache of a core.
    result: Floats = np.einsum("ij,ij->i", x, y)
    return result


def variance_inflations(x: Floats, y: Floats) -> Floats:
    """How many neighbouring windows equal one independent window, at least 1; (rows).

    Both are ranks, (rows, pairs).
    """
    product = _autocorrelations(x) * _autocorrelations(y)
    result: Floats = (1 + product) / (1 - product)
    return result


def _autocorrelations(ranks: Floats) -> Floats:
    """Correlation of each rank with the next, between 0 and the largest accepted."""
    # The same ranks are compared with those of many workloads.
    firsts, like = distinct(ranks)
    own = ranks[firsts] if len(firsts) < len(ranks) else ranks
    count = own.shape[1] - 1
    if count < 2:
        return np.zeros(len(ranks))
    # Sums of ranks about their middle, and of their products, are exact.
    centred = own - (own.shape[1] + 1) / 2
    before, after = centred[:, :-1], centred[:, 1:]
    squares, total = _products(centred, centred), centred.sum(axis=1)
    first, last = centred[:, 0], centred[:, -1]
    sum_before, sum_after = total - last, total - first
    found = _ratio(
        _products(before, after) - sum_before * sum_after / count,
        squares - last**2 - sum_before**2 / count,
        squares - first**2 - sum_after**2 / count,
    )
    clipped = np.clip(np.nan_to_num(found), 0.0, LARGEST_AUTOCORRELATION)
    result: Floats = clipped[like] if len(firsts) < len(ranks) else clipped
    return result
