"""Whole numbers as PostgreSQL's binary COPY reads them, laid out by numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

HEAD = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TAIL = b"\xff\xff"
EPOCH_2000_S = 946_684_800

Integers = npt.NDArray[np.int64]


def packed_rows(columns: Sequence[Integers]) -> bytes:
    """The rows of 64-bit columns of one length; `timestamptz` is one of them in microseconds."""
    parts = [(f"{kind}{at}", form) for at in range(len(columns)) for kind, form in _CELL]
    rows = np.empty(len(columns[0]), np.dtype([("cells", ">i2"), *parts]))
    rows["cells"] = len(columns)
    for at, column in enumerate(columns):
        rows[f"length{at}"] = 8
        rows[f"value{at}"] = column
    return rows.tobytes()


_CELL = (("length", ">i4"), ("value", ">i8"))


def timestamps(seconds: Integers) -> Integers:
    """Seconds since 1970 as `timestamptz` is sent: microseconds since 2000."""
    return (seconds - EPOCH_2000_S) * 1_000_000
