"""The words and numbers that explain a recommendation."""

from collections.abc import Sequence
from typing import assert_never

from advisor.advice.policy.decide.candidate import Policy, Setting, capped_at_entitlement
from advisor.advice.policy.decide.policy_answer import RecommendationKind
from advisor.advice.shared.decide.recommended_allocation import RecommendedAllocation
from advisor.core.allocation import ReservationMode
from advisor.core.enumeration import clauses, listed
from advisor.core.explanation.answer import Alternative, Confidence, ConfidencePart
from advisor.core.explanation.rounding import rounded
from advisor.core.let_through import let_through_text
from advisor.core.pools import pool_terms_text
from advisor.core.quantity import format_rate, significant

SMALL_GAIN = 0.06
"""Who is predicted so much more or less is helped in what waits for it, not in its rate."""


def summarize(
    setting: Setting, kind: RecommendationKind, rows: Sequence[RecommendedAllocation]
) -> str:
    """One sentence with the change and what the workload it is made for gets by it."""
    inputs = setting.inputs
    unit, place = inputs.unit, f"{inputs.kind} {inputs.resource}"
    lead, told = _lead(setting, rows), _told(setting, rows)
    match kind:
        case RecommendationKind.RESERVATION:
            others = [
                row for row in rows if row.reservation > 0 and row.allocation != lead.allocation
            ]
            change = f"Reserve {format_rate(lead.reservation, unit)} for {lead.workload}"
            who = told.workload if others or told is not lead else "it"
            change = f"{change}{_others(others, unit)} on {place}"
        case RecommendationKind.SHARES:
            ratio = ":".join(str(row.shares) for row in rows[:4]) + (":…" if rows[4:] else "")
            change, who = f"Divide {place} by shares {ratio}", told.workload
        case RecommendationKind.LIMIT:
            limits = listed(
                f"{row.workload} to {format_rate(row.limit, unit)}"
                for row in rows
                if row.limit is not None and row.workload in setting.accused
            )
            change, who = f"Limit {limits} on {place}", told.workload
        case _:
            assert_never(kind)
    if not _tells_gain(told):
        return f"{change}: {_suspicion(lead, unit)}"
    return f"{change}: {who} gets {_gain(told, unit)}"


def surest(setting: Setting, rows: Sequence[RecommendedAllocation]) -> str:
    """The workload whose gain the sentence tells; empty where no gain is certain."""
    told = _told(setting, rows)
    return told.workload if _tells_gain(told) else ""


def _tells_gain(lead: RecommendedAllocation) -> bool:
    return not lead.unsure or _is_sure(lead)


def _suspicion(lead: RecommendedAllocation, unit: str) -> str:
    """Of whom a gain is only suspected: what it has, what is due to it, and why not more."""
    now, due = format_rate(lead.measured or 0.0, unit), format_rate(lead.entitlement, unit)
    return (
        f"no certain gain; {lead.workload} gets {now} now, its share is {due} if it needs more "
        f"({lead.unsure})"
    )


def _gain(lead: RecommendedAllocation, unit: str) -> str:
    """What it has and what it will surely have; and what it may have as well."""
    now, due = lead.measured or 0.0, lead.entitlement
    if lead.unsure and lead.interval is not None:
        least = format_rate(lead.interval.low, unit)
        return f"{format_rate(now, unit)} now, at least {least} predicted{_sooner(lead)}"
    words = f"{format_rate(now, unit)} now, {_range(lead, unit)} predicted{_sooner(lead)}"
    if lead.predicted_after > now * (1 + SMALL_GAIN) or due <= lead.predicted_after:
        return words
    return f"{words}, its share is {format_rate(due, unit)} if it needs more"


def _sooner(lead: RecommendedAllocation) -> str:
    """How long its I/O takes and will take, if that surely falls; else nothing."""
    now, then = lead.latency_now_ms, lead.latency_interval
    if now is None or then is None or then.high >= now:
        return ""
    low, high, before = (significant(one, 2) for one in (then.low, then.high, now))
    return f"; its I/O time falls from {before} ms to {low} to {high} ms"


