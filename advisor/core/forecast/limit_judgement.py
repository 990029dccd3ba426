"""Whether the past justifies limits: who would be throttled how long, and who gains by it.

A limit takes from one workload for good what others miss for a while. So it is only recommended
if it would have held its own workload back for less than a hundredth of the past week, and if the
others would have been served better by a twentieth while the resource was congested. Limits come
after shares that did not help, so in this replay everybody presses as hard as they did.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.core.allocation import ReservationMode
from advisor.core.forecast.comparison import Comparison
from advisor.core.forecast.counterfactual import Counterfactual, PlayedAllocation, counterfactual
from advisor.core.forecast.latency_backtest import joint_latency
from advisor.core.forecast.past import Past
from advisor.core.grant import Grant

MOST_THROTTLED_RATIO = 0.01
"""Part of the past in which a limit may hold its own workload back."""
LEAST_GAIN_RATIO = 0.05
"""Part by which the others' 95th percentile of latency has to fall, or their rate to rise."""
LEAST_HOURS = 24.0
"""A shorter past does not show what a day needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitVerdict:
    """`throttled` holds the places of allocations that would be held back too long."""

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
) -> LimitVerdict:
    """Whether the limits on the allocations at these places may be recommended, and why."""
    if past.hours < LEAST_HOURS * (1 - 1e-9):
        have = past.gap or f"{past.hours:.1f} h of the past week are stored"
        return LimitVerdict(allowed=False, reason=f"{have}; {LEAST_HOURS:g} h are needed")
    comparison = Comparison(
        mode=mode, before=before, after=after, before_as_measured=True, after_as_pressed=True
    )
    found = counterfactual(allocations, past, comparison)
    if found is None or not any(past.congested) or not past.rates:
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
    return f"{past.hours / 24:.1f} days played"


def _throttled(found: Counterfactual, place: int) -> float:
    """Part of all the time in which the allocation's own limit would hold it back."""
    return found.allocations[place].past.throttled_min_after / (60 * found.hours)


def _parts(
    allocations: Sequence[PlayedAllocation], found: Counterfactual, places: Sequence[int]
) -> str:
    return "; ".join(
        f"{allocations[place].workload} would be throttled {_throttled(found, place):.2%}"
        for place in places
    )


def _gain(
    congested: Past, found: Counterfactual, others: Sequence[int], comparison: Comparison
) -> tuple[float, str]:
    """How much better the others would be served in the congested windows, with its words.

    By latency where it can be told. Where it cannot (an uplink has none) by rate: with as much
    outstanding as before, who is served faster waits shorter.
    """
    if congested.outstanding:
        waited = joint_latency(
            congested.windows,
            congested.outstanding,
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
        return "stay as they were"
    return f"{'rise' if change > 0 else 'fall'} by {abs(change):.1%}"
