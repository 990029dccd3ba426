"""Each workload's part of the rise of load in an incident: its Shapley value over device time.

The players of a window are the workloads: those of a coalition load the device as they did, all
others as they normally do. Its value is the load above normal, or 0. So who is as always has no
part, however much that is, and who was slowed has a negative one: without it there were more.
The values of all sum to the whole rise (Shapley 1953).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import numpy.typing as npt

from advisor.core.attribution.agreement import resampled_windows
from advisor.core.attribution.harm import ENOUGH_NORMAL_WINDOWS
from advisor.core.dependence import Floats

MOST_PLAYERS = 64
"""Of more, those that differ most from their normal are told; the others play as one."""
ALL_ORDERS = 6
"""Up to so many players every order is counted (720); of more, drawn ones and their reverses."""
DRAWN_ORDERS = 64
INTERVAL = (5, 95)
"""Percentiles of the resampled parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RisePart:
    """A part of the whole rise, with its 90 % interval; below 0 for who was slowed."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRise:
    """Why there is no part."""

    reason: str


def rise_parts(
    load: Floats, during: npt.NDArray[np.bool_], *, seed: int
) -> list[RisePart | NoRise]:
    """By workload; `load` is (workloads, windows) with NaN where unknown, `during` (windows)."""
    known = np.nan_to_num(load)
    outside = known[:, ~during]
    if outside.shape[1] < ENOUGH_NORMAL_WINDOWS:
        return [NoRise(reason="too few windows outside the incident")] * len(load)
    moved = known[:, during] - np.median(outside, axis=1, keepdims=True)
    total = np.maximum(moved.sum(axis=0), 0.0)
    if total.sum() <= 0:
        return [NoRise(reason="together the workloads loaded it no more than normal")] * len(load)
    order = np.argsort(-np.abs(moved).sum(axis=1), kind="stable")
    told, rest = order[:MOST_PLAYERS], order[MOST_PLAYERS:]
    players = np.vstack([moved[told], moved[rest].sum(axis=0)]) if len(rest) else moved[told]
    rng = np.random.default_rng(seed)
    values = shapley_values(players, rng)[: len(told)]
    whole = values.sum(axis=1) / total.sum()
    drawn = resampled_windows(rng, moved.shape[1])
    sums = total[drawn].sum(axis=1)
    resampled = np.stack([row[drawn].sum(axis=1) for row in values])[:, sums > 0] / sums[sums > 0]
    low, high = np.percentile(resampled, INTERVAL, axis=1)
    found: list[RisePart | NoRise] = [NoRise(reason="too small to tell")] * len(load)
    for place, row in enumerate(told.tolist()):
        found[row] = RisePart(
            ratio=float(whole[place]), low=float(low[place]), high=float(high[place])
        )
    return found


def shapley_values(moved: Floats, rng: np.random.Generator) -> Floats:
    """Of each player in each window; `moved` and the result are (players, windows)."""
    values = np.zeros_like(moved)
    count = 0
    for order in _orders(len(moved), rng):
        joined = np.maximum(np.cumsum(moved[order], axis=0), 0.0)
        values[order] += np.diff(joined, axis=0, prepend=0.0)
        count += 1
    result: Floats = values / max(count, 1)
    return result


def _orders(players: int, rng: np.random.Generator) -> Iterator[list[int]]:
    if players <= ALL_ORDERS:
        yield from map(list, permutations(range(players)))
        return
    for _ in range(DRAWN_ORDERS):
        order = rng.permutation(players)
        # The reverse of an order errs the other way.
        yield from (order.tolist(), order[::-1].tolist())
