"""Readings of one series as columns, for tests: a time in seconds, and what was sent then."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from ingest.core.grid import NOT_SENT, Integers
from ingest.core.microseconds import microseconds
from ingest.core.rates import RateKind, RatesT

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NEVER = float("inf")
Sent = tuple[int | None, ...]
Columns = tuple[Integers, Integers]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def columns(*readings: tuple[float, Sent], width: int | None = None) -> Columns:
    at_us = [microseconds(at(seconds)) for seconds, _ in readings]
    sent = [[NOT_SENT if one is None else one for one in counters] for _, counters in readings]
    width = width or len(readings[0][1])
    return np.array(at_us, dtype=np.int64), np.array(sent, dtype=np.int64).reshape(-1, width)


def every(*sent: Sent, every_s: float = 10) -> Columns:
    return columns(*((place * every_s, counters) for place, counters in enumerate(sent)))


def derive(kind: RateKind[RatesT], readings: Columns) -> list[RatesT]:
    return kind.rates(kind.growth(*readings, longest_s=NEVER))


def rows_of(counters: Integers) -> Sequence[tuple[int, ...]]:
    return [tuple(row) for row in counters.tolist()]
