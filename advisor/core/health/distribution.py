"""Durations counted in buckets, so that those of many processes add up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

SMALLEST_S = 0.1
"""Everything up to this is in the first bucket."""
RATIO = 1.05
"""Each bucket ends this much later than the one before: quantiles are at most 5 % too long."""


def bucket_of(length_s: float) -> int:
    """The bucket of a duration; negative ones count as zero."""
    if length_s <= SMALLEST_S:
        return 0
    return math.ceil(math.log(length_s / SMALLEST_S) / math.log(RATIO) - 1e-9)


def bucket_end_s(bucket: int) -> float:
    """The longest duration of a bucket."""
    return SMALLEST_S * float(RATIO**bucket)


def bucket_quantile_s(counts: Mapping[int, int], part: float) -> float | None:
    """The end of the bucket that holds this part (0-1) of all; None if nothing was counted."""
    rank = _rank(sum(counts.values()), part)
    seen = 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if rank and seen >= rank:
            return bucket_end_s(bucket)
    return None


def quantile_s(lengths_s: Sequence[float], part: float) -> float | None:
    """The shortest duration that this part (0-1) of all does not exceed; None without any."""
    rank = _rank(len(lengths_s), part)
    return sorted(lengths_s)[rank - 1] if rank else None


def _rank(count: int, part: float) -> int:
    return 0 if count == 0 else max(1, math.ceil(part * count - 1e-9))
