"""What every point of a decoder must be, whatever it was made of."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

from ingest.core.point import Point


def are_good(points: Iterable[Point]) -> bool:
    """Whether each has a name, tags in order of theirs, and numbers that can be stored."""
    return all(map(_is_good, points))


def _is_good(point: Point) -> bool:
    texts = [point.measurement, *(text for pair in point.tags for text in pair), *point.fields]
    "".join(texts).encode()
    names = [name for name, _ in point.tags]
    numbers = [value for value in point.fields.values() if isinstance(value, float)]
    return (
        bool(point.measurement)
        and bool(point.fields)
        and names == sorted(set(names))
        and all(map(isfinite, numbers))
    )
