"""Compare the harm to others while a workload is active (on) and inactive (off).

The workload was not switched for this purpose, so it is a natural experiment. The Mann-Whitney
test says whether the two kinds of window differ, and the Hodges-Lehmann shift by how much.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from advisor.core.attribution.pairwise_quantiles import pairwise_quantiles
from advisor.core.dependence import Floats, alike, distinct, ranks_of, variance_inflations

ENOUGH_WINDOWS = 8
"""Windows of each kind that are needed."""
ENOUGH_CONTRAST = 2.0
"""The load of on is at least this many times that of off."""
ENOUGH_SWITCHES = 2
"""A single switch may coincide with anything else that began at that time."""
INTERVAL_Z = 1.959964
MOST_VALUES = 1000
"""Larger samples are reduced to this many evenly spaced order statistics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalExperiment:
    """The harm to others while the workload is on, compared with off.

    `shift` is in the unit of harm, with its 95 % interval; `superiority` is the probability that
    a window with the workload on is worse than one with it off (0.5 means no effect).
    """

    on_windows: int
    switches: int
    shift: float
    shift_low: float
    shift_high: float
    superiority: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoExperiment:
    """There is no usable on/off comparison, for this reason."""

    reason: str


def natural_experiments(loads: Floats, harms: Floats) -> list[NaturalExperiment | NoExperiment]:
    """Compare the harm in windows with the workload on and off, for each row.

    Both are (rows, windows), NaN where unknown. On is above the middle between the 10th and the
    90th percentile of the load.
    """
    found: dict[int, NaturalExperiment | NoExperiment] = {}
    for rows, windows in alike(~(np.isnan(loads) | np.isnan(harms))):
        known = loads[rows][:, windows], harms[rows][:, windows]
        found.update(zip(rows.tolist(), _of_complete(*known), strict=True))
    return [found[row] for row in range(len(loads))]


def _of_complete(loads: Floats, harms: Floats) -> Iterator[NaturalExperiment | NoExperiment]:
    """Of rows without a gap."""
    windows = loads.shape[1]
    if windows < 2 * ENOUGH_WINDOWS:
        reason = f"{windows} windows; {2 * ENOUGH_WINDOWS} are needed"
        yield from [NoExperiment(reason=reason)] * len(loads)
        return
    ordered, ranks = np.sort(loads, axis=1), ranks_of(harms)
    is_on = loads > ((_decile(ordered, 1) + _decile(ordered, 9)) / 2)[:, None]
    switches = np.count_nonzero(is_on[:, 1:] != is_on[:, :-1], axis=1)
    columns = (
        switches.tolist(),
        np.where(is_on, ranks, 0.0).sum(axis=1).tolist(),
        (variance_inflations(ranks_of(loads), ranks) * _tie_factors(ranks)).tolist(),
    )
    for load, harm, row_is_on, changes, rank_sum, factor in zip(
        loads, harms, is_on, *columns, strict=True
    ):
        on, off = harm[row_is_on], harm[~row_is_on]
        if min(len(on), len(off)) < ENOUGH_WINDOWS:
            yield NoExperiment(reason=f"on in {len(on)} windows, off in {len(off)}")
        elif load[row_is_on].mean() < ENOUGH_CONTRAST * load[~row_is_on].mean():
            yield NoExperiment(reason="its load hardly changed")
        elif changes < ENOUGH_SWITCHES:
            yield NoExperiment(reason="it went on or off only once")
        else:
            # Of Mann and Whitney's U without an effect.
            deviation = math.sqrt(len(on) * len(off) / 12 * factor)
            yield _compare(on, off, changes, rank_sum, deviation)


def _compare(
    on: Floats, off: Floats, switches: int, rank_sum: float, deviation: float
) -> NaturalExperiment:
    """`rank_sum` is that of the harm while on; `deviation` is that of U without an effect."""
    pairs = len(on) * len(off)
    # Mann and Whitney's U: how often a window with it on is worse than one with it off.
    wins = rank_sum - len(on) * (len(on) + 1) / 2
    half = INTERVAL_Z * deviation / pairs
    parts = [max(0.5 - half, 0.0), 0.5, min(0.5 + half, 1.0)]
    low, shift, high = pairwise_quantiles(_thinned(on), _thinned(off), parts)
    return NaturalExperiment(
        on_windows=len(on),
        switches=switches,
        shift=shift,
        shift_low=low,
        shift_high=high,
        superiority=wins / pairs,
    )


def _tie_factors(ranks: Floats) -> Floats:
    """What the variance of U is of its pairs, over 12, corrected for ties in each row; (rows)."""
    total = ranks.shape[1]
    firsts, like = distinct(ranks)
    found = []
    for row in ranks[firsts]:
        _, ties = np.unique(row, return_counts=True)
        tied = float(np.sum(ties.astype(np.float64) ** 3 - ties)) / (total * (total - 1))
        found.append(total + 1 - tied)
    result: Floats = np.array(found)[like]
    return result


def _decile(ordered: Floats, tenths: int) -> Floats:
    """As `np.percentile` interpolates it, which takes ten times as long to begin; (rows)."""
    at = (ordered.shape[1] - 1) * tenths / 10
    low, high = ordered[:, int(at)], ordered[:, min(int(at) + 1, ordered.shape[1] - 1)]
    result: Floats = low + (high - low) * (at - int(at))
    return result


def _thinned(values: Floats) -> Floats:
    """In rising order."""
    ordered: Floats = np.sort(values)
    if len(values) <= MOST_VALUES:
        return ordered
    return ordered[np.round(np.linspace(0, len(values) - 1, MOST_VALUES)).astype(np.intp)]
