"""Rows of the stored history as PostgreSQL's binary COPY reads them."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np

from bench.fleet.copy_rows import Integers
from bench.fleet.sealed_figures import DayOfFigure, Floats

_REAL = 700
"""What PostgreSQL calls the type of the elements."""
_CHUNK = struct.Struct(">hiiiiihiqi")
_DAY = struct.Struct(">hiiiiihiiififi")


def chunk_row(organisation: int, shard: int, figure: int, at_us: int, data: bytes) -> bytes:
    """A row of `advisor_history_chunk`; its time in microseconds since 2000."""
    cells = (4, organisation, 4, shard, 2, figure, 8, at_us, len(data))
    return _CHUNK.pack(5, *cells) + data


def day_rows(
    organisation: int, tracks: Integers, day: int, figures: Mapping[int, DayOfFigure]
) -> bytes:
    """Rows of `advisor_history_day` by the number of the figure; the day in days since 2000."""
    rows = []
    for number, found in figures.items():
        columns = (tracks.tolist(), found.means.tolist(), found.maxima.tolist(), found.histograms)
        for track, mean, maximum, data in zip(*columns, strict=True):
            cells = (4, organisation, 4, track, 2, number, 4, day, 4, mean, 4, maximum, len(data))
            rows.append(_DAY.pack(7, *cells) + data)
    return b"".join(rows)


def quarter_rows(
    organisation: int, tracks: Integers, starts_us: Integers, means: Floats, maxima: Floats
) -> bytes:
    """Rows of `advisor_history_quarter`; the values are (figures, tracks, quarters)."""
    figures = len(means)
    array = np.dtype(
        [("length", ">i4"), ("head", ">i4", 5), ("cells", [("n", ">i4"), ("v", ">f4")], figures)]
    )
    rows = np.zeros(
        means.shape[1:],
        np.dtype(
            [("fields", ">i2"), ("l0", ">i4"), ("organisation", ">i4"), ("l1", ">i4"),
             ("track", ">i4"), ("l2", ">i4"), ("at", ">i8"), ("mean", array), ("maximum", array)]
        ),
    )  # fmt: skip
    rows["fields"], rows["l0"], rows["l1"], rows["l2"] = 5, 4, 4, 8
    rows["organisation"] = organisation
    rows["track"] = tracks[:, None]
    rows["at"] = starts_us
    for name, values in (("mean", means), ("maximum", maxima)):
        rows[name]["length"] = 20 + 8 * figures
        # One dimension, no element is missing, the type, the length, the first is number 1.
        rows[name]["head"] = (1, 0, _REAL, figures, 1)
        rows[name]["cells"]["n"] = 4
        rows[name]["cells"]["v"] = np.moveaxis(values, 0, -1)
    return rows.tobytes()
