"""How counters grow between readings: wraps, resets, gaps, duplicates, any order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from statistics import median

GAP_FACTOR = 3
"""More than this many typical intervals without a reading are a gap."""
LONGEST_INTERVAL_S = 900.0
"""Readings further apart never make a rate, unless a coarser step was asked for."""

WRAP_32 = 2**32
WRAP_64 = 2**64


class NoRateReason(StrEnum):
    """Why the time between two readings has no rate."""

    GAP = "gap"
    RESET = "reset"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRate:
    """The `seconds` before `at` have no rate."""

    at: datetime
    seconds: float
    reason: NoRateReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Counters of one subject at one time; None is a counter that was not sent."""

    at: datetime
    counters: tuple[int | None, ...]


def longest_interval_s(times: Sequence[datetime], *, step_s: float = 0.0) -> float:
    """The longest time between readings that is not a gap: three times the typical one.

    `step_s` is the distance at which readings were asked for; a coarse step widens the bound that
    holds however rare the readings are.
    """
    bound = max(LONGEST_INTERVAL_S, GAP_FACTOR * step_s)
    intervals = [(b - a).total_seconds() for a, b in pairwise(sorted(set(times)))]
    return min(GAP_FACTOR * median(intervals), bound) if intervals else bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What the counters grew by in the `seconds` before `at`."""

    at: datetime
    seconds: float
    growth: tuple[int, ...]


def steps(
    readings: Sequence[Reading], *, wide: int, longest_interval_s: float
) -> Iterator[Step | NoRate]:
    """One step per pair of neighbouring readings; the first `wide` counters are 64-bit.

    The readings may come in any order; of several at one time the last one given counts.
    """
    by_time = {reading.at: reading.counters for reading in readings}
    for before, after in pairwise(sorted(by_time)):
        seconds = (after - before).total_seconds()
        if seconds > longest_interval_s:
            yield NoRate(at=after, seconds=seconds, reason=NoRateReason.GAP)
            continue
        growth = _growth(by_time[before], by_time[after], wide=wide)
        if isinstance(growth, NoRateReason):
            yield NoRate(at=after, seconds=seconds, reason=growth)
        else:
            yield Step(at=after, seconds=seconds, growth=growth)


def _growth(
    before: tuple[int | None, ...], after: tuple[int | None, ...], *, wide: int
) -> tuple[int, ...] | NoRateReason:
    """How far each counter went up, through a wrap if need be.

    A counter that starts again from zero takes its whole subject with it, and a wrap does not:
    so it is a reset when every 64-bit counter that had counted anything went down, or when one
    went down so little, or from so low, that a wrap cannot explain it.
    """
    pairs = [(a, b) for a, b in zip(before, after, strict=True) if a is not None and b is not None]
    if len(pairs) < len(before):
        return NoRateReason.INCOMPLETE
    counted = [(a, b) for a, b in pairs[:wide] if a > 0]
    if counted and all(b < a for a, b in counted):
        return NoRateReason.RESET
    growth = []
    for a, b in pairs:
        modulus = WRAP_32 if a < WRAP_32 else WRAP_64
        grown = b - a if b >= a else b - a + modulus
        if b < a and grown >= modulus // 2:
            return NoRateReason.RESET
        growth.append(grown)
    return tuple(growth)
