"""Which windows under a policy had the load that its prediction was made for.

A prediction says what a load gets. So a window tells nothing of it in which less was asked for;
but one in which a policy held back what was asked for tells most, and has as low a total. What
tells them apart is whether work waited, never what came through:

    as told    all workloads together got at least 0.8 of what was told for them
    held back  they got less, and a workload that got less than 0.8 of its own waited
    less       they got less, and each workload that got less than 0.8 of its own is known not to
               have waited
    unknown    all others: nobody measured whether they waited, or what they got

The first two are compared with the prediction. The others are not, and are counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from advisor.core.waterfill import Booleans, Floats

AS_MUCH = 0.8
"""So much of what was told is as much."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowLoads:
    """What each window is, (windows); it is one of the four."""

    as_told: Booleans
    held_back: Booleans
    less: Booleans
    unknown: Booleans

    @property
    def compared(self) -> Booleans:
        """Those that the prediction is held against."""
        found: Booleans = self.as_told | self.held_back
        return found


def window_loads(rates: Floats, waits: Floats, told: Floats) -> WindowLoads:
    """The load of each window.

    `rates` and `waits` (1, 0) are (windows, workloads), NaN where not measured; `told` are the
    rates that were predicted, (workloads).
    """
    measured = ~np.isnan(rates).any(axis=1)
    # A sum with NaN is NaN, which reaches nothing.
    as_told: Booleans = rates.sum(axis=1) >= AS_MUCH * told.sum()
    rest = measured & ~as_told
    short = rates < AS_MUCH * told
    held_back = rest & (short & (waits == 1)).any(axis=1)
    less = rest & ~held_back & (~short | (waits == 0)).all(axis=1)
    unknown = ~(as_told | held_back | less)
    return WindowLoads(as_told=as_told, held_back=held_back, less=less, unknown=unknown)
