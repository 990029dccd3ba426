"""What a device delivered under load: its capacity, as far as that was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ENOUGH_WINDOWS = 6
"""A minute of windows of ten seconds: fewer may be the end or start of a load."""
_LOW, _HIGH = 10.0, 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCapacity:
    """`value` is the median of the rates under load, `low` to `high` hold four fifths of them.

    Where there was no load (`is_bound`), the device delivered `value` once and can do more: `low`
    is the same, `high` is None. Rates are in the unit of the resource.
    """

    value: float
    low: float
    high: float | None
    windows: int
    is_bound: bool


def seen_capacity(
    rates: Sequence[float], levels: Sequence[float], *, threshold: float
) -> SeenCapacity | None:
    """The capacity by windows with a rate and a level; above the threshold they are under load.

    None without any window with I/O.
    """
    known = np.array(rates, dtype=np.float64)
    loaded = known[np.array(levels, dtype=np.float64) > threshold]
    if len(loaded) >= ENOUGH_WINDOWS:
        low, value, high = np.percentile(loaded, [_LOW, 50.0, _HIGH]).tolist()
        return SeenCapacity(value=value, low=low, high=high, windows=len(loaded), is_bound=False)
    if not len(known):
        return None
    most = float(known.max())
    return SeenCapacity(value=most, low=most, high=None, windows=len(known), is_bound=True)
