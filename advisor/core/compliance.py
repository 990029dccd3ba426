"""Compare measured rates with the policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from advisor.core.number_checks import check_amount, check_positive
from advisor.core.quantity import format_rate
from advisor.core.resource import Unit

RELATIVE_TOLERANCE = 0.05
"""Tolerance below a reservation or above a limit, as a fraction of it."""
CAPACITY_TOLERANCE = 0.03
"""Tolerance below the entitlement, as a fraction of the capacity."""
ENOUGH_SAMPLES = 3
BACKLOGGED_RATIO = 0.5
"""From this fraction of the samples on, a queue counts as permanent."""
IDLE_RATIO = 0.1
"""Below this fraction of the samples, a queue counts as accidental."""


class Verdict(StrEnum):
    """The result of comparing a measured rate with the policy."""

    MET = "met"
    LIMIT_EXCEEDED = "limit_exceeded"
    OVER_THROTTLED = "over_throttled"
    RESERVATION_UNMET = "reservation_unmet"
    NO_DEMAND = "no_demand"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What the policy gives one workload of one resource, in the resource's unit.

    `entitlement` is what it gets at least if all workloads want everything, and the host's own
    traffic too where `is_beside_host`.
    """

    reservation: float
    limit: float | None
    entitlement: float
    is_beside_host: bool = False

    def __post_init__(self) -> None:
        check_amount("reservation", self.reservation)
        check_amount("limit", self.limit)
        check_amount("entitlement", self.entitlement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The mean rate over a window; `backlogged_samples` None means queues were not measured."""

    rate: float | None
    sample_count: int
    backlogged_samples: int | None = None

    def __post_init__(self) -> None:
        check_amount("rate", self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compliance:
    """The verdict, with its numbers in a sentence."""

    verdict: Verdict
    reason: str


def control_words(controls: Mapping[str, Mapping[str, str]] | None) -> str:
    """What became of each control, like `limit applied, shares ineffective`.

    Empty where all have one outcome, or the agent is too old to tell them apart.
    """
    if controls is None or len({found["outcome"] for found in controls.values()}) == 1:
        return ""
    order = ("reservation", "limit", "shares")
    return ", ".join(f"{name} {controls[name]['outcome'].replace('_', ' ')}" for name in order)


def beside_host(promises: Sequence[Promise], room: float) -> list[Promise]:
    """What one policy gives its workloads where the host's own traffic leaves `room` for all.

    Reservations stay; what is entitled above them shrinks by one ratio until the sum fits.
    """
    check_amount("room", room)
    above = [max(item.entitlement - item.reservation, 0.0) for item in promises]
    reserved = sum(min(item.reservation, item.entitlement) for item in promises)
    free, wanted = max(room - reserved, 0.0), sum(above)
    if wanted <= free:
        return list(promises)
    lost_ratio = 1 - free / wanted
    return [
        replace(item, entitlement=item.entitlement - lost_ratio * amount, is_beside_host=True)
        for item, amount in zip(promises, above, strict=True)
    ]


def judge(promise: Promise, measured: Measured, *, capacity: float, unit: Unit) -> Compliance:
    """Compare a measured rate with the policy.

    A workload that wanted no more never has a shortfall. Without measured queues, a rate below the
    reservation or entitlement is `unknown`, not a breach.
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
    """Whether it had a queue; None means not measured, or only at times."""
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
    beside = " beside the host's own traffic" if promise.is_beside_host else ""
    due = most - max(RELATIVE_TOLERANCE * most, CAPACITY_TOLERANCE * capacity)
    if rate < reserved * (1 - RELATIVE_TOLERANCE):
        wanted, breach = (
            f"the reservation {format_rate(reserved, unit)}",
            Verdict.RESERVATION_UNMET,
        )
    elif rate < due:
        wanted, breach = (
            f"the entitlement {format_rate(most, unit)}{beside}",
            Verdict.OVER_THROTTLED,
        )
    elif rate == 0 and more is not True:
        return Compliance(verdict=Verdict.NO_DEMAND, reason="it sent nothing")
    else:
        return Compliance(
            verdict=Verdict.MET, reason=f"{got}, entitled to {format_rate(most, unit)}{beside}"
        )
    if more is None:
        reason = f"{got}, below {wanted}; it is unknown whether it wanted more"
        return Compliance(verdict=Verdict.UNKNOWN, reason=reason)
    if more:
        return Compliance(verdict=breach, reason=f"{got}, below {wanted}, and wanted more")
    return Compliance(verdict=Verdict.NO_DEMAND, reason=f"{got} and wanted no more")
