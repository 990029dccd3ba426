"""What the workloads of an incident want, for predictions; `advisor.core.demand` has the rules.

Waiting for I/O (PSI) is no queue: whoever does I/O waits for it, and asynchronous I/O waits
unseen. So on a datastore it is not known who waits, and on an uplink the agent's queues tell it.
"""

from collections.abc import Sequence
from math import isfinite

import numpy as np

from advisor.advice.policy.decide.policy_inputs import AdviceAllocation, AdviceInputs
from advisor.core.demand.forecast import EXPECTED_RATIO, Forecast
from advisor.core.demand.kind import FEWEST_CALM, Demand, DemandKind, SeenRates, demands_of
from advisor.core.demand.latency import LatencyForecast, latencies, with_clients
from advisor.core.explanation.rounding import rounded
from advisor.core.quantity import format_rate
from advisor.core.resource import Unit
from advisor.resource_kinds.registry import traits_of

HEADROOM = 1.05
WIDEST_RATIO = 0.5
"""A rate whose bounds are farther apart than this part of it is not said to be sure."""
TOO_WIDE = "its expected range is wider than half of the rate"
MOST_SEEN_RATIO = 2.0
"""Nor is one beyond so many times of what was ever seen."""


def demands(inputs: AdviceInputs, *, capacity: float) -> tuple[Demand, ...]:
    """What each allocation wants, in the order of the allocations."""
    seen = [_seen(inputs, one) for one in inputs.allocations]
    found = demands_of(seen)
    if not _has_one_queue(inputs) or inputs.latency is None:
        return tuple(found)
    return tuple(with_clients(found, seen, inputs.latency, capacity=capacity))


def latencies_under(
    inputs: AdviceInputs, wants: Sequence[Demand], predicted: Forecast, *, capacity: float
) -> Sequence[LatencyForecast | None]:
    """The latency of each allocation under a policy; None where it cannot be told."""
    if not _has_one_queue(inputs) or inputs.latency is None:
        return [None] * len(inputs.allocations)
    seen = [_seen(inputs, one) for one in inputs.allocations]
    return latencies(wants, seen, predicted, inputs.latency, capacity=capacity)


def _has_one_queue(inputs: AdviceInputs) -> bool:
    """Whether all wait in the device, so that its latency is everybody's: under no policy."""
    return not inputs.in_force and inputs.unit is Unit.IOPS


def _seen(inputs: AdviceInputs, allocation: AdviceAllocation) -> SeenRates:
    seen = allocation.congested_rates if allocation.active else ()
    return SeenRates(
        calm=np.array(allocation.calm_rates, dtype=np.float64),
        congested=np.array(seen, dtype=np.float64),
        waits=allocation.backlogged if traits_of(inputs.kind).shows_queues else None,
        is_throttled=allocation.throttled,
    )


def rate_wanted(demand: Demand) -> float | None:
    """What it is expected to want; None is an unknown amount more than it got."""
    if not demand.is_open:
        return demand.mean
    return EXPECTED_RATIO * demand.least if isfinite(demand.most) else None


def most_wanted(inputs: AdviceInputs, allocation: AdviceAllocation) -> float | None:
    """The most that it is known to have wanted; None with a queue, or with too little history."""
    usual, congested = allocation.usual, allocation.congested
    if usual is None or usual.sample_count < inputs.samples_needed:
        return None
    if traits_of(inputs.kind).shows_queues and allocation.backlogged is True:
        return None
    return HEADROOM * max(usual.p95, 0.0 if congested is None else congested.p95)


def demand_gap(allocation: AdviceAllocation, demand: Demand) -> str:
    """Why it is not known how much it wants; empty where that is known."""
    if demand.kind is DemandKind.UNKNOWN:
        return f"{len(allocation.calm_rates)} of {FEWEST_CALM} calm windows seen"
    return "it grew while others were held back" if demand.is_open else ""


def why_unsure(inputs: AdviceInputs, place: int, demand: Demand, predicted: Forecast) -> str:
    """Why the predicted rate of an allocation is a suspicion; empty if it is proposed."""
    allocation = inputs.allocations[place]
    if demand.kind is DemandKind.UNKNOWN:
        return demand_gap(allocation, demand)
    rate, bounds = float(predicted.rate[place]), predicted.interval(place)
    if bounds.high - bounds.low > WIDEST_RATIO * rate:
        return TOO_WIDE
    seen = max((*allocation.calm_rates, *allocation.congested_rates), default=0.0)
    if rate > MOST_SEEN_RATIO * seen:
        return f"at most {format_rate(rounded(seen), inputs.unit)} were ever seen"
    return ""
