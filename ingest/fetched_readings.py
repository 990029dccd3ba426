"""Readings of many series at once, which come packed from rows of samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from ingest.core.figures import FigureKind
from ingest.core.grid import EPOCH, Integers, microseconds
from ingest.sample_reads import Asked, Way, read_parts

POSTGRES_EPOCH_US = microseconds(EPOCH.replace(year=2000))
"""PostgreSQL counts time from here."""


def fetch(way: Way, kind: FigureKind[Any], asked: Asked) -> Integers:
    """Series, time in microseconds since 1970, and columns of each reading, (readings, 2 + n).

    The readings of many series come as one value: a row for each costs much more. If they may be
    of a long time it is not one for all of them, because a value is limited to 1 GB.
    """
    packed = b"".join(part for _, part in read_parts(way, {kind: asked})[kind])
    found = np.frombuffer(packed, dtype=">i8").astype(np.int64).reshape(-1, 2 + len(kind.columns))
    found[:, 1] += POSTGRES_EPOCH_US
    return found


def fetch_by_series(
    asked: Mapping[FigureKind[Any], Asked],
) -> dict[FigureKind[Any], Integers]:
    """The same of series with many readings each, in order of the series; of all kinds at once."""
    found = read_parts(Way.OF_EACH_SERIES, asked)
    return {kind: _unpacked(kind, sorted(found[kind], key=itemgetter(0))) for kind in asked}


def _unpacked(kind: FigureKind[Any], parts: Sequence[tuple[int, bytes]]) -> Integers:
    """The readings of each of the series, which come packed."""
    width = 1 + len(kind.columns)
    readings = np.frombuffer(b"".join(part for _, part in parts), dtype=">i8").reshape(-1, width)
    found = np.empty((len(readings), 1 + width), dtype=np.int64)
    found[:, 0] = np.repeat(
        np.array([series for series, _ in parts], dtype=np.int64),
        [len(part) // (width * readings.itemsize) for _, part in parts],
    )
    found[:, 1:] = readings
    found[:, 1] += POSTGRES_EPOCH_US
    return found


def no_rows(kind: FigureKind[Any]) -> Integers:
    return np.empty((0, 2 + len(kind.columns)), dtype=np.int64)
