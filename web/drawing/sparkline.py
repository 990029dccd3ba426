"""A day as a line as high as a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 96
HEIGHT = 20
_TOP = 1.5
"""The line is this far from the upper and the lower edge, or half of it would be cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparkline:
    """A path in a box of WIDTH × HEIGHT, the height of a level across it, and what it says."""

    path: str
    level_y: float | None
    said: str


def sparkline(
    values: Sequence[float | None], *, said: str, level: float | None = None
) -> Sparkline | None:
    """The values from 0 up to the largest, a gap where one is None; None without any value.

    A level is drawn if it is at most twice the largest value.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    largest = max(known)
    shown_level = level if level is not None and 0 < level <= 2 * largest else None
    top = max(largest, shown_level or 0.0) or 1.0

    def y(value: float) -> float:
        return round(HEIGHT - _TOP - value / top * (HEIGHT - 2 * _TOP), 1)

    return Sparkline(
        path=_path([None if value is None else y(value) for value in values]),
        level_y=None if shown_level is None else y(shown_level),
        said=said,
    )


def _path(heights: Sequence[float | None]) -> str:
    step = WIDTH / max(1, len(heights) - 1)
    parts: list[str] = []
    is_drawing = False
    for place, height in enumerate(heights):
        if height is None:
            is_drawing = False
            continue
        x = round(place * step, 1)
        follows = place + 1 < len(heights) and heights[place + 1] is not None
        if is_drawing:
            parts.append(f"L{x:g} {height:g}")
        elif follows:
            parts.append(f"M{x:g} {height:g}")
        else:
            # A value between two gaps has no line to be seen by.
            parts.append(f"M{max(0.0, x - 1):g} {height:g}h2")
        is_drawing = True
    return "".join(parts)
