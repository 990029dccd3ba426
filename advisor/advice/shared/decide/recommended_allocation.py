"""What a policy gives one allocation, whoever composed the policy."""

from dataclasses import dataclass

from advisor.core.forecast.prediction_interval import Interval

DRAFT = "what_if"
"""What `Recommendation.kind` says of a policy that a person composed."""
REVERSIBILITY = (
    "Reversible: withdrawing the policy makes every agent restore what it found; nothing is moved."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendedAllocation:
    """What one allocation is to get, and what that does to its rate; rates are of its own I/O
    size.

    `entitlement` is what it gets at least while everybody wants everything. `demand` is what it
    wants; None is more than it got, and `demand_gap` says why the amount is unknown: it is empty
    where a queue was measured. `io_cost` is the device time of one of its I/Os, 1 being that of
    the mean I/O of the incident. `measured` is its mean rate in the incident; `predicted_before`
    and `predicted_after` come from the same solver, with the policy in force and with the
    recommended one. None means it was not measured. `interval` is where the mean rate is expected;
    `interval_gap` says why there is none. `unsure` says why `predicted_after` is no promise; it is
    empty where it is one. `latency_ms` is the mean latency that is expected of its I/Os, in
    `latency_interval`, and `latency_now_ms` what it was in the incident; None on an uplink, and
    where that is not known.
    """

    allocation: int
    workload: str
    host: str
    reservation: float
    limit: float | None
    shares: int
    entitlement: float
    demand: float | None
    measured: float | None
    predicted_before: float
    predicted_after: float
    interval: Interval | None = None
    interval_gap: str = ""
    unsure: str = ""
    demand_gap: str = ""
    io_cost: float = 1.0
    latency_now_ms: float | None = None
    latency_ms: float | None = None
    latency_interval: Interval | None = None
