"""What pictures of load share: the line of a device, and as few dots as the eye can separate."""

from __future__ import annotations

from collections.abc import Sequence

from advisor.advice.shared.picture import Line, Point

MOST_DOTS = 400
"""More dots lie on one another."""


def device_line(name: str, intercept_ms: float, slope_ms: float, deepest: float) -> Line:
    return Line(
        label=f"{name}: {intercept_ms:.3g} ms + {slope_ms:.3g} ms · outstanding",
        points=((0.0, intercept_ms), (deepest, intercept_ms + slope_ms * deepest)),
    )


def thinned(points: Sequence[Point]) -> tuple[Point, ...]:
    """Evenly spaced points of a long series."""
    step = max(len(points) // MOST_DOTS, 1)
    return tuple(points[::step])
