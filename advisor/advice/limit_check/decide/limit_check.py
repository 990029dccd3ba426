"""Whether a limit does what it should: hold, and take no more than it must.

A limit was seen to misbehave in several ways: it does not hold, it throttles far below its value,
limits of several virtual disks are pooled where each was meant or the reverse, and large I/Os are
counted several times where plain ones were meant or the reverse.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.advice.limit_check.decide.limit_finding import (
    ACTIONS,
    HOLD_TOLERANCE,
    MISBEHAVIOUR,
    THROTTLE_TOLERANCE,
    LimitFinding,
    busy_rate,
    find,
)
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs
from advisor.advice.limit_check.decide.limit_unit import LimitUnit, units_of
from advisor.core.enumeration import clauses, listed
from advisor.core.explanation.answer import (
    AdviceOutcome,
    Alternative,
    Confidence,
    InsufficientData,
    Missing,
)
from advisor.core.explanation.confidence import ground, weakest
from advisor.core.explanation.effect import Effect
from advisor.core.explanation.explained import PredictedAnswer
from advisor.core.explanation.rounding import round_all
from advisor.core.explanation.too_little import too_little_of
from advisor.core.resource import LimitScope

ENOUGH_WINDOWS = 10
PLENTY_WINDOWS = 30
BLIND = 0.5
"""Confidence in over-throttling without a measured latency below the limit."""
MODEL_VERSION = "limit-check-3"
REVERSIBILITY = "Reversible: the limit that was in force can be set again at any time."
FORMULA = (
    "a limit holds if the mean rate, counted as stated, is at most "
    f"{HOLD_TOLERANCE:.0%} above it; it throttles too much if the rate is "
    f"{THROTTLE_TOLERANCE:.0%} below it while more is waiting and the datastore is not congested"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedLimit:
    """One limit, or a pool of them: what it lets pass, what passed, and what to do about it.

    `rate_iops` leaves idle windows out.
    """

    name: str
    finding: LimitFinding
    limit_iops: float | None
    rate_iops: float
    reason: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitCheck(PredictedAnswer):
    """All limits of one workload on one datastore; a recommendation if one misbehaves."""

    limits: tuple[CheckedLimit, ...]


LimitAnswer = LimitCheck | InsufficientData


def check_limits(inputs: LimitInputs) -> LimitAnswer:
    """What each limit of the workload does, or what is missing to say so."""
    windows = len(inputs.vdisks[0].windows) if inputs.vdisks else 0
    limited = [one for one in inputs.vdisks if one.limit_iops is not None]
    too_little = too_little_of(
        [
            Missing(what="virtual disks with a limit", have=len(limited), need=1),
            Missing(what="windows", have=windows, need=ENOUGH_WINDOWS),
        ],
        about=f"the limits of {inputs.workload}",
        model_version=MODEL_VERSION,
    )
    if too_little is not None:
        return too_little
    units = units_of(inputs)
    return round_all(_answer(inputs, units, [_check(one, inputs) for one in units], windows))


def _check(unit: LimitUnit, inputs: LimitInputs) -> CheckedLimit:
    finding, reason = find(unit, inputs)
    return CheckedLimit(
        name=unit.name,
        finding=finding,
        limit_iops=unit.passes,
        rate_iops=busy_rate(unit),
        reason=reason,
        action=ACTIONS[finding],
    )


def _answer(
    inputs: LimitInputs,
    units: Sequence[LimitUnit],
    limits: Sequence[CheckedLimit],
    windows: int,
) -> LimitCheck:
    bad = [one for one in limits if one.finding in MISBEHAVIOUR]
    place = f"{inputs.workload} on datastore {inputs.datastore}"
    if bad:
        lead = f"{bad[0].name}: {bad[0].reason}; {bad[0].action}"
        outcome = AdviceOutcome.RECOMMENDATION
    else:
        lead = clauses(f"{one.name}: {one.reason}" for one in limits)
        outcome = AdviceOutcome.NO_CHANGE
    return LimitCheck(
        outcome=outcome,
        summary=f"Limits of {place}: {lead}",
        limits=tuple(limits),
        formula=f"{FORMULA}; {_stated(inputs)}",
        effects=tuple(
            Effect(
                quantity=f"I/Os of {one.name}",
                unit="iops",
                before=one.rate_iops,
                after=one.limit_iops,
                how="what the limit, as stated, lets pass while more is waiting",
            )
            for one in bad
        ),
        alternatives=_alternatives(inputs) if bad else (),
        confidence=_confidence(units, limits, windows),
        reversibility=REVERSIBILITY,
        model_version=MODEL_VERSION,
    )


def _stated(inputs: LimitInputs) -> str:
    pooled = inputs.scope is LimitScope.POOLED
    scope = "limits are pooled" if pooled else "each virtual disk has its own limit"
    return f"{scope}, I/Os are counted {inputs.count.value.replace('_', ' ')}"


def _alternatives(inputs: LimitInputs) -> tuple[Alternative, ...]:
    return (
        Alternative(
            name="do nothing",
            reason=f"{inputs.workload} and its neighbours go on getting other rates than stated",
        ),
        Alternative(
            name="shares in place of limits",
            reason="waste no idle capacity and need no counting, but hold nobody back while "
            "there is no contention",
        ),
    )


def _confidence(
    units: Sequence[LimitUnit], limits: Sequence[CheckedLimit], windows: int
) -> Confidence:
    held_back = [
        len(one.rates_with_more_waiting)
        for one, checked in zip(units, limits, strict=True)
        if checked.finding is LimitFinding.OVER_THROTTLED
    ]
    telling = min([windows, *held_back])
    parts = [
        ground(
            "windows",
            telling / PLENTY_WINDOWS,
            f"{telling} telling windows, {PLENTY_WINDOWS} are plenty",
        )
    ]
    blind = [
        one.name
        for one, checked in zip(units, limits, strict=True)
        if checked.finding is LimitFinding.OVER_THROTTLED and one.device_is_congested is None
    ]
    if blind:
        how = f"nobody measured whether the datastore held {listed(blind)} back"
        parts.append(ground("device latency", BLIND, how))
    return weakest(*parts)