def _range(lead: RecommendedAllocation, unit: str) -> str:
    """The bounds of the predicted rate; one number where they are told alike."""
    if lead.interval is None:
        return format_rate(lead.predicted_after, unit)
    low, high = (format_rate(one, unit) for one in (lead.interval.low, lead.interval.high))
    return low if low == high else f"{low} to {high}"


def _others(rows: Sequence[RecommendedAllocation], unit: str) -> str:
    """What is reserved beside the first reservation."""
    match rows:
        case []:
            return ""
        case [row]:
            return f" and {format_rate(row.reservation, unit)} for {row.workload}"
        case _:
            return f" and what {len(rows)} others are promised"


def _lead(setting: Setting, rows: Sequence[RecommendedAllocation]) -> RecommendedAllocation:
    """The victim that surely gains most; one with a reservation before one without.

    Whose predicted gain is largest is mostly who is predicted worst, so the lower bound counts.
    Where no gain is sure, it is who is furthest from its due.
    """
    return max(_victims(setting, rows), key=lambda row: (row.reservation > 0, *_gain_of(row)))


def _told(setting: Setting, rows: Sequence[RecommendedAllocation]) -> RecommendedAllocation:
    """The victim whose gain is told: another one where the first one's is not sure."""
    lead = _lead(setting, rows)
    return lead if _tells_gain(lead) else max(_victims(setting, rows), key=_gain_of)


def _victims(
    setting: Setting, rows: Sequence[RecommendedAllocation]
) -> Sequence[RecommendedAllocation]:
    return [row for row in rows if row.workload in setting.victims] or rows


def _gain_of(row: RecommendedAllocation) -> tuple[bool, bool, float]:
    """Whether its rate is sure, or at least its gain, and the gain; else what it lacks."""
    is_sure = _is_sure(row)
    least = row.entitlement if not is_sure else _least(row)
    return is_sure and not row.unsure, is_sure, least - (row.measured or 0.0)


def _is_sure(row: RecommendedAllocation) -> bool:
    """Whether it surely gains, however much; of whom too little was seen nothing is sure."""
    return _least(row) > (row.measured or 0.0) and (not row.unsure or row.demand is not None)


def _least(row: RecommendedAllocation) -> float:
    return row.predicted_after if row.interval is None else row.interval.low


def formula(setting: Setting) -> str:
    """How a rate follows from reservation, limit, shares and demand, with the capacity."""
    capacity = format_rate(setting.capacity, setting.inputs.unit)
    match setting.inputs.mode:
        case ReservationMode.ADDITIVE:
            rule = "rate = reservation + part by shares of what is left, at most limit and demand"
        case ReservationMode.FLOOR:
            rule = "rate = clamp(level · shares, reservation, lower of limit and demand)"
        case _:
            assert_never(setting.inputs.mode)
    whole = f"{capacity} ({setting.capacity_source}){_host(setting)}{_pools(setting)}"
    counted = f"{_sizes(setting)}{let_through_text(setting.delivered)}"
    return f"{rule}; the rates add up to {whole}{counted}"


def _pools(setting: Setting) -> str:
    """What holds for workloads together."""
    unit = setting.inputs.unit
    said = [f"pool {one.name}: {pool_terms_text(one, unit)}" for one in setting.inputs.pools_after]
    return f"; {clauses(said)}" if said else ""


def _host(setting: Setting) -> str:
    """What the host's own traffic takes part with; nothing where it wants nothing."""
    host, unit = setting.inputs.host_traffic, setting.inputs.unit
    if host is None or host.demand == 0:
        return ""
    reserved = f"{format_rate(host.reservation, unit)} reserved for the host's own traffic"
    wants = "what it wants is not known"
    if host.demand is not None:
        wants = f"it wants {format_rate(host.demand, unit)}"
    return f", with {reserved}; {wants}"


