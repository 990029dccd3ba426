"""How often the same suspects rank first when the windows are resampled.

A moving-block bootstrap (Künsch 1989): neighbouring windows are drawn together, because they are
similar.
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
    """The fraction of resamples in which one of the first `named` suspects ranks first.

    The rank is share of device time times correlation; first is the highest above 0.
    `causes[i]` and `effects[i]` (windows) are the residual ranks of suspect i, NaN where unknown.
    `parts` (suspects, windows of the incident) is device time.
    """
    rng = np.random.default_rng(seed)
    drawn = resampled_windows(rng, len(causes[0]))
    in_incident = resampled_windows(rng, parts.shape[1])
    taken = np.stack([row[in_incident].sum(axis=1) for row in parts])
    correlations = [
        _correlations(x[drawn], y[drawn]) for x, y in zip(causes, effects, strict=True)
    ]
    # Shares have one divisor in each resample, so the device time itself ranks alike.
    scores = taken * np.maximum(np.stack(correlations), 0.0)
    wins = (scores.argmax(axis=0) < named) & (scores.max(axis=0) > 0)
    return float(np.mean(wins))


def resampled_windows(rng: np.random.Generator, windows: int) -> npt.NDArray[np.intp]:
    """Indexes of resampled windows (resamples, windows)."""
    length = min(BLOCK_WINDOWS, windows)
    count = -(-windows // length)
    starts = rng.integers(0, windows - length + 1, size=(RESAMPLES, count))
    indexes = starts[:, :, None] + np.arange(length)
    return indexes.reshape(RESAMPLES, -1)[:, :windows].astype(np.intp)


def _correlations(x: Floats, y: Floats) -> Floats:
    """Correlation of each row of x with the same row of y (rows, columns), 0 if undefined.

    Only columns known in both count; the result is (rows).
    """
    known = ~(np.isnan(x) | np.isnan(y))
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    x, y = np.where(known, x, 0.0), np.where(known, y, 0.0)
    dx = np.where(known, x - x.sum(axis=1, keepdims=True) / count, 0.0)
    dy = np.where(known, y - y.sum(axis=1, keepdims=True) / count, 0.0)
    scale = np.sqrt((dx**2).sum(axis=1) * (dy**2).sum(axis=1))
    result: Floats = np.where(scale > 0, (dx * dy).sum(axis=1) / np.where(scale > 0, scale, 1), 0)
    return result
