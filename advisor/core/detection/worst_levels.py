"""The worst of every five minutes of judged windows, as a day of a resource is drawn.

An entry is kept beside the records of each part of five minutes that has some. It says what was
worst in the part, and what its last record says: that holds on until the next entry, wherever
windows were judged and none has a record.

The bytes that are stored beside the records of a row are

    byte 0      version of this layout, 1
    from 1 on   the entries of the row, 38 bytes each, as `ENTRY`

Rows of before there was a version have the entries alone. They are told apart by their length.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from advisor.core.detection.congestion import CongestionState
from advisor.core.level_records import HOUR_US, PART_US, Record, Run, Window

CONGESTED_WINDOW, STALLED_WINDOW = 1, 2

VERSION = 1
_SAYS = [("alarm", "u1"), ("ratio", "<f8"), ("value", "<f8")]
ENTRY = np.dtype([("column", "<u4"), ("worst", _SAYS), ("last", _SAYS)])
"""`column` counts parts since 1970; of the others NaN is absent."""

Floats = npt.NDArray[np.float64]
Says = tuple[int, float, float]

_NOTHING: Says = (0, math.nan, math.nan)


class DamagedEntriesError(ValueError):
    """The bytes are not entries that were written here: cut, or of a later version."""


def entry_of(records: Sequence[Record], *, before: bytes) -> bytes:
    """The row of a part with these new records; `before` is its row so far, or nothing."""
    found: list[Says] = []
    if before:
        found.append(_entries_in(before)[-1]["worst"].item())
    for record in records:
        if record.carried is not None:
            found.append(_says(record.carried))
        found.append(_says(record.window))
    column = (records[-1].window.at_us - 1) // PART_US
    return _row_of(np.array((column, _worst(found), found[-1]), dtype=ENTRY).tobytes())


def joined_entries(rows: Iterable[bytes]) -> bytes:
    """The entries of several rows as one row, in this order."""
    return _row_of(b"".join(_entries_in(row).tobytes() for row in rows))


def has_value(row: bytes) -> bool:
    """Whether some window of these entries had a value."""
    return not bool(np.isnan(_entries_in(row)["worst"]["value"]).all())


def columns_of(row: bytes) -> list[int]:
    """The column of each entry; raises `DamagedEntriesError`."""
    columns: list[int] = _entries_in(row)["column"].tolist()
    return columns


def _row_of(entries: bytes) -> bytes:
    return bytes([VERSION]) + entries


def _entries_in(row: bytes) -> npt.NDArray[np.void]:
    """Raises `DamagedEntriesError`."""
    begin = len(row) % ENTRY.itemsize
    if begin > 1:
        raise DamagedEntriesError(
            f"{len(row)} bytes are not whole entries of {ENTRY.itemsize} bytes and their version"
        )
    if begin and row[0] != VERSION:
        raise DamagedEntriesError(f"version {row[0]} of worst windows is not known here")
    return np.frombuffer(row, ENTRY, offset=begin)


def _says(window: Window) -> Says:
    value, threshold, *_ = window.figures
    alarm = _ALARMS.get(window.saying.state, 0)
    if value is None and alarm != STALLED_WINDOW:
        # A quiet window is no evidence.
        return _NOTHING
    ratio = math.nan if value is None or not threshold else value / threshold
    return alarm, ratio, math.nan if value is None else value


_ALARMS: dict[str, int] = {
    CongestionState.CONGESTED: CONGESTED_WINDOW,
    CongestionState.STALLED: STALLED_WINDOW,
}


def _worst(found: Sequence[Says]) -> Says:
    alarms, ratios, values = zip(*found, strict=True)
    return max(alarms), _largest(ratios), _largest(values)


def _largest(numbers: Iterable[float]) -> float:
    """NaN if all are."""
    return max((one for one in numbers if one == one), default=math.nan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorstWindows:
    """Each (resources, columns).

    `ratio` is the largest one of a value to its threshold and `value` the largest value; NaN is
    unknown. `alarm` is `STALLED_WINDOW` or `CONGESTED_WINDOW` if some window was so, else 0.
    """

    ratio: Floats
    value: Floats
    alarm: npt.NDArray[np.uint8]


def worst_windows(
    entries: Sequence[bytes], runs: Sequence[Sequence[Run]], *, since_us: int, columns: int
) -> WorstWindows:
    """The worst of each resource in so many columns of five minutes from `since_us` on.

    `entries`, without their version, and `runs` are those of each resource, in order of time, from
    the begin of the hour of `since_us` on.
    """
    first = since_us // PART_US
    every = np.frombuffer(b"".join(entries), ENTRY)
    counts = [len(one) // ENTRY.itemsize for one in entries]
    base = since_us // HOUR_US * HOUR_US // PART_US
    span = first + columns - base
    owners = np.repeat(np.arange(len(entries), dtype=np.int64), counts)
    # A key for each resource and column, in order.
    keys = owners * span + np.clip(every["column"].astype(np.int64) - base, 0, span - 1)
    rows = np.arange(len(entries), dtype=np.int64)[:, None]
    wanted = rows * span + (first - base) + np.arange(columns)
    newest = np.searchsorted(keys, wanted.reshape(-1), side="right").reshape(wanted.shape) - 1
    is_own = (newest >= 0) & (keys[newest] >= rows * span) if len(keys) else newest >= 0
    is_there = is_own & (keys[newest] == wanted) if len(keys) else is_own
    is_carried = is_own & ~is_there & _covered(runs, first, columns)
    # What the entry of a column says, or the one before it where its last record holds on.
    found = np.full(wanted.shape, np.array(_NOTHING, dtype=_SAYS))
    found[is_there] = every["worst"][newest[is_there]]
    found[is_carried] = every["last"][newest[is_carried]]
    return WorstWindows(ratio=found["ratio"], value=found["value"], alarm=found["alarm"])


def _covered(runs: Sequence[Sequence[Run]], first: int, columns: int) -> npt.NDArray[np.bool_]:
    """Whether a window of some run with more than one in a column ends in it."""
    steps = np.zeros((len(runs), columns + 1), dtype=np.int64)
    for place, own in enumerate(runs):
        for run in own:
            if run.step_us <= PART_US:
                begin = (run.first_us - 1) // PART_US - first
                end = (run.until_us - 1) // PART_US - first + 1
                steps[place, min(max(begin, 0), columns)] += 1
                steps[place, min(max(end, 0), columns)] -= 1
    covered: npt.NDArray[np.bool_] = steps.cumsum(axis=1)[:, :columns] > 0
    return covered
