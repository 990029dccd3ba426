"""Latencies of the requests between two looks at QEMU's histogram of all requests. Pure.

QEMU keeps one after `block-latency-histogram-set`, which somebody else has to say: the reader
changes nothing.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, TypeGuard


@dataclass(frozen=True, slots=True)
class Histogram:
    """`bins[0]` counts what took less than `boundaries_ns[0]`, the last what took longer."""

    boundaries_ns: tuple[int, ...]
    bins: tuple[int, ...]

    @classmethod
    def of(cls, said: Any) -> Self | None:
        """A histogram as QEMU says it; None if it is none."""
        if not isinstance(said, dict):
            return None
        boundaries, bins = said.get("boundaries"), said.get("bins")
        if not _are_whole(boundaries) or not _are_whole(bins):
            return None
        is_rising = all(low < high for low, high in pairwise(boundaries))
        if not boundaries or not is_rising or len(bins) != len(boundaries) + 1:
            return None
        return cls(tuple(boundaries), tuple(bins))

    def since(self, before: Self) -> Self | None:
        """What came since; None where it was set anew or has other boundaries now."""
        if self.boundaries_ns != before.boundaries_ns:
            return None
        grown = tuple(now - then for now, then in zip(self.bins, before.bins, strict=True))
        return None if min(grown) < 0 else type(self)(self.boundaries_ns, grown)

    def quantile_ns(self, ratio: float) -> float | None:
        """The latency that this part of the requests did not exceed; None without requests.

        Within a bin requests count as evenly spread. Of the last bin, which has no end, its
        beginning is given: it was at least that.
        """
        wanted = ratio * sum(self.bins)
        if wanted <= 0:
            return None
        edges = (0, *self.boundaries_ns)
        below = 0
        for at, count in enumerate(self.bins[:-1]):
            if count and below + count >= wanted:
                width = edges[at + 1] - edges[at]
                return edges[at] + width * (wanted - below) / count
            below += count
        return float(self.boundaries_ns[-1])


def _are_whole(said: Any) -> TypeGuard[list[int]]:
    return isinstance(said, list) and all(
        isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in said
    )
