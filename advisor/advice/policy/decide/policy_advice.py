"""From a congestion incident to the policy that would have helped, with everything it rests on.

Shares come from the tier or from a person, never from use. Reservations that were promised come
first; a victim of the high tier that shares alone leave short gets one of its usual rate. A limit
is the last resort: only once shares and reservations are in force, an aggressor without a
reservation still harms others, and the past week justifies it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from advisor.advice.policy.decide.candidate import (
    Policy,
    Setting,
    beside_pools,
    by_shares,
    due_of,
    in_force,
    same,
    setting_of,
    stated_reservations,
    usual_reservations,
    with_limits_in_force,
    with_reservations,
)
from advisor.advice.policy.decide.demand import (
    demand_gap,
    latencies_under,
    most_wanted,
    rate_wanted,
    why_unsure,
)
from advisor.advice.policy.decide.limit_choice import choose_limits, played_allocations
from advisor.advice.policy.decide.policy_answer import (
    Advice,
    Evidence,
    Recommendation,
    RecommendationKind,
)
from advisor.advice.policy.decide.policy_inputs import AdviceInputs
from advisor.advice.policy.decide.policy_why import (
    alternatives,
    confidence_in,
    formula,
    summarize,
    surest,
)
from advisor.advice.shared.decide.recommended_allocation import (
    REVERSIBILITY,
    RecommendedAllocation,
)
from advisor.core.admission import Admission, RequestedReservation, refusal_text
from advisor.core.demand.forecast import forecast
from advisor.core.enumeration import listed
from advisor.core.explanation.answer import Alternative, InsufficientData, Missing, NoChange
from advisor.core.explanation.rounding import round_all, rounded
from advisor.core.forecast.comparison import Comparison
from advisor.core.forecast.counterfactual import counterfactual
from advisor.core.quantity import format_rate
from advisor.resource_kinds.registry import traits_of

MODEL_VERSION = "policy-10"
"""Changes whenever the same inputs may give another answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A policy that is better than the one in force, without its reasons.

    `justification` is what the past says for its limits; empty without new ones.
    """

    setting: Setting
    kind: RecommendationKind
    policy: Policy
    refused: tuple[Alternative, ...]
    justification: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsLeft:
    """Shares and reservations are in force as advised: the past decides on limits."""

    setting: Setting
    policy: Policy
    refused: tuple[Alternative, ...]


def advise(inputs: AdviceInputs) -> Advice:
    """The policy that would help most, or what is missing, or why nothing should change."""
    found = choose(inputs)
    return explain(found) if isinstance(found, Choice) else found


def choose(inputs: AdviceInputs) -> Choice | InsufficientData | NoChange:
    """The policy that would help most, and nothing that is only told of it."""
    found = choose_without_past(inputs)
    return _with_limits(found) if isinstance(found, LimitsLeft) else found


def choose_without_past(inputs: AdviceInputs) -> Choice | LimitsLeft | InsufficientData | NoChange:
    """The same where the past is not needed for it."""
    missing = _missing(inputs)
    if missing:
        needs = "; ".join(f"{one.what}: {one.have} of {one.need}" for one in missing)
        return InsufficientData(
            summary=f"Too little is known about {inputs.kind} {inputs.resource}: {needs}",
            missing=missing,
            model_version=MODEL_VERSION,
        )
    if inputs.incident is None:
        return _no_change(f"{inputs.kind} {inputs.resource} was not congested")
    if not inputs.incident.victims:
        return _no_change(
            f"{inputs.kind} {inputs.resource} was congested, yet everybody got what they are "
            "entitled to: it is too small for what is asked of it"
        )
    delivered = sum(
        allocation.congested.mean
        for allocation in inputs.allocations
        if allocation.congested and allocation.active
    )
    setting = beside_pools(setting_of(inputs, delivered))
    if not setting.victims:
        return _no_change(
            f"{inputs.kind} {inputs.resource} was congested, yet with its pools everybody got "
            "what they are entitled to: it is too small for what is asked of it"
        )
    return _choose(setting)


def _missing(inputs: AdviceInputs) -> tuple[Missing, ...]:
    """What is needed for advice on an incident and is not there."""
    if not inputs.allocations:
        return (Missing(what="allocations", have=0, need=1),)
    if inputs.incident is None:
        return ()
    missing = []
    if inputs.capacity is None and traits_of(inputs.kind).fixed_capacity:
        missing.append(Missing(what="stated capacity", have=0, need=1))
    for allocation in inputs.allocations:
        have = allocation.congested.sample_count if allocation.congested else 0
        if allocation.active and have < inputs.samples_needed:
            what = f"congested samples of {allocation.workload}"
            missing.append(Missing(what=what, have=have, need=inputs.samples_needed))
    busy = [c for c in inputs.allocations if c.active and c.congested and c.congested.mean > 0]
    if not missing and not busy:
        missing.append(Missing(what="active workloads", have=0, need=1))
    return tuple(missing)


def _no_change(summary: str, tried: Sequence[Alternative] = ()) -> NoChange:
    return NoChange(summary=summary, model_version=MODEL_VERSION, alternatives=tuple(tried))


def _choose(setting: Setting) -> Choice | LimitsLeft | NoChange:
    """Stated reservations or shares, then usual reservations; limits are left for last."""
    inputs = setting.inputs
    wanted = stated_reservations(inputs)
    policy, admission = with_reservations(inputs, wanted, setting.capacity)
    wanted |= usual_reservations(setting, policy)
    policy, admission = with_reservations(inputs, wanted, setting.capacity)
    helped = [
        grant.allocation
        for allocation, grant in zip(inputs.allocations, policy, strict=True)
        if grant.reservation > 0 and allocation.workload in setting.victims
    ]
    kind = RecommendationKind.RESERVATION if helped else RecommendationKind.SHARES
    refused = () if admission.admitted else (_refusal(inputs, wanted, admission),)
    held = with_limits_in_force(inputs, policy)
    if same(held, inputs.in_force) and inputs.pools_before == inputs.pools_after:
        return LimitsLeft(setting=setting, policy=held, refused=refused)
    gone = _gone_aggressors(setting)
    if gone and kind is RecommendationKind.SHARES:
        return _no_change(
            f"{listed(gone)} took more than was due on {inputs.kind} {inputs.resource} and "
            f"{'sends' if len(gone) == 1 else 'send'} no samples any more: "
            "nobody whose load is seen is left to divide with"
        )
    return Choice(setting=setting, kind=kind, policy=held, refused=refused)


def _with_limits(left: LimitsLeft) -> Choice | NoChange:
    choice = choose_limits(left.setting, left.policy)
    if choice.justification is None:
        return _in_force_is_best(left.setting.inputs, choice.refused)
    return Choice(
        setting=left.setting,
        kind=RecommendationKind.LIMIT,
        policy=choice.policy,
        refused=(*left.refused, *choice.refused),
        justification=choice.justification,
    )


def _gone_aggressors(setting: Setting) -> list[str]:
    """Who took too much, if all of them have ended or are not measured any more."""
    took = [one for one in setting.inputs.allocations if one.workload in setting.aggressors]
    if any(one.active for one in took):
        return []
    return sorted({one.workload for one in took})


def _in_force_is_best(inputs: AdviceInputs, tried: Sequence[Alternative]) -> NoChange:
    weighed = "".join(f"; {one.name} was weighed: {one.reason}" for one in tried)
    return _no_change(
        f"the policy in force on {inputs.kind} {inputs.resource} is what would be recommended"
        f"{weighed}; see whether hosts comply with it",
        tried,
    )


def _refusal(
    inputs: AdviceInputs, wanted: Mapping[int, float], admission: Admission
) -> Alternative:
    asked = [
        RequestedReservation(
            workload=allocation.workload, reservation=wanted[allocation.allocation]
        )
        for allocation in inputs.allocations
        if allocation.workload in admission.refused
    ]
    return Alternative(
        name="reserve everything that was promised",
        reason=refusal_text(admission, asked, inputs.unit),
    )


def explain(choice: Choice) -> Recommendation:
    """The chosen policy with everything that it rests on and that is expected of it."""
    setting, kind, policy = choice.setting, choice.kind, choice.policy
    inputs = setting.inputs
    rows = _rows(setting, policy)
    comparison = Comparison(
        mode=inputs.mode,
        before=in_force(inputs),
        after=policy,
        before_as_measured=not inputs.in_force or kind is RecommendationKind.LIMIT,
        after_as_pressed=kind is RecommendationKind.LIMIT,
        pools_before=setting.pools_before,
        pools_after=setting.pools_after,
    )
    bounds = [most_wanted(inputs, allocation) for allocation in inputs.allocations]
    played = counterfactual(
        played_allocations(inputs.allocations), inputs.past, comparison, bounds=bounds
    )
    return Recommendation(
        kind=kind,
        summary=summarize(setting, kind, rows),
        lead=surest(setting, rows),
        allocations=rows,
        evidence=_evidence(setting),
        alternatives=(*alternatives(setting, kind, policy, by_shares(inputs)), *choice.refused),
        confidence=confidence_in(setting, rows),
        reversibility=REVERSIBILITY,
        model_version=MODEL_VERSION,
        counterfactual=played,
        justification=choice.justification,
        past_gap="" if played else inputs.past.gap or "no samples were stored in that time",
        pools=inputs.pools_after,
    )


def _rows(setting: Setting, policy: Policy) -> tuple[RecommendedAllocation, ...]:
    allocations = setting.inputs.allocations
    entitled = setting.rates(policy, demands=[None] * len(allocations))
    before = setting.rates_at_present()
    after = forecast(
        setting.wants,
        partial(setting.divide_as_enforced, policy),
        delivered=setting.delivered,
    )
    waits = latencies_under(setting.inputs, setting.wants, after, capacity=setting.capacity)
    seen = setting.inputs.latency
    return tuple(
        RecommendedAllocation(
            allocation=allocation.allocation,
            workload=allocation.workload,
            host=allocation.host,
            reservation=grant.reservation,
            limit=grant.limit,
            shares=grant.shares,
            entitlement=rounded(entitled[place]),
            demand=round_all(rate_wanted(want)),
            demand_gap=demand_gap(allocation, want),
            io_cost=rounded(setting.io_costs[place]),
            measured=None if allocation.congested is None else rounded(allocation.congested.mean),
            predicted_before=rounded(before[place]),
            predicted_after=rounded(float(after.rate[place])),
            interval=round_all(after.interval(place)),
            unsure=why_unsure(setting.inputs, place, want, after),
            latency_now_ms=None if wait is None or seen is None else rounded(seen.congested_ms),
            latency_ms=None if wait is None else rounded(wait.ms),
            latency_interval=None if wait is None else round_all(wait.interval),
        )
        for place, (allocation, grant, want, wait) in enumerate(
            zip(allocations, policy, setting.wants, waits, strict=True)
        )
    )


def _evidence(setting: Setting) -> Evidence:
    inputs, incident = setting.inputs, setting.inputs.incident
    assert incident is not None
    # Without a latency there are no victims, and so no policy.
    assert incident.peak_value is not None
    assert incident.threshold is not None
    unit = inputs.unit
    dues = {one.workload: one.entitlement for one in incident.victims}
    dues |= {one.workload: one.entitlement for one in incident.aggressors}
    dues |= due_of(setting)
    return Evidence(
        began_at=inputs.began_at,
        ended_at=inputs.ended_at,
        sample_count=sum(c.congested.sample_count for c in inputs.allocations if c.congested),
        capacity=rounded(setting.capacity),
        capacity_source=setting.capacity_source,
        peak_value=rounded(incident.peak_value),
        threshold=rounded(incident.threshold),
        victims=tuple(
            f"{one.workload} got {format_rate(one.rate, unit)}"
            + (f" of {format_rate(due, unit)} due" if due > one.rate else "")
            for one, due in ((one, dues[one.workload]) for one in incident.victims)
        ),
        aggressors=tuple(_took(setting, dues)),
        formula=formula(setting),
        cause="" if inputs.cause is None else inputs.cause.reason,
    )


def _took(setting: Setting, dues: Mapping[str, float]) -> Iterator[str]:
    """What each aggressor took, in words; `dues` are what was due to workloads."""
    inputs, unit = setting.inputs, setting.inputs.unit
    assert inputs.incident is not None
    rates = {one.workload: one.rate for one in inputs.incident.aggressors}
    for one in inputs.incident.aggressors if inputs.cause is None else inputs.cause.aggressors:
        took = f"{one.workload} took {one.part_ratio:.0%}"
        rate = rates.get(one.workload) or _congested_rate(inputs, one.workload)
        if rate is not None:
            due = dues.get(one.workload, rate)
            took += f", {format_rate(rate, unit)}"
            took += f" where {format_rate(due, unit)} were due" if due < rate else ""
        yield took


def _congested_rate(inputs: AdviceInputs, workload: str) -> float | None:
    """The mean rate of a workload in the incident, over all its allocations; None without one."""
    own = [one.congested for one in inputs.allocations if one.workload == workload]
    means = [one.mean for one in own if one is not None]
    return sum(means) if means else None
