"""What a workload wants, for predictions: never more than it is known to have wanted.

Contention hides demand. Where a queue of the workload's own was measured, it wants more than it
got, by an unknown amount. Elsewhere the windows in which nothing held it back tell:

    most   = 1.05 · max(p95 of calm windows, p95 of congested windows)
    demand = most, if it took more under contention (mean) than in 19 of 20 calm windows
             max(mean of calm windows, mean of congested windows), if it did not

The mean, because a percentile is no demand: an on/off source takes its peak for a part of the
time. Waiting for I/O (PSI) is no queue: whoever does I/O waits for it.
"""

from dataclasses import dataclass

from advisor.advice.policy.decide.policy_inputs import AdviceAllocation, AdviceInputs
from advisor.resource_kinds.registry import traits_of

HEADROOM = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an allocation wants, in the resource's unit; `rate` None is more than it got.

    `gap` says why it is not known; it is empty where a queue proves that it wants more.
    """

    rate: float | None
    gap: str = ""


def wanted(inputs: AdviceInputs, allocation: AdviceAllocation, *, contending: bool) -> Wanted:
    """What the allocation wants; `contending` says that it is a victim or an aggressor."""
    congested = allocation.congested
    if not allocation.active or congested is None:
        return Wanted(rate=0.0)
    if allocation.throttled:
        return Wanted(rate=congested.p95)
    if queue_was_measured(inputs, allocation):
        return Wanted(rate=None)
    most = most_wanted(inputs, allocation)
    if allocation.usual is not None and most is not None:
        grew = congested.mean > allocation.usual.p95
        return Wanted(rate=most if grew else max(allocation.usual.mean, congested.mean))
    if allocation.backlogged is False or not (allocation.backlogged or contending):
        return Wanted(rate=congested.p95)
    have = 0 if allocation.usual is None else allocation.usual.sample_count
    return Wanted(rate=None, gap=f"{have} of {inputs.samples_needed} calm windows")


def most_wanted(inputs: AdviceInputs, allocation: AdviceAllocation) -> float | None:
    """The most that it is known to have wanted; None with a queue, or with too little history."""
    usual, congested = allocation.usual, allocation.congested
    if usual is None or usual.sample_count < inputs.samples_needed:
        return None
    if queue_was_measured(inputs, allocation):
        return None
    return HEADROOM * max(usual.p95, 0.0 if congested is None else congested.p95)


def queue_was_measured(inputs: AdviceInputs, allocation: AdviceAllocation) -> bool:
    """On an uplink an agent sees the queue of each allocation; elsewhere only waiting is seen."""
    return traits_of(inputs.kind).shows_queues and allocation.backlogged is True
