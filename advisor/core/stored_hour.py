"""An hour of windows as it is stored: one number per figure, window and column, or unknown.

The figures of a kind are its counters, its gauges, and last the part of each window that readings
cover, in microseconds. Counters and that part are known in the same windows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from advisor.core.chunk import UNKNOWN

WINDOW_S = 10
WINDOWS = 3600 // WINDOW_S
QUARTERS = 4
QUARTER_S = 3600 // QUARTERS
QUARTER_SUMS = 0
FIVE_MINUTE_SUMS = 1000
"""Numbers that no figure has: under them the sums of all figures of a shard are stored."""
STEPS_OF_SUMS = {QUARTER_SUMS: QUARTERS, FIVE_MINUTE_SUMS: 12}
"""Into how many parts of the hour each of these sums is divided."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuarterValues:
    """Mean and largest value of each figure in each quarter of an hour; NaN is not known.

    Both are (figures, quarters, columns): growth a second, a gauge as it is.
    """

    mean: Floats
    maximum: Floats

    @property
    def known(self) -> Flags:
        """(quarters, columns): whether any figure is known."""
        found: Flags = (~np.isnan(self.mean)).sum(axis=0) > 0
        return found


def stored_values(growth: Integers, gauges: Integers, seconds: Floats) -> Integers:
    """(figures, windows, columns) of growths, gauges at the ends, and seconds that are covered.

    `growth` and `gauges` are (figures, windows, columns), `seconds` (windows, columns), 0 where
    nothing is known.
    """
    known = seconds > 0
    covered_us = np.rint(seconds * 1e6).astype(np.int64)
    return np.concatenate(
        [
            np.where(known, growth, UNKNOWN),
            gauges,
            np.where(known, covered_us, UNKNOWN)[None],
        ]
    )


def united(
    stored: Integers | None,
    found: Integers,
    columns: Integers,
    width: int,
    *,
    rows_are_whole: bool,
) -> Integers:
    """What is stored of a figure, (windows, width), with what was found in these columns.

    What was found counts alone if it was made of all readings there ever were. If rows may be
    gone, what is stored stays, and what was found is added where nothing was known.
    """
    result = np.full((found.shape[0], width), UNKNOWN, dtype=np.int64)
    if stored is not None:
        result[:, : stored.shape[1]] = stored
    before = result[:, columns]
    stays = (before != UNKNOWN) & (not rows_are_whole)
    result[:, columns] = np.where(stays, before, found)
    return result


def step_sums(values: Integers, *, counters: int, steps: int) -> Integers:
    """(figures x steps, columns) of what `stored_values` gives: sums, gauges at the ends."""
    figures, windows, columns = values.shape
    shaped = values.reshape(figures, steps, windows // steps, columns)
    is_known = (shaped != UNKNOWN).any(axis=2)
    sums = np.where(is_known, np.maximum(shaped, 0).sum(axis=2), UNKNOWN)
    sums[counters:-1] = shaped[counters:-1, :, -1]
    return sums.reshape(figures * steps, columns)


def quarter_values(values: Integers, *, counters: int) -> QuarterValues:
    """Of what `stored_values` gives, without its last figure.

    The first `counters` of the figures are growths.
    """
    per_quarter = values.shape[1] // QUARTERS
    shaped = values.reshape(values.shape[0], QUARTERS, per_quarter, values.shape[2])
    covered_s = np.where(shaped[-1] == UNKNOWN, np.nan, shaped[-1] / 1e6)
    known_s = np.nansum(covered_s, axis=1)
    growth = np.where(shaped[:counters] == UNKNOWN, np.nan, shaped[:counters])
    gauges = np.where(shaped[counters:-1] == UNKNOWN, np.nan, shaped[counters:-1])
    mean = np.nansum(growth, axis=2) / np.where(known_s > 0, known_s, np.nan)
    return QuarterValues(
        mean=np.concatenate([mean, _mean(gauges)]),
        maximum=np.concatenate([_largest(growth / covered_s), _largest(gauges)]),
    )


def _mean(values: Floats) -> Floats:
    """Over the windows of each quarter; NaN where none is known."""
    count = (~np.isnan(values)).sum(axis=2)
    result: Floats = np.nansum(values, axis=2) / np.where(count > 0, count, np.nan)
    return result


def _largest(values: Floats) -> Floats:
    lowest = np.where(np.isnan(values), -np.inf, values).max(axis=2, initial=-np.inf)
    return np.where(np.isneginf(lowest), np.nan, lowest)
