"""Rows of PDH-CSV as equally wide lists of cells, with what is wrong with a row named.

Writers are killed and disks fill, so a row may be cut off, two cells or two rows may have run into
one, and cells may follow the last column. A value is only kept where its column is certain.
"""

import csv
import re
from collections.abc import Iterator
from itertools import pairwise

from ingest.core.decoders.rejections import Rejections

MISSING = b""
"""A cell without a value, which is absence and never zero."""

_MOST_CELLS = 1_000_000
"""Twice the columns of the largest host. An empty cell is one byte and takes dozens of memory."""
_NUMBER = re.compile(rb" *-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)? *")
_ROW_START = re.compile(
    rb'"?(?:[0-9]{2}/[0-9]{2}/[0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2}) [0-9]{2}:[0-9]{2}:[0-9]{2}'
)


def number(cell: bytes) -> float | None:
    """The finite value of a cell; None where it is none."""
    if not _NUMBER.fullmatch(cell):
        return None
    value = float(cell)
    return value if abs(value) != float("inf") else None


def is_missing(cell: bytes) -> bool:
    return not cell.strip()


def rows(
    line: bytes, width: int, rejections: Rejections, *, name: str, last: bool
) -> Iterator[list[bytes]]:
    """The rows of a line, `width` cells each; the first cell is the time.

    `name` names the line in reasons. `last` says that the file ends with it.
    """
    line = line.rstrip(b" \t")
    if line[-2:] == b'",':
        line = line[:-1]
    cells = line[1:-1].split(b'","')
    if len(cells) == width and line.count(b'"') == 2 * width and line[:1] == b'"' == line[-1:]:
        yield cells
        return
    parts = _parted(line)
    if len(parts) > 1:
        rejections.add(name, "rows run into one line; they were taken apart")
    for part in parts:
        whole = _whole(part, width, rejections, name, last=last or part is not parts[-1])
        if whole:
            yield whole


def cells_of(line: bytes) -> list[bytes]:
    """The cells of a line of CSV, whatever their quotes; none of a line of too many."""
    if line.count(b",") > _MOST_CELLS:
        return []
    text = line.decode("utf-8", "replace").replace("\r", "")
    try:
        found = next(csv.reader([text]), [])
    except csv.Error:
        return []
    return [cell.encode() for cell in found]


def _parted(line: bytes) -> list[bytes]:
    """A line at each time that it holds: one part, unless line breaks were lost."""
    starts = [match.start() for match in _ROW_START.finditer(line) if match.start() > 1]
    edges = [0, *starts, len(line)]
    parts = [line[start:end] for start, end in pairwise(edges)]
    return [*(part.removesuffix(b",") for part in parts[:-1]), parts[-1]]


def _whole(
    line: bytes, width: int, rejections: Rejections, name: str, *, last: bool
) -> list[bytes] | None:
    cells = cells_of(line)
    torn = line[:1] == b'"' and line.rstrip(b",")[-1:] != b'"'
    if len(cells) < width or (torn and len(cells) == width):
        return _lengthened(cells, width, rejections, name, torn=torn, last=last)
    extra = [cell for cell in cells[width:] if not is_missing(cell)]
    if extra:
        rejections.add(name, "cells behind the last column", count=len(extra))
    return cells[:width]


def _lengthened(
    cells: list[bytes], width: int, rejections: Rejections, name: str, *, torn: bool, last: bool
) -> list[bytes] | None:
    """A row with fewer whole cells than columns, if it is certain which of them are missing.

    `torn` says that the last cell has no end.
    """
    missing = width - len(cells)
    odd = [place for place in range(1, len(cells)) if _is_odd(cells[place])]
    if not torn and len(odd) == missing:
        rejections.add(name, "two cells run into one", count=missing)
        fused = set(odd)
        return [
            MISSING if place in fused else cell
            for place, cell in enumerate(cells)
            for _ in range(2 if place in fused else 1)
        ]
    if torn or last:
        kept = cells[: min(odd, default=len(cells))]
        # What stands in front of the tear may be the start of a number.
        kept = kept[: len(cells) - 1] if torn else kept
        rejections.add(name, "the row is cut off", count=width - len(kept))
        return [*kept, *[MISSING] * (width - len(kept))] if len(kept) > 1 else None
    rejections.add(name, "the row has too few cells, and which are missing cannot be told")
    return None


def _is_odd(cell: bytes) -> bool:
    return not is_missing(cell) and number(cell) is None
