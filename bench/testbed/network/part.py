"""A part of what is measured, and how long it is measured for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.fleet.rows import Row
from bench.testbed.asked import Asked

ROUNDS = 3
"""Of each figure the middle one of so many counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """A window of rates and of one policy after the other, pings of a round, time of an agent."""

    window_s: float
    pings: int
    agent_s: float = 60.0


WHOLE = Effort(window_s=5.0, pings=200)
SHORT = Effort(window_s=2.0, pings=100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows that are measured together, one for each that is asked, in this order."""

    name: str
    asked: Sequence[Asked]
    measure: Callable[[Effort], Sequence[Row]]
