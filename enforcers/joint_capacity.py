"""What a datastore can do for all of its hosts together, by its latency and throughput. Pure.

Each host derives it from the sums that all of them hear, and keeps what it is given of it by a
rate. A rate above what the datastore does fills its queue, one below empties it; so the capacity
falls below what was measured while the latency is above the threshold, and is probed upward by
small steps while it is far below. Decision 27 says why, and why a window does not do it alone.
"""

from dataclasses import dataclass, replace

from enforcers import field_checks

CALM_RATIO = 0.5
"""Up to this part of the threshold nothing piles up; from it on hosts drain (`drained_ratio`)."""
HELD_RATIO = 0.75
"""Up to this part the capacity stays; from it on it goes back by half a step."""
STEP_RATIO = 1.01
BACK_RATIO = 0.995
FAST_STEP_RATIO = 1.04
FAST_BELOW = 0.9
"""Of what is stated; above it steps stay small."""
FAST_AFTER_STEPS = 5
"""Steps grow once so many went well, but not near to what it fell from last."""
NEAR_LOW, NEAR_HIGH = 0.9, 1.05
LEAST_FALL, LARGEST_FALL = 0.01, 0.05
"""Below what was measured. Several hosts may fall one after the other before they hear of it."""
DRAIN_PERIODS = 2
"""Figures after a fall still show what was before it."""
KEEPS_UP_RATIO = 0.95
"""A step is due only where the datastore did nearly all that it was let do."""
LOWEST_RATIO, HIGHEST_RATIO = 0.25, 2.0
"""Of what is stated: a latency that no fall mends has another cause, and nobody is starved."""
LEAST_DRAINED_RATIO = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityLaw:
    """What the policy states, and the latency that it allows."""

    stated_iops: float
    threshold_ms: float

    def __post_init__(self) -> None:
        field_checks.check_positive("stated_iops", self.stated_iops)
        field_checks.check_positive("threshold_ms", self.threshold_ms)

    @property
    def lowest_iops(self) -> float:
        """No latency brings the capacity below this."""
        return LOWEST_RATIO * self.stated_iops

    def bounded(self, iops: float) -> float:
        """The capacity, limited to the bounds."""
        return min(max(iops, self.lowest_iops), HIGHEST_RATIO * self.stated_iops)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """I/Os per second, and the steps upward that went well in a row.

    For `drain_periods` more it does not fall, and for `join_periods` it stays while all that came
    hear of it. `fell_from` is what was done when it fell last.
    """

    iops: float
    steps: int = 0
    drain_periods: int = 0
    fell_from: float | None = None
    join_periods: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A period: what was done a second, the mean latency, None without I/O, and who waited."""

    done_iops: float
    latency_ms: float | None
    is_wanted: bool


def next_capacity(capacity: Capacity, seen: Seen, *, law: CapacityLaw) -> Capacity:
    """The capacity of the next period; without any I/O it stays."""
    if seen.latency_ms is None:
        return replace(capacity, drain_periods=max(0, capacity.drain_periods - 1))
    pressure = seen.latency_ms / law.threshold_ms
    if pressure > 1:
        return _fallen(capacity, seen, pressure, law)
    capacity = replace(capacity, drain_periods=max(0, capacity.drain_periods - 1))
    if pressure > CALM_RATIO:
        ratio = BACK_RATIO if pressure > HELD_RATIO and capacity.drain_periods == 0 else 1.0
        return replace(capacity, iops=law.bounded(ratio * capacity.iops), steps=0)
    if not seen.is_wanted or seen.done_iops < KEEPS_UP_RATIO * capacity.iops:
        return capacity
    ratio = FAST_STEP_RATIO if _may_be_fast(capacity, law) else STEP_RATIO
    return replace(capacity, iops=law.bounded(ratio * capacity.iops), steps=capacity.steps + 1)


def drained_ratio(latency_ms: float | None, *, threshold_ms: float, period_s: float) -> float:
    """The part of its budget with which a host helps to drain what has piled up, in a period.

    All hosts see the same latency. What is above the calm part of the threshold takes as long to
    be done, so all together leave out as much of a period. In a period of half a second it also
    finds a rest: of a capacity that is 1 % too high it leaves 5 ms above the calm latency.
    """
    if latency_ms is None:
        return 1.0
    late_s = max(0.0, latency_ms - CALM_RATIO * threshold_ms) / 1000
    return max(LEAST_DRAINED_RATIO, 1 - late_s / period_s)


def _fallen(capacity: Capacity, seen: Seen, pressure: float, law: CapacityLaw) -> Capacity:
    """Below what was measured, by more the later I/Os are; once, until that can show."""
    if capacity.drain_periods > 0:
        return replace(capacity, steps=0, drain_periods=capacity.drain_periods - 1)
    fall = min(max(pressure - 1, LEAST_FALL), LARGEST_FALL)
    lower = law.bounded((1 - fall) * seen.done_iops)
    if lower >= capacity.iops:
        return replace(capacity, steps=0)
    return Capacity(iops=lower, drain_periods=DRAIN_PERIODS, fell_from=seen.done_iops)


def _may_be_fast(capacity: Capacity, law: CapacityLaw) -> bool:
    """Whether a large step leads neither to what is stated nor to where it went wrong."""
    reached = FAST_STEP_RATIO * capacity.iops
    known = capacity.fell_from
    is_near = (
        known is not None and reached > NEAR_LOW * known and (capacity.iops < NEAR_HIGH * known)
    )
    is_far_below = capacity.iops < FAST_BELOW * law.stated_iops
    return is_far_below and capacity.steps >= FAST_AFTER_STEPS and not is_near
