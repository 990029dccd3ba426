"""Whether the past week justifies limits: how long they throttle, and how much others gain.

A limit restricts a workload at all times, while contention is temporary. So it is recommended only
if it would have throttled its workload for less than 1 % of the past week, and if the others would
have been served at least 5 % better during congestion. Limits come after shares that did not help,
so in this backtest workloads compete as strongly as they did.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.allocation import ReservationMode
from advisor.core.enumeration import clauses
from advisor.core.forecast.comparison import Comparison
from advisor.core.forecast.counterfactual import Counterfactual, PlayedAllocation, counterfactual
from advisor.core.forecast.latency_backtest import joint_latency
from advisor.core.forecast.past import Past
from advisor.core.grant import Grant
from advisor.core.pooled import PoolPlaces

MOST_THROTTLED_RATIO = 0.01
"""Fraction of the past in which a limit may throttle its own workload."""
LEAST_GAIN_RATIO = 0.05
"""Fraction by which the others' p95 latency must fall, or their rate rise."""
LEAST_HOURS = 24.0
"""A shorter history does not show a whole day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitVerdict:
    """The verdict; `throttled` has the indexes of allocations that would be throttled too long."""

    allowed: bool
    reason: str
    throttled: tuple[int, ...] = ()


def judge_limits(
    allocations: Sequence[PlayedAllocation],
    past: Past,
    limited: Sequence[int],
    *,
    mode: ReservationMode,
    before: Sequence[Grant],
    after: Sequence[Grant],
    pools_before: Sequence[PoolPlaces] = (),
    pools_after: Sequence[PoolPlaces] = (),
) -> LimitVerdict:
    """Whether the limits on the allocations with these indexes may be recommended, and why."""
    if past.hours < LEAST_HOURS * (1 - 1e-9):
        have = past.gap or f"{past.hours:.1f} h of the past week are stored"
        return LimitVerdict(allowed=False, reason=f"{have}; {LEAST_HOURS:g} h are needed")
    comparison = Comparison(
        mode=mode,
        before=before,
        after=after,
        before_as_measured=True,
        after_as_pressed=True,
        pools_before=pools_before,
        pools_after=pools_after,
    )
    found = counterfactual(allocations, past, comparison)
    if found is None or not past.congested.any() or past.rates is None:
        return LimitVerdict(
            allowed=False, reason=f"no window of the {_span(past)} shows the congestion"
        )
    long = [place for place in limited if _throttled(found, place) >= MOST_THROTTLED_RATIO]
    if long:
        return LimitVerdict(
            allowed=False,
            reason=f"{_parts(allocations, found, long)} of the {_span(past)}; "
            f"less than {MOST_THROTTLED_RATIO:.0%} is allowed",
            throttled=tuple(long),
        )
    others = [place for place in range(len(allocations)) if place not in set(limited)]
    gain, words = _gain(past.contended(), found, others, comparison)
    return LimitVerdict(
        allowed=gain >= LEAST_GAIN_RATIO,
        reason=f"{_parts(allocations, found, limited)} of the {_span(past)}, and in congestion "
        f"{words}; {LEAST_GAIN_RATIO:.0%} are needed",
    )


def _span(past: Past) -> str:
    return f"{past.hours / 24:.1f} days simulated"


def _throttled(found: Counterfactual, place: int) -> float:
    """Fraction of the time in which the allocation's own limit would throttle it."""
    return found.allocations[place].past.throttled_min_after / (60 * found.hours)


def _parts(
    allocations: Sequence[PlayedAllocation], found: Counterfactual, places: Sequence[int]
) -> str:
    return clauses(
        f"{allocations[place].workload} would be throttled {_throttled(found, place):.2%}"
        for place in places
    )


def _gain(
    congested: Past, found: Counterfactual, others: Sequence[int], comparison: Comparison
) -> tuple[float, str]:
    """The gain of the others in congested windows, with its text.

    By latency if known, otherwise (as on an uplink) by rate: with the same outstanding I/O, a
    higher rate means a shorter wait.
    """
    outstanding = congested.outstanding
    if outstanding is not None:
        waited = joint_latency(
            congested.windows,
            outstanding,
            others,
            comparison,
            pressure=congested.pressure,
        )
        old, new = waited.p95_before_ms, waited.p95_after_ms
        if old is not None and new is not None and old > 0:
            gain = 1 - new / old
            return gain, f"the others' p95 latency would {_words(-gain)}"
    rates = [found.allocations[place].contended for place in others]
    was = sum(one.rate_before for one in rates if one is not None)
    would = sum(one.rate_after for one in rates if one is not None)
    gain = would / was - 1 if was > 0 else 0.0
    return gain, f"the others' rates could {_words(gain)}"


def _words(change: float) -> str:
    if abs(change) < 0.0005:
        return "not change"
    return f"{'rise' if change > 0 else 'fall'} by {abs(change):.1%}"
