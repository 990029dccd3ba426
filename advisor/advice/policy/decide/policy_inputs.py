"""Everything a recommendation is computed from, and nothing else.

Numbers are in the resource's unit. The canonical text of `AdviceInputs` is stored with the
recommendation, so that it can be computed again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from advisor.advice.policy.decide.host_traffic import HostTraffic
from advisor.core.allocation import ReservationMode
from advisor.core.canonical import ADDED
from advisor.core.demand.latency import SeenLatency
from advisor.core.detection.incident import Incident
from advisor.core.forecast.past import Past
from advisor.core.grant import Grant
from advisor.core.iosize import SIZE_TERM_BYTES
from advisor.core.number_checks import check_amount, check_aware, check_positive
from advisor.core.pools import PoolTerms
from advisor.core.resource import Tier, Unit, tier_shares
from advisor.core.waterfill import Floats
from advisor.resource_kinds.registry import traits_of

ENOUGH_SAMPLES = 30
"""Fewer windows per workload say too little about what it takes and gets."""
NO_PAST = Past(gap="no history was looked at")


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSummary:
    """Mean and percentiles of a rate over windows that span `span_days`."""

    mean: float
    p50: float
    p90: float
    p95: float
    p99: float
    sample_count: int
    span_days: float

    def __post_init__(self) -> None:
        for name in ("mean", "p50", "p90", "p95", "p99", "span_days"):
            check_amount(name, getattr(self, name))


def summarize_rates(rates: Sequence[float] | Floats, *, span_days: float) -> RateSummary | None:
    """The summary of a series of rates; None if it is empty."""
    return summarize_columns(np.array(rates)[:, np.newaxis], span_days=span_days)[0]


def summarize_columns(rates: Floats, *, span_days: float) -> list[RateSummary | None]:
    """The summary of each column, (windows, allocations); NaN is not counted."""
    lines = np.ascontiguousarray(rates.T)
    counts = (~np.isnan(lines)).sum(axis=1)
    whole = np.flatnonzero(counts == lines.shape[1]) if lines.shape[1] else np.zeros(0, np.int64)
    found: list[RateSummary | None] = [None] * len(lines)
    parts = [(whole, lines[whole])] if len(whole) else []
    # Those with a window that is not known are summarised one by one.
    for one in np.flatnonzero((counts > 0) & (counts < lines.shape[1])).tolist():
        line = lines[one]
        parts.append((np.array([one]), line[~np.isnan(line)][np.newaxis]))
    for places, known in parts:
        means = known.mean(axis=1)
        # Parting it at all these places takes twice as long as sorting it first.
        known.sort(axis=1)
        percentiles = np.percentile(known, [50, 90, 95, 99], axis=1, overwrite_input=True)
        for place, mean, (p50, p90, p95, p99) in zip(
            places.tolist(), means.tolist(), percentiles.T.tolist(), strict=True
        ):
            found[place] = RateSummary(
                mean=mean,
                p50=p50,
                p90=p90,
                p95=p95,
                p99=p99,
                sample_count=known.shape[1],
                span_days=span_days,
            )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceAllocation:
    """One workload's allocation: what was promised to it and what it got.

    `shares` None means those of the tier. `congested` summarises its rate in the windows of the
    incident, `usual` in windows in which nothing held it back; None means there were none.
    `congested_rates` and `calm_rates` are some of these windows one by one, in order of time, from
    which demands are drawn.
    `active` is False if it did nothing in the incident, or is gone by its end.
    `backlogged` and `throttled` are as in `AllocationObservation`, for most windows of the
    incident. `mean_io_bytes` is the size of its I/Os in the incident; None if not measured.
    """

    allocation: int
    workload: str
    host: str
    tier: Tier
    reservation: float = 0.0
    limit: float | None = None
    shares: int | None = None
    congested: RateSummary | None = None
    usual: RateSummary | None = None
    congested_rates: tuple[float, ...] = ()
    calm_rates: tuple[float, ...] = ()
    active: bool = True
    backlogged: bool | None = None
    throttled: bool = False
    mean_io_bytes: float | None = None

    def __post_init__(self) -> None:
        check_amount(f"mean_io_bytes of {self.workload}", self.mean_io_bytes)
        check_amount(f"reservation of {self.workload}", self.reservation)
        for rate in (*self.calm_rates, *self.congested_rates):
            check_amount(f"a rate of {self.workload}", rate)
        check_positive(f"limit of {self.workload}", self.limit)
        if self.shares is not None and self.shares < 1:
            raise ValueError(f"shares of {self.workload} is {self.shares}; it must be at least 1")

    @property
    def stated_shares(self) -> int:
        """The shares stated for this allocation, or those of its tier."""
        return tier_shares(self.tier) if self.shares is None else self.shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Accused:
    """A workload whose load the harm of the others follows, and its share of the device time."""

    workload: str
    part_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Who causes the incident, as its page tells it; `aggressors` is empty where nobody is found.

    Who takes more than is due to it need not be the cause: the others may lack nothing by it.
    """

    aggressors: tuple[Accused, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceInputs:
    """A contended resource, its allocations, and the incident that calls for advice.

    `capacity` may be None for a datastore: what it delivered while congested counts then.
    `reservable` is how much of it may be reserved; None means all of it. `in_force` is the policy
    that hosts enforce; empty means that everybody takes what they get. `past` is the last week
    with one demand per allocation, in the order of the allocations. `host_traffic` takes part on
    an uplink; None on a datastore, and in advice of former versions. `latency` is that of all
    I/Os; None on an uplink, where it was not measured, and in advice of former versions. `cause`
    None means that it was not studied: then whoever took more than was due to it is an aggressor.
    `pools_before` are the pools of the policy in force, `pools_after` those that are stated.
    `size_term_bytes` is that of the datastore when the incident began.
    """

    resource: str
    kind: str
    unit: Unit
    mode: ReservationMode
    capacity: float | None
    reservable: float | None
    began_at: datetime
    ended_at: datetime
    allocations: tuple[AdviceAllocation, ...]
    incident: Incident | None
    in_force: tuple[Grant, ...] = ()
    samples_needed: int = ENOUGH_SAMPLES
    past: Past = NO_PAST
    host_traffic: HostTraffic | None = None
    latency: SeenLatency | None = None
    cause: Cause | None = None
    pools_before: tuple[PoolTerms, ...] = field(default=(), metadata=ADDED)
    pools_after: tuple[PoolTerms, ...] = field(default=(), metadata=ADDED)
    size_term_bytes: float = field(default=SIZE_TERM_BYTES, metadata=ADDED)

    def __post_init__(self) -> None:
        traits_of(self.kind)
        check_positive("capacity", self.capacity)
        check_amount("reservable", self.reservable)
        check_positive("size_term_bytes", self.size_term_bytes)
        check_aware("began_at", self.began_at)
        check_aware("ended_at", self.ended_at)
        if len({allocation.allocation for allocation in self.allocations}) < len(self.allocations):
            raise ValueError("two allocations have the same number")
        windows = self.past.windows
        if len(windows) and windows.demands.shape[1] != len(self.allocations):
            raise ValueError("every past window must have one demand per allocation")
