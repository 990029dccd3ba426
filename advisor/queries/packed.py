"""Columns of keys in one value of an answer: numbers as text, or a tuple a row, cost more."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from django.db.models import Aggregate, BinaryField


class PackedKeys(Aggregate):
    """A column of big integers one after the other, 8 bytes each; None without rows."""

    function = "string_agg"
    template = "%(function)s(int8send(%(expressions)s), ''::bytea)"
    output_field = BinaryField()


def unpacked(packed: bytes | memoryview | None) -> npt.NDArray[np.int64]:
    """The numbers of a packed column."""
    return np.frombuffer(packed or b"", dtype=">i8").astype(np.int64)
