"""The worst of every five minutes of judged windows, as a day of a resource is drawn.

An entry is kept beside the records of each part of five minutes that has some. It says what was
worst in the part, and what its last record says: that holds on until the next entry, wherever
windows were judged and none has a record.
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

_SAYS = [("alarm", "u1"), ("ratio", "<f8"), ("value", "<f8")]
ENTRY = np.dtype([("column", "<u4"), ("worst", _SAYS), ("last", _SAYS)])
"""`column` counts parts since 1970; of the others NaN is absent.

The layout belongs to the version of the records that it is stored beside."""

Floats = npt.NDArray[np.float64]
Says = tuple[int, float, float]

_NOTHING: Says = (0, math.nan, math.nan)


class DamagedEntriesError(ValueError):
    """The bytes are not entries that were written here."""


def entry_of(records: Sequence[Record], *, before: bytes) -> bytes:
    """The entry of a part with these new records; `before` is its entry so far, or nothing."""
    found: list[Says] = []
    if before:
        found.append(np.frombuffer(before, ENTRY)[-1]["worst"].item())
    for record in records:
        if record.carried is not None:
            found.append(_says(record.carried))
        found.append(_says(record.window))
    column = (records[-1].window.at_us - 1) // PART_US
    return np.array((column, _worst(found), found[-1]), dtype=ENTRY).tobytes()


def has_value(entries: bytes) -> bool:
    """Whether some window of these entries had a value."""
    return not bool(np.isnan(np.frombuffer(entries, ENTRY)["worst"]["value"]).all())


def columns_of(entries: bytes) -> list[int]:
    """The column of each entry; raises `DamagedEntriesError`."""
    if len(entries) % ENTRY.itemsize:
        raise DamagedEntriesError(
            f"{len(entries)} bytes are not whole entries of {ENTRY.itemsize} bytes"
        )
    columns: list[int] = np.frombuffer(entries, ENTRY)["column"].tolist()
    return columns


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

    `entries` and `runs` are those of each resource, in order of time, from the begin of the hour
    of `since_us` on.
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
