"""Whether what was measured is what the policy promised."""

from dataclasses import dataclass
from enum import StrEnum

from advisor.core.number_checks import check_amount, check_positive
from advisor.core.quantity import format_rate
from advisor.core.resource import Unit

RELATIVE_TOLERANCE = 0.05
"""So far below a reservation or above a limit a mean rate may lie."""
CAPACITY_TOLERANCE = 0.03
"""So far below its entitlement, as a part of the capacity, a mean rate may lie as well."""
ENOUGH_SAMPLES = 3
BACKLOGGED_RATIO = 0.5
"""From this part of the samples on, a queue was there all the time for what matters here."""
IDLE_RATIO = 0.1
"""Below this part of the samples a queue was an accident."""


class Verdict(StrEnum):
    """What the measurement says about the promise."""

    MET = "met"
    LIMIT_EXCEEDED = "limit_exceeded"
    OVER_THROTTLED = "over_throttled"
    RESERVATION_UNMET = "reservation_unmet"
    NO_DEMAND = "no_demand"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What the policy gives one workload of one resource, in the resource's unit.

    `entitlement` is what it gets at least while everybody wants everything.
    """

    reservation: float
    limit: float | None
    entitlement: float

    def __post_init__(self) -> None:
        check_amount("reservation", self.reservation)
        check_amount("limit", self.limit)
        check_amount("entitlement", self.entitlement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The mean rate over a window; `backlogged_samples` None means nobody looked at queues."""

    rate: float | None
    sample_count: int
    backlogged_samples: int | None = None

    def __post_init__(self) -> None:
        check_amount("rate", self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compliance:
    """The verdict and the numbers it rests on, as a sentence."""

    verdict: Verdict
    reason: str


def judge(promise: Promise, measured: Measured, *, capacity: float, unit: Unit) -> Compliance:
    """Compare a measured rate with the promise.

    A workload that wanted no more is never short of anything. Where nobody looked at queues, a
    rate below the promise is `unknown`, not a breach.
    """
    check_positive("capacity", capacity)
    rate = measured.rate
    if rate is None:
        return Compliance(verdict=Verdict.UNKNOWN, reason="no rate was measured")
    if measured.sample_count < ENOUGH_SAMPLES:
        return Compliance(
            verdict=Verdict.UNKNOWN,
            reason=f"{measured.sample_count} samples, {ENOUGH_SAMPLES} are needed",
        )
    got = f"got {format_rate(rate, unit)}"
    limit = promise.limit
    if limit is not None and rate > limit * (1 + RELATIVE_TOLERANCE):
        return Compliance(
            verdict=Verdict.LIMIT_EXCEEDED,
            reason=f"{got}, above the limit {format_rate(limit, unit)}",
        )
    return _judge_what_it_got(promise, measured, rate, capacity, unit)


def wants_more(measured: Measured) -> bool | None:
    """Whether a queue was there; None means nobody looked, or it came and went."""
    if measured.backlogged_samples is None or measured.sample_count == 0:
        return None
    part = measured.backlogged_samples / measured.sample_count
    if part >= BACKLOGGED_RATIO:
        return True
    return False if part <= IDLE_RATIO else None


def _judge_what_it_got(
    promise: Promise, measured: Measured, rate: float, capacity: float, unit: Unit
) -> Compliance:
    """The verdict on a rate within the limit."""
    more, got = wants_more(measured), f"got {format_rate(rate, unit)}"
    most = (
        promise.entitlement if promise.limit is None else min(promise.limit, promise.entitlement)
    )
    reserved = (
        promise.reservation if promise.limit is None else min(promise.limit, promise.reservation)
    )
    due = most - max(RELATIVE_TOLERANCE * most, CAPACITY_TOLERANCE * capacity)
    if rate < reserved * (1 - RELATIVE_TOLERANCE):
        wanted, breach = (
            f"the reservation {format_rate(reserved, unit)}",
            Verdict.RESERVATION_UNMET,
        )
    elif rate < due:
        wanted, breach = f"the entitlement {format_rate(most, unit)}", Verdict.OVER_THROTTLED
    elif rate == 0 and more is not True:
        return Compliance(verdict=Verdict.NO_DEMAND, reason="it sent nothing")
    else:
        return Compliance(
            verdict=Verdict.MET, reason=f"{got}, entitled to {format_rate(most, unit)}"
        )
    if more is None:
        reason = f"{got}, below {wanted}; nobody can tell whether more was waiting"
        return Compliance(verdict=Verdict.UNKNOWN, reason=reason)
    if more:
        return Compliance(verdict=breach, reason=f"{got}, below {wanted}, with more waiting")
    return Compliance(verdict=Verdict.NO_DEMAND, reason=f"{got} and wanted no more")
