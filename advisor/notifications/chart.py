"""A small chart for a message: bars in Unicode for every channel, and a PNG for mail.

The PNG is written here, byte by byte: no library draws so little. Mail clients show no SVG.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

BARS = "▁▂▃▄▅▆▇█"
MOST_SIGNS = 30
WIDTH_PX, HEIGHT_PX = 480, 96
DASH_PX = 6
ABOVE = 1.15
"""So much higher than the highest value or the threshold, so that a line is seen."""
PAPER, CALM, CONGESTED, THRESHOLD = range(4)
PALETTE = bytes.fromhex("ffffff5b8db8c8501e333333")


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Values in order, None where nothing was measured, and what `words` say of them."""

    values: tuple[float | None, ...]
    threshold: float | None
    words: str

    @property
    def bars(self) -> str:
        """As text: the highest value is a full bar, a gap a space."""
        top = max((value for value in self.values if value is not None), default=0.0)
        shortened = shorter(self.values, MOST_SIGNS)
        return "".join(" " if value is None else _bar(value, top) for value in shortened)


def shorter(values: Sequence[float | None], most: int) -> list[float | None]:
    """At most so many, of which each is the highest of its part."""
    width = max(1, -(-len(values) // most))
    parts = (values[at : at + width] for at in range(0, len(values), width))
    return [max((one for one in part if one is not None), default=None) for part in parts]


def _bar(value: float, top: float) -> str:
    if top <= 0:
        return BARS[0]
    return BARS[max(0, min(len(BARS) - 1, int(len(BARS) * value / top)))]


def chart_png(course: Course) -> bytes:
    """A bar for each value, in another colour above the threshold, which is a dashed line."""
    known = [value for value in (*course.values, course.threshold) if value is not None]
    top = max(known, default=0.0) * ABOVE or 1.0
    columns = [_column(course, at, top) for at in range(WIDTH_PX)]
    # Before each row of pixels stands by what filter it is written: none.
    rows = b"".join(b"\0" + bytes(row) for row in zip(*columns, strict=True))
    header = struct.pack(">IIBBBBB", WIDTH_PX, HEIGHT_PX, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", PALETTE), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _column(course: Course, at_px: int, top: float) -> list[int]:
    """The pixels of one column, from the top."""
    count = max(1, len(course.values))
    place = at_px * count // WIDTH_PX
    value = course.values[place] if course.values else None
    # A pixel between two bars tells them apart.
    is_gap = value is None or (at_px and (at_px - 1) * count // WIDTH_PX != place)
    high = 0 if is_gap else round(HEIGHT_PX * (value or 0.0) / top)
    is_above = course.threshold is not None and (value or 0.0) > course.threshold
    pixels = [PAPER] * (HEIGHT_PX - high) + [CONGESTED if is_above else CALM] * high
    for row in _line(course.threshold, at_px, top):
        pixels[row] = THRESHOLD
    return pixels


def _line(threshold: float | None, at_px: int, top: float) -> Iterator[int]:
    if threshold is not None and at_px // DASH_PX % 2 == 0:
        yield max(0, min(HEIGHT_PX - 1, HEIGHT_PX - round(HEIGHT_PX * threshold / top)))


def _chunk(kind: bytes, data: bytes) -> bytes:
    checked = kind + data
    return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))
