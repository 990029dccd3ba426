"""A heat strip as paths: a bar per five minutes, its height the value against the threshold.

Heights are logarithmic: 2 ms against a threshold of 30 ms is seen, and so is ten times as much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from advisor.core.quantity import significant
from advisor.queries.heat import COLUMN_S, COLUMNS, LEVELS, Cell, Level, Strip
from advisor.queries.resources import ResourceLine
from ingest.core.grid import Integers
from web.formatting import level_scale

HEIGHT = 24
THRESHOLD_Y = 8
"""The threshold is drawn here; a bar rises to the top at ten times the threshold."""
DECADES = 2
"""A bar below the threshold is as long as its ratio is above a hundredth, in powers of ten."""

AXIS_HOURS = 3
AXIS_MARGIN = 1.5
"""Labels nearer to the edge than this part, in percent, would be cut."""

MISSING = "missing"
"""The name of bars where no window has a value."""

PER_HOUR = 3600 // COLUMN_S

_HEIGHT_OF_ONE = HEIGHT - THRESHOLD_Y
_SMALLEST_BAR = 2


_NAMES = [MISSING if level is None else level.value for level in LEVELS]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRow:
    """One row of the strip: its resource, its paths, and what the pointer shows.

    `chosen` is where the time that somebody chose begins and how wide it is, in columns.
    """

    line: ResourceLine
    paths: tuple[tuple[str, str], ...]
    values: str
    since_s: int
    chosen: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HourCell:
    """The worst of one hour, for the table view; level None where nothing was measured.

    A stalled hour has no value.
    """

    level: Level | None
    value: float | None


def heat_row(
    line: ResourceLine, strip: Strip, *, chosen: tuple[float, float] | None = None
) -> HeatRow:
    """Draw one strip; x counts columns, y runs from 0 at the top to HEIGHT.

    `chosen` is a time in seconds since 1970.
    """
    drawn: dict[str, list[str]] = {}
    heights = _bar_heights(strip)
    begins = _begins(strip.levels, heights)
    for begin, end in pairwise([*begins, len(heights)]):
        name, height = _NAMES[strip.levels[begin]], heights[begin]
        path = f"M{begin} {HEIGHT}v-{height}h{end - begin}v{height}z"
        drawn.setdefault(name, []).append(path)
    factor = level_scale(line.kind).factor
    hours = [slice(first, first + PER_HOUR) for first in range(0, len(heights), PER_HOUR)]
    values = [
        _told(strip.levels[one].tobytes(), strip.value[one].tobytes(), factor) for one in hours
    ]
    return HeatRow(
        line=line,
        paths=tuple((name, "".join(parts)) for name, parts in sorted(drawn.items())),
        values=",".join(values),
        since_s=int(strip.since.timestamp()),
        chosen=_within(strip, chosen) if chosen else None,
    )


def _within(strip: Strip, chosen: tuple[float, float]) -> tuple[float, float] | None:
    """Where the part of that time begins that the strip shows, and how wide it is; in columns."""
    since_s = strip.since.timestamp()
    first, last = (min(max((at - since_s) / COLUMN_S, 0.0), COLUMNS) for at in chosen)
    return (round(first, 2), round(last - first, 2)) if last > first else None


def _begins(levels: npt.NDArray[np.uint8], heights: Integers) -> list[int]:
    """Where bars begin: neighbours of one level and height are drawn as one."""
    changes = (np.diff(levels) != 0) | (np.diff(heights) != 0)
    return [0, *(np.flatnonzero(changes) + 1).tolist()]


def axis_labels(strip: Strip) -> list[tuple[str, datetime]]:
    """Every third whole hour with its place from the left, in percent of the strip's width."""
    length_s = COLUMN_S * COLUMNS
    first_s = strip.since.timestamp()
    labels = []
    for hour_s in range(math.ceil(first_s / 3600) * 3600, int(first_s) + length_s + 1, 3600):
        at = datetime.fromtimestamp(hour_s, UTC)
        place = (hour_s - first_s) / length_s * 100
        if at.hour % AXIS_HOURS == 0 and AXIS_MARGIN <= place <= 100 - AXIS_MARGIN:
            labels.append((f"{place:.2f}%", at))
    return labels


def hour_starts(strip: Strip) -> list[datetime]:
    """When each hour of the table view begins."""
    return [strip.column_start(column) for column in range(0, COLUMNS, PER_HOUR)]


@lru_cache(maxsize=10_000)
def _told(levels: bytes, values: bytes, factor: float) -> str:
    """What the pointer shows of columns: the first letter of each level, and its value.

    A day is drawn every few seconds, and all but its newest hour is that of the time before.
    """
    told = []
    for level, value in zip(levels, np.frombuffer(values).tolist(), strict=True):
        letter = "" if LEVELS[level] is None else _NAMES[level][0]
        told.append(letter + (significant(value / factor) if letter and value == value else ""))
    return ",".join(told)


def _bar_heights(strip: Strip) -> Integers:
    """(columns)."""
    is_positive = strip.ratio > 0
    decades = np.log10(np.where(is_positive, strip.ratio, 1.0))
    found = np.rint(_HEIGHT_OF_ONE * (1 + decades / DECADES))
    found = np.where(is_positive, np.clip(found, _SMALLEST_BAR, HEIGHT), _SMALLEST_BAR)
    # Nothing is worse than a device that completes nothing.
    found[strip.levels == LEVELS.index(Level.STALLED)] = HEIGHT
    return found.astype(np.int64)


def hour_cells(strip: Strip) -> list[HourCell]:
    """The worst five minutes of each hour."""
    cells, every = [], strip.cells
    for first in range(0, COLUMNS, PER_HOUR):
        known = [cell for cell in every[first : first + PER_HOUR] if cell is not None]
        worst = max(known, key=_badness, default=None)
        cells.append(
            HourCell(level=worst.level if worst else None, value=worst.value if worst else None)
        )
    return cells


def _badness(cell: Cell) -> tuple[bool, bool, float]:
    return cell.level is Level.STALLED, cell.level is Level.ABOVE, cell.ratio or 0.0
