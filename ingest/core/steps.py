"""The lengths of windows over long ranges of time."""

from __future__ import annotations

from datetime import timedelta

STEPS_S = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400)
"""They divide a day, so charts do not jitter."""


def step_of(wanted_s: float) -> int:
    """The smallest of `STEPS_S` that is no finer than wanted, or the largest."""
    return next((step for step in STEPS_S if step >= wanted_s), STEPS_S[-1])


def coarse_step_s(length: timedelta, most: int) -> int:
    """The smallest of `STEPS_S` that divides this time into no more than `most`."""
    return step_of(length.total_seconds() / most)
