"""How a reservation was kept, from what each second brought. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MET = 0.95
"""An interval keeps a reservation from this part of it on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One second: IOPS of the reserved group, None while it pauses, and of all groups.

    `active` groups want I/O, and have wanted it for `since_change_s` whole seconds before.
    """

    since_change_s: int
    active: int
    first_iops: float | None
    total_iops: float


def settled(intervals: Sequence[Interval]) -> list[Interval]:
    """Those from the second after each change on in which the reserved group wants I/O."""
    return [one for one in intervals if one.since_change_s > 0 and one.first_iops is not None]


def kept_ratio(intervals: Sequence[Interval], reservation_iops: float) -> float | None:
    """How many of the settled intervals keep the reservation; None without any."""
    rates = [one.first_iops for one in settled(intervals) if one.first_iops is not None]
    if not rates:
        return None
    return sum(rate >= MET * reservation_iops for rate in rates) / len(rates)


def overshoot_ratio(
    intervals: Sequence[Interval], reservation_iops: float, capacity_iops: float
) -> float | None:
    """The most by which a settled interval exceeded what the group is due; None without any.

    It is due its reservation, or its equal share where that is more.
    """
    beyond = [
        one.first_iops / max(reservation_iops, capacity_iops / one.active) - 1
        for one in settled(intervals)
        if one.first_iops is not None
    ]
    return max(0.0, *beyond) if beyond else None


def total_ratio(intervals: Sequence[Interval], capacity_iops: float) -> float | None:
    """The mean total of all intervals beside the capacity; None without any."""
    if not intervals:
        return None
    return sum(one.total_iops for one in intervals) / len(intervals) / capacity_iops
