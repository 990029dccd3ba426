"""Rates of several series about one subject become one row of rates."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from ingest.core.rates import RatesT


def merged(
    derived: Iterable[Sequence[RatesT]], *, since: datetime, until: datetime
) -> list[RatesT]:
    """The rates with `since < at <= until` of all series in order of time, each moment told once.

    Every series counts for itself, because the counters of two need not be the same; where two
    overlap, the one given first is believed.
    """
    found: list[RatesT] = []
    for rates in derived:
        taken = list(found)
        found += [one for one in rates if since < one.at <= until and not _overlaps(one, taken)]
        found.sort(key=lambda one: one.at)
    return found


def _overlaps(rates: RatesT, taken: Sequence[RatesT]) -> bool:
    """Whether an interval of `taken`, which are in order and apart, shares time with this one."""
    start = rates.at - timedelta(seconds=rates.seconds)
    following = bisect_right(taken, start, key=lambda other: other.at)
    if following == len(taken):
        return False
    other = taken[following]
    return other.at - timedelta(seconds=other.seconds) < rates.at
