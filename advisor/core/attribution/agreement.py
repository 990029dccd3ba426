"""How often the same suspects come first when the windows are drawn again.

A moving-block bootstrap (Künsch 1989): neighbouring windows are drawn together, because they
resemble each other.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from advisor.core.dependence import Floats

RESAMPLES = 200
BLOCK_WINDOWS = 10


def agreement(
    causes: Sequence[Floats], effects: Sequence[Floats], parts: Floats, *, named: int, seed: int
) -> float:
    """The part of resamples in which one of the first `named` suspects comes first.

    First is who has the highest part of device time times correlation, and one above 0.
    `causes[i]` and `effects[i]` are the residual ranks of suspect i, NaN where unknown, over the
    same windows; `parts` is a row of device time per suspect over the windows of the incident.
    """
    rng = np.random.default_rng(seed)
    drawn = _blocks(rng, len(causes[0]))
    in_incident = _blocks(rng, parts.shape[1])
    taken = np.stack([row[in_incident].sum(axis=1) for row in parts])
    part = taken / np.maximum(taken.sum(axis=0), np.finfo(np.float64).tiny)
    correlations = [
        _correlations(x[drawn], y[drawn]) for x, y in zip(causes, effects, strict=True)
    ]
    scores = part * np.maximum(np.stack(correlations), 0.0)
    wins = (scores.argmax(axis=0) < named) & (scores.max(axis=0) > 0)
    return float(np.mean(wins))


def _blocks(rng: np.random.Generator, windows: int) -> npt.NDArray[np.intp]:
    """Indexes of the windows of each resample, as many as there are windows."""
    length = min(BLOCK_WINDOWS, windows)
    count = -(-windows // length)
    starts = rng.integers(0, windows - length + 1, size=(RESAMPLES, count))
    indexes = starts[:, :, None] + np.arange(length)
    return indexes.reshape(RESAMPLES, -1)[:, :windows].astype(np.intp)


def _correlations(x: Floats, y: Floats) -> Floats:
    """Correlation of each row of x with that of y over the columns known in both; 0 if none."""
    known = ~(np.isnan(x) | np.isnan(y))
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    x, y = np.where(known, x, 0.0), np.where(known, y, 0.0)
    dx = np.where(known, x - x.sum(axis=1, keepdims=True) / count, 0.0)
    dy = np.where(known, y - y.sum(axis=1, keepdims=True) / count, 0.0)
    scale = np.sqrt((dx**2).sum(axis=1) * (dy**2).sum(axis=1))
    result: Floats = np.where(scale > 0, (dx * dy).sum(axis=1) / np.where(scale > 0, scale, 1), 0)
    return result
