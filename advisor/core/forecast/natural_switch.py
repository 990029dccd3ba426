"""When a workload of a resource starts or stops by itself: a free experiment for a prediction.

It switches over the one window `place`, in which it may be on for a part, if

    off side   each of the `SIDE` windows has at most 0.1 · H
    on side    each of the `SIDE` windows has at least 0.5 · H, and H is their mean
    size       H is at least 0.1 of what all workloads got on the on side
    company    another workload did something before, so that there is a rate to foretell
    alone      no other workload of that size switches anywhere in the windows of both sides

so a ramp that takes longer than some windows is none. Who switches "anywhere" is told by means of
`BLOCK` windows: the least of them is at most 0.1 of the largest. A workload that is starved to a
tenth by the switch looks the same as one that stops by itself, so that switch is left out as well.
A window that is not known is no evidence: both sides of whoever counts have to be known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from advisor.core.waterfill import Booleans, Floats

SIDE = 30
"""Windows for which it stays so before and after; as many as a forecast is made for."""
OFF_RATIO = 0.1
ON_RATIO = 0.5
LEAST_PART = 0.1
"""A workload with less of the use moves the others by less than can be measured."""
BLOCK = 10
NEEDED = 2 * SIDE + 1
"""Windows in which a switch can be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """The workload in this column starts or stops in the window at this place."""

    place: int
    column: int
    starts: bool


def natural_switches(rates: Floats) -> list[Switch]:
    """The switches in these windows, in order of time; `rates` is (windows, workloads)."""
    if len(rates) < NEEDED or rates.shape[1] < 2:
        return []
    found = [
        Switch(place=int(place) + SIDE, column=int(column), starts=starts)
        for starts in (True, False)
        for place, column in np.argwhere(_steps(rates, starts=starts))
    ]
    found.sort(key=lambda one: (one.place, one.column))
    return [one for one in _sharpest(found, rates) if _is_alone(rates, one)]


def _steps(rates: Floats, *, starts: bool) -> Booleans:
    """Where a workload steps clearly, whatever the others do; (places, workloads)."""
    sides = sliding_window_view(rates, SIDE, axis=0)
    before, after = sides[: -SIDE - 1], sides[SIDE + 1 :]
    off, on = (before, after) if starts else (after, before)
    mean = on.mean(axis=-1)
    # A comparison with NaN is false.
    found: Booleans = (
        (off.max(axis=-1) <= OFF_RATIO * mean) & (on.min(axis=-1) >= ON_RATIO * mean) & (mean > 0)
    )
    return found


def _sharpest(found: list[Switch], rates: Floats) -> list[Switch]:
    """Of steps of one workload in neighbouring windows, which are one step, the largest."""
    kept: dict[tuple[int, bool], list[Switch]] = {}
    for one in found:
        own = kept.setdefault((one.column, one.starts), [])
        if own and one.place - own[-1].place < SIDE:
            if _jump(rates, one) > _jump(rates, own[-1]):
                own[-1] = one
        else:
            own.append(one)
    return sorted(
        (one for own in kept.values() for one in own), key=lambda one: (one.place, one.column)
    )


def _jump(rates: Floats, switch: Switch) -> float:
    place = switch.place
    before, after = rates[place - SIDE : place], rates[place + 1 : place + 1 + SIDE]
    return abs(float(after[:, switch.column].mean() - before[:, switch.column].mean()))


def _is_alone(rates: Floats, switch: Switch) -> bool:
    """Whether it is large enough, in company, and nobody else switches meanwhile."""
    place = switch.place
    sides = rates[place - SIDE : place], rates[place + 1 : place + 1 + SIDE]
    before, on = sides[0], sides[1] if switch.starts else sides[0]
    others = [column for column in range(rates.shape[1]) if column != switch.column]
    use = float(np.nan_to_num(on).mean(axis=0).sum())
    least = LEAST_PART * use
    if float(on[:, switch.column].mean()) < least:
        return False
    if not (before[:, others].min(axis=0) > 0).any():
        return False
    blocks = np.concatenate([_block_means(np.nan_to_num(side[:, others])) for side in sides])
    most = blocks.max(axis=0)
    return not bool(((most >= least) & (blocks.min(axis=0) <= OFF_RATIO * most)).any())


def _block_means(side: Floats) -> Floats:
    """(blocks, workloads)."""
    means: Floats = side.reshape(SIDE // BLOCK, BLOCK, side.shape[1]).mean(axis=1)
    return means
