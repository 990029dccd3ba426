"""A picture of evidence: dots, lines and columns over two axes, with the levels that matter."""

from __future__ import annotations

from dataclasses import dataclass, field

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What an axis shows and its unit; `ticks` name places that numbers alone do not explain."""

    label: str
    unit: str = ""
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Points in order; None is a gap. `is_after` marks what the advice asks for."""

    label: str
    points: tuple[Point | None, ...]
    is_after: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A value of one axis with its name, such as a threshold."""

    value: float
    text: str
    is_after: bool = False
    is_upright: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column over a place of the horizontal axis; `is_after` marks what is chosen."""

    at: float
    value: float
    is_after: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """`said` tells in a sentence what the picture shows, for those who cannot see it."""

    title: str
    said: str
    x: Axis
    y: Axis
    dots: tuple[Point, ...] = ()
    dots_label: str = ""
    columns: tuple[Column, ...] = ()
    columns_label: str = ""
    columns_after_label: str = ""
    lines: tuple[Line, ...] = ()
    levels: tuple[Level, ...] = field(default=())
