"""The size terms of a device over time: what is learnt holds from a time on, and not before.

So windows of the past stay judged as they were, and are judged the same again if samples come
late. `cost_ratios` states loads and latencies of one time in the size term of another.
"""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from advisor.core.iosize import REFERENCE_BYTES, SIZE_TERM_BYTES
from advisor.core.waterfill import Floats

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTerms:
    """From each time of `since_us` on, the size term beside it in `terms_bytes`.

    Times are microseconds of the epoch, in order. Before the first, BASIL's size term holds.
    """

    since_us: tuple[int, ...] = ()
    terms_bytes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.since_us) != len(self.terms_bytes):
            raise ValueError("since_us and terms_bytes must be equally long")
        if not all(np.isfinite(one) and one > 0 for one in self.terms_bytes):
            raise ValueError("a size term must be a finite number above 0")

    def at_us(self, end_us: int) -> float:
        """The size term of the window that ends then, in bytes."""
        place = bisect_right(self.since_us, end_us)
        return self.terms_bytes[place - 1] if place else SIZE_TERM_BYTES

    def of_windows(self, ends_us: Integers) -> Floats:
        """The size terms of the windows that end then, in bytes; (windows)."""
        if not self.since_us:
            return np.full(len(ends_us), SIZE_TERM_BYTES)
        terms = np.array([SIZE_TERM_BYTES, *self.terms_bytes])
        found: Floats = terms[np.searchsorted(self.since_us, ends_us, side="right")]
        return found


CONSTANT = SizeTerms()
"""Of a device from which none was learnt."""


def always(size_term_bytes: float) -> SizeTerms:
    """The same size term at all times."""
    return SizeTerms(since_us=(0,), terms_bytes=(size_term_bytes,))


def cost_ratios(
    load: Floats, device_load: Floats, terms_bytes: Floats, *, to_bytes: float
) -> Floats:
    """By how much an I/O of each window costs more in the size term `to_bytes`; (windows).

    `load` is I/Os and `device_load` device time in the windows' own `terms_bytes`. Device time is
    a line over the size, so the mean size of a window follows from both, and the ratio for device
    time is exact. For latencies it is where hosts do I/Os of like sizes. 1 where that is unknown.
    """
    known = (load > 0) & (device_load > 0)
    cost = np.where(known, device_load / np.where(known, load, 1.0), 1.0)
    size = np.maximum(cost * (terms_bytes + REFERENCE_BYTES) - terms_bytes, 0.0)
    ratios = (to_bytes + size) / (to_bytes + REFERENCE_BYTES) / cost
    return np.where(terms_bytes == to_bytes, 1.0, ratios)