def _sizes(setting: Setting) -> str:
    """What an I/O of each workload counts where sizes differ; the largest first."""
    if len(set(setting.io_costs)) < 2:
        return ""
    found = sorted(
        (-cost, allocation.workload)
        for allocation, cost in zip(setting.inputs.allocations, setting.io_costs, strict=True)
    )
    sizes = listed(f"{name} {-cost:.2f}" for cost, name in found)
    return (
        f", each I/O by its device time: {sizes}; predictions count all I/Os alike, as hosts do "
        "without a model of their own (cgroup_io.models)"
    )


def alternatives(
    setting: Setting, kind: RecommendationKind, policy: Policy, shares: Policy
) -> tuple[Alternative, ...]:
    """What else could be done, each with the number that speaks against it."""
    found = [Alternative(name="do nothing", reason=_unchanged(setting))]
    if kind is RecommendationKind.RESERVATION:
        found.append(Alternative(name="shares only", reason=_effect(setting, shares, "would get")))
    if kind is not RecommendationKind.LIMIT and setting.limitable:
        capped = capped_at_entitlement(setting, policy)
        alone = [
            0.0 if allocation.workload in setting.victims else demand
            for allocation, demand in zip(setting.inputs.allocations, setting.demands, strict=True)
        ]
        left = sum(setting.rates(policy, demands=alone)) - sum(
            setting.rates(capped, demands=alone)
        )
        names = listed(sorted(setting.limitable))
        found.append(
            Alternative(
                name=f"limit {names}",
                reason=f"would leave {format_rate(max(left, 0.0), setting.inputs.unit)} unused "
                "whenever the victims are idle",
            )
        )
    return tuple(found)


def _unchanged(setting: Setting) -> str:
    """What the victims get now, as measured; where nothing was, what the solver says of it."""
    unit = setting.inputs.unit
    solved = setting.rates_at_present()
    return clauses(
        f"{allocation.workload} stays at "
        f"{format_rate(rate if allocation.congested is None else allocation.congested.mean, unit)}"
        for allocation, rate in zip(setting.inputs.allocations, solved, strict=True)
        if allocation.workload in setting.victims
    )


def _effect(setting: Setting, policy: Policy, verb: str) -> str:
    """What the victims would get under another policy, counted as predictions are."""
    unit = setting.inputs.unit
    rates = setting.rates_enforced(policy)
    return clauses(
        f"{allocation.workload} {verb} {format_rate(rate, unit)}"
        for allocation, rate in zip(setting.inputs.allocations, rates, strict=True)
        if allocation.workload in setting.victims
    )


def confidence_in(setting: Setting, rows: Sequence[RecommendedAllocation]) -> Confidence:
    """How far the samples, the solver's account of the past, and the steadiness of rates carry."""
    need = setting.inputs.samples_needed
    summaries = [
        allocation.congested
        for allocation in setting.inputs.allocations
        if allocation.active and allocation.congested
    ]
    fewest = min(summary.sample_count for summary in summaries)
    missed = sum(abs(row.predicted_before - (row.measured or 0.0)) for row in rows)
    spread = sum(summary.p90 - summary.p50 for summary in summaries)
    parts = (
        ConfidencePart(
            name="samples",
            value=rounded(min(1.0, fewest / (2 * need))),
            how=f"{fewest} samples of the workload with the fewest, {2 * need} are plenty",
        ),
        ConfidencePart(
            name="fit",
            value=rounded(max(0.0, 1 - missed / (2 * setting.capacity))),
            how="part of the measured rates that the solver explains with the policy in force",
        ),
        ConfidencePart(
            name="steadiness",
            value=rounded(min(1.0, max(0.0, 1 - spread / setting.capacity))),
            how="1 − sum of (p90 − median) of the rates / capacity",
        ),
    )
    return Confidence(value=min(part.value for part in parts), parts=parts)
