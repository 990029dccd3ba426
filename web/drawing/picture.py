"""A picture of evidence as paths in a box of fixed size; text stands beside it as HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from advisor.advice.shared.picture import Axis, Line, Picture, Point
from web.drawing.scale import WIDTH, LengthScale
from web.formatting import grouped

HEIGHT = 300
HEADROOM = 1.08
"""The highest value stays below the upper edge."""
LEAST_LARGEST = 1e-300
"""An axis whose largest value is no more than this shows 0 to 1: ticks below have no number."""
MOST_TICKS = 5
COLUMN_WIDTH = 0.8
NARROW = 0.36
"""Columns that stand in pairs share a place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A label at so many percent of an axis."""

    percent: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLine:
    label: str
    path: str
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLevel:
    """A line right across, with its text at so many percent from the top or from the left."""

    path: str
    text: str
    percent: float
    is_after: bool
    is_upright: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Everything that the template writes down."""

    picture: Picture
    dots: str
    columns: str
    columns_after: str
    lines: tuple[DrawnLine, ...]
    levels: tuple[DrawnLevel, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    grid: str


def drawing_of(picture: Picture) -> Drawing:
    """The picture, scaled so that everything on it has room; both axes start at 0."""
    box = _Box(largest_x=_largest(picture, 0), largest_y=_largest(picture, 1) * HEADROOM)
    y_ticks = _ticks(picture.y, box.largest_y)
    return Drawing(
        picture=picture,
        # A line of no length with round ends is a dot, whatever the box is stretched to.
        dots="".join(f"M{box.place(point)}h0" for point in picture.dots),
        columns=_columns(picture, box, is_after=False),
        columns_after=_columns(picture, box, is_after=True),
        lines=tuple(
            DrawnLine(label=line.label, path=_path(line, box), place=place)
            for place, line in enumerate(picture.lines, start=1)
        ),
        levels=tuple(
            DrawnLevel(
                path=f"M{box.x(level.value)} 0V{HEIGHT}"
                if level.is_upright
                else f"M0 {box.y(level.value)}H{WIDTH}",
                text=level.text,
                percent=100 * box.x(level.value) / WIDTH
                if level.is_upright
                else 100 * box.y(level.value) / HEIGHT,
                is_after=level.is_after,
                is_upright=level.is_upright,
            )
            for level in picture.levels
        ),
        x_ticks=tuple(
            Tick(percent=100 * at / box.largest_x, text=text)
            for at, text in _ticks(picture.x, box.largest_x)
        ),
        y_ticks=tuple(
            Tick(percent=100 * (1 - at / box.largest_y), text=text) for at, text in y_ticks
        ),
        grid="".join(f"M0 {box.y(at)}H{WIDTH}" for at, _ in y_ticks),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    largest_x: float
    largest_y: float

    def x(self, value: float) -> float:
        return LengthScale(largest=self.largest_x).at(value)

    def y(self, value: float) -> float:
        """From the top."""
        return round(HEIGHT - LengthScale(largest=self.largest_y, length=HEIGHT).at(value), 1)

    def place(self, point: Point) -> str:
        return f"{self.x(point[0])} {self.y(point[1])}"


def _largest(picture: Picture, axis: int) -> float:
    numbers = [point[axis] for point in picture.dots]
    numbers += [point[axis] for line in picture.lines for point in line.points if point]
    numbers += [level.value for level in picture.levels if level.is_upright is (axis == 0)]
    numbers += [(column.at + 1, column.value)[axis] for column in picture.columns]
    if axis == 0 and picture.columns:
        # The last of a pair of columns ends within its place.
        return float(math.floor(max(numbers)))
    largest = max(numbers, default=0.0)
    return largest if largest > LEAST_LARGEST else 1.0


def _path(line: Line, box: _Box) -> str:
    """A stroke from point to point, lifted at each gap."""
    parts, is_drawing = [], False
    for point in line.points:
        if point is not None:
            parts.append(f"{'L' if is_drawing else 'M'}{box.place(point)}")
        is_drawing = point is not None
    return "".join(parts)


def _columns(picture: Picture, box: _Box, *, is_after: bool) -> str:
    in_pairs = any(column.at % 1 for column in picture.columns)
    width = box.x(NARROW if in_pairs else COLUMN_WIDTH)
    indent = 0.0 if in_pairs else (1 - COLUMN_WIDTH) / 2
    return "".join(
        f"M{box.x(column.at + indent)} {HEIGHT}V{box.y(column.value)}h{width}V{HEIGHT}z"
        for column in picture.columns
        if column.is_after is is_after
    )


def _ticks(axis: Axis, largest: float) -> Sequence[tuple[float, str]]:
    """Round numbers from 0 on, or the places that the axis names."""
    if axis.ticks:
        return axis.ticks
    magnitude = 10.0 ** math.floor(math.log10(largest / MOST_TICKS))
    step = next(
        magnitude * factor
        for factor in (1, 2, 5, 10)
        if largest / (magnitude * factor) <= MOST_TICKS
    )
    return [
        (index * step, grouped(f"{index * step:.6g}"))
        for index in range(math.floor(largest / step) + 1)
    ]
