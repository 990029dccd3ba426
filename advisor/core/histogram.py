"""How often a figure had which value in a day, in few bytes; days are merged by adding.

Buckets grow by a fixed ratio from 0.001 to 10^13, the same for every figure and host, so two
histograms add up exactly, bucket by bucket. What is below the smallest value counts as zero.
A percentile is the middle of its bucket: at most `RELATIVE_ERROR` from the value it stands for.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np
import numpy.typing as npt

VERSION = 1
RATIO = 1.036
SMALLEST, LARGEST = 1e-3, 1e13
RELATIVE_ERROR = RATIO**0.5 - 1
"""1.8 %."""
BUCKETS = int(np.ceil(np.log(LARGEST / SMALLEST) / np.log(RATIO))) + 2
"""The first is zero, the last also holds what is larger than `LARGEST`."""

Counts = npt.NDArray[np.int64]
"""Shape (`BUCKETS`,)."""
Floats = npt.NDArray[np.float64]


class DamagedHistogramError(ValueError):
    """The bytes are not a histogram that was written here."""


def histograms(values: Floats) -> list[bytes]:
    """One per column of (times, columns); NaN counts nowhere, negative values as zero."""
    columns = values.shape[1]
    known = ~np.isnan(values)
    keys = buckets(values[known]) + BUCKETS * np.nonzero(known)[1]
    counts = np.bincount(keys, minlength=BUCKETS * columns)
    return [encoded(own) for own in counts.reshape(columns, BUCKETS)]


def buckets(values: Floats) -> Counts:
    """Bucket k holds from SMALLEST × RATIO^(k-1) up to, but not with, SMALLEST × RATIO^k."""
    exponents = np.log(np.maximum(values, SMALLEST) / SMALLEST) / np.log(RATIO)
    found = np.where(values < SMALLEST, 0, np.floor(exponents) + 1)
    return np.minimum(found, BUCKETS - 1).astype(np.int64)


def encoded(counts: Counts) -> bytes:
    """The total, then runs of filled buckets: the empty ones before, the length, the counts.

    Numbers take seven bits a byte, the lowest first.
    """
    filled = np.flatnonzero(counts)
    begins = np.flatnonzero(np.diff(filled, prepend=-2) > 1)
    out, end = bytearray([VERSION]), 0
    _append_varint(out, int(counts.sum()))
    for run in np.split(filled, begins[1:]) if len(filled) else []:
        begin = int(run[0])
        for number in (begin - end, len(run), *counts[run].tolist()):
            _append_varint(out, number)
        end = begin + len(run)
    return bytes(out)


def counts_of(data: bytes) -> Counts:
    """How many values each bucket has; raises `DamagedHistogramError`."""
    if not data or data[0] != VERSION:
        raise DamagedHistogramError(f"this is no histogram of version {VERSION}")
    numbers = iter(_varints(data[1:]))
    total = next(numbers, None)
    counts = np.zeros(BUCKETS, dtype=np.int64)
    begin = 0
    for gap in numbers:
        length = next(numbers, None)
        run = list(islice(numbers, length))
        begin += gap
        if length is None or len(run) < length or begin + length > BUCKETS:
            raise DamagedHistogramError("the histogram does not end where it says")
        counts[begin : begin + length] = run
        begin += length
    if counts.sum() != total:
        raise DamagedHistogramError(f"the histogram holds {counts.sum()} of {total} values")
    return counts


def merged(parts: Iterable[bytes]) -> bytes:
    """The histogram of all values of the parts, exactly."""
    total = np.zeros(BUCKETS, dtype=np.int64)
    for part in parts:
        total += counts_of(part)
    return encoded(total)


def percentile(data: bytes, percent: float) -> float | None:
    """The value that `percent` of the values do not exceed; None if there are no values.

    Within `RELATIVE_ERROR` of a value between `SMALLEST` and `LARGEST`, by the nearest rank.
    """
    counts = counts_of(data)
    total = int(counts.sum())
    if total == 0:
        return None
    rank = max(1, int(np.ceil(percent / 100 * total)))
    bucket = int(np.searchsorted(np.cumsum(counts), rank))
    return 0.0 if bucket == 0 else float(SMALLEST * RATIO ** (bucket - 0.5))


def _append_varint(out: bytearray, number: int) -> None:
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


def _varints(data: bytes) -> list[int]:
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(number)
            number = shift = 0
    if shift:
        raise DamagedHistogramError("the histogram ends within a number")
    return numbers
