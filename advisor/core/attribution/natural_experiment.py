"""Compare the harm to others while a workload is active (on) and inactive (off).

The workload was not switched for this purpose, so it is a natural experiment. The Mann-Whitney
test says whether the two kinds of window differ, and the Hodges-Lehmann shift by how much.
"""

import math
from dataclasses import dataclass

import numpy as np

from advisor.core.attribution.pairwise_quantiles import pairwise_quantiles
from advisor.core.dependence import Floats, ranks_of, variance_inflation

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


def natural_experiment(load: Floats, harm: Floats) -> NaturalExperiment | NoExperiment:
    """Compare harm in windows with the workload on and off.

    `load` and `harm` are (windows), NaN where unknown. On is above the middle between the 10th
    and the 90th percentile of the load.
    """
    known = ~(np.isnan(load) | np.isnan(harm))
    load, harm = load[known], harm[known]
    if len(load) < 2 * ENOUGH_WINDOWS:
        return NoExperiment(reason=f"{len(load)} windows; {2 * ENOUGH_WINDOWS} are needed")
    low, high = np.percentile(load, (10, 90))
    is_on = load > (low + high) / 2
    switches = int(np.count_nonzero(is_on[1:] != is_on[:-1]))
    on, off = harm[is_on], harm[~is_on]
    if min(len(on), len(off)) < ENOUGH_WINDOWS:
        return NoExperiment(reason=f"on in {len(on)} windows, off in {len(off)}")
    if load[is_on].mean() < ENOUGH_CONTRAST * load[~is_on].mean():
        return NoExperiment(reason="its load hardly changed")
    if switches < ENOUGH_SWITCHES:
        return NoExperiment(reason="it went on or off only once")
    return _compare(on, off, switches, variance_inflation(load, harm))


def _compare(on: Floats, off: Floats, switches: int, inflation: float) -> NaturalExperiment:
    pairs = len(on) * len(off)
    ranks = ranks_of(np.concatenate((on, off)))
    # Mann and Whitney's U: how often a window with it on is worse than one with it off.
    wins = float(ranks[: len(on)].sum()) - len(on) * (len(on) + 1) / 2
    deviation = math.sqrt(_variance_of_wins(len(on), len(off), ranks) * inflation)
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


def _variance_of_wins(on: int, off: int, ranks: Floats) -> float:
    """Variance of U without an effect, corrected for ties; `ranks` are those of all windows."""
    total = on + off
    _, ties = np.unique(ranks, return_counts=True)
    tied = float(np.sum(ties.astype(np.float64) ** 3 - ties)) / (total * (total - 1))
    return on * off / 12 * (total + 1 - tied)


def _thinned(values: Floats) -> Floats:
    """In rising order."""
    ordered: Floats = np.sort(values)
    if len(values) <= MOST_VALUES:
        return ordered
    return ordered[np.round(np.linspace(0, len(values) - 1, MOST_VALUES)).astype(np.intp)]
