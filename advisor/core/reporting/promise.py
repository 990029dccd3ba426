"""What was promised to a workload over a period, and what of it was kept, in minutes.

Demand is known only in part. A rate that reaches the reservation shows that as much was wanted.
Below it, a workload that waited wanted more, and one that did not wait wanted no more. A workload
at its own limit waits for that, which breaks no promise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from advisor.core.own_limit import throttled
from advisor.core.waterfill import Booleans, Floats

KEPT_RATIO = 0.95
"""A rate this near to a reservation meets it."""
MINUTE = timedelta(minutes=1)
MINUTE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseMinutes:
    """Minutes of allocations: those of several allocations are added.

    In `asked` of the `measured` ones as much as the reservation was wanted, in `kept` of these it
    was there. In `throttled` the own limit held the workload back.
    """

    measured: float = 0.0
    asked: float = 0.0
    kept: float = 0.0
    throttled: float = 0.0

    @property
    def kept_ratio(self) -> float | None:
        """The share of the minutes in which it was asked for; None if it never was."""
        return self.kept / self.asked if self.asked else None

    def __add__(self, other: PromiseMinutes) -> PromiseMinutes:
        return PromiseMinutes(
            measured=self.measured + other.measured,
            asked=self.asked + other.asked,
            kept=self.kept + other.kept,
            throttled=self.throttled + other.throttled,
        )


def added(parts: Iterable[PromiseMinutes]) -> PromiseMinutes:
    """All of them together."""
    return sum(parts, start=PromiseMinutes())


def promise_minutes(
    *,
    rate: Floats,
    wanted_more: Booleans,
    reservation: Floats,
    limit: Floats,
    counted_before: bool,
    window_s: float,
) -> PromiseMinutes:
    """Those of one allocation; every column is (windows).

    `rate` NaN was not measured, `reservation` 0 is none, `limit` NaN is none. `counted_before`
    says that the rate is counted before the limit acts.
    """
    held = throttled(rate, limit, counted_before=counted_before)
    is_met = rate >= KEPT_RATIO * reservation
    asked = (reservation > 0) & ~np.isnan(rate) & (is_met | (wanted_more & ~held))
    minutes = window_s / MINUTE_S
    return PromiseMinutes(
        measured=np.count_nonzero(~np.isnan(rate)) * minutes,
        asked=np.count_nonzero(asked) * minutes,
        kept=np.count_nonzero(asked & is_met) * minutes,
        throttled=np.count_nonzero(held) * minutes,
    )


def lost_minutes(shortfall_ratio: float, *, of_min: float) -> float:
    """Minutes of full service that were missing: half of it for an hour are 30."""
    return of_min * min(max(shortfall_ratio, 0.0), 1.0)


def shared_minutes(
    since: datetime, until: datetime | None, *, begin: datetime, end: datetime
) -> float:
    """How much of (since, until], without an end if None, lies in (begin, end]."""
    ends = end if until is None else min(until, end)
    return max((ends - max(since, begin)) / MINUTE, 0.0)
