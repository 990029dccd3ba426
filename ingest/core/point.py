"""One sample as a collector says it, whatever the format in which it came."""

from __future__ import annotations

from dataclasses import dataclass

FieldValue = int | float | bool | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Fields of one moment. `tags` are in order of their names.

    `time` is in the precision of the body; None means that the point has none.
    """

    measurement: str
    tags: tuple[tuple[str, str], ...]
    fields: dict[str, FieldValue]
    time: int | None


class PointError(ValueError):
    """A point cannot be kept; the text is the reason."""
