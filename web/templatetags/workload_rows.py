"""How tables and bars of all workloads of a resource are written.

A template takes long for each of a thousand cells. Names and reasons are escaped here; numbers are
written by the product.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from advisor.advice.policy.decide.policy_answer import Recommendation as PolicyAnswer
from advisor.advice.what_if.decide.what_if_draft import PolicyDraft
from advisor.core.attribution.attribution import Suspect
from advisor.core.attribution.measure import Measure
from advisor.core.attribution.rise import NoRise, RisePart
from advisor.core.dependence import Dependence
from advisor.core.quantity import significant
from advisor.core.standing import workload_words
from advisor.queries.allocations import AllocationLine
from advisor.queries.recommendations import Change, Effect, RecommendationDetail
from web.drawing.bars import BarPair
from web.formatting import Scale
from web.row_address import row_address
from web.templatetags.named import control_value, verdict_class
from web.templatetags.shown import (
    absent,
    mark,
    number,
    number_text,
    percent,
    text_or_absent,
    words,
)

register = template.Library()

_ALLOCATION = """\
<tr id="allocation-{host_pk}-{colour}">
<th scope="row" class="nowrap"><span class="series-mark" data-series="{workload}"\
 aria-hidden="true"></span><a class="name" href="{address}">{workload}</a></th>
<td class="whole" data-label="Host"><span class="name"><a href="{host_address}">{host}</a></span>\
</td>
<td data-label="Tier">{tier}</td>
<td data-label="Shares" class="number">{shares}</td>
<td data-label="Reservation, {unit}" class="number">{reservation}</td>
<td data-label="Limit, {unit}" class="number">{limit}</td>
<td data-label="Entitled, {unit}" class="number">{entitled}</td>
<td data-label="Actual, {unit}" class="number"><strong>{got}</strong></td>
<td class="whole" data-label="In this incident">{role}</td>
<td class="whole" data-label="Verdict">{verdict}</td>
</tr>"""
_CHANGE = """\
<tr><th scope="row"><span class="name">{workload}</span><br><span class="name muted">{host}</span>\
</th><td data-label="Control">{control}</td><td data-label="Now" class="number">{before}</td>\
<td data-label="After" class="number"><strong>{after}</strong></td></tr>"""
_FORMULA = """\
<tr><th scope="row"><span class="name">{workload}</span></th>\
<td class="whole" data-label="Host"><span class="name">{host}</span></td>\
<td data-label="Shares" class="number">{shares}</td>\
<td data-label="Reservation, {unit}" class="number">{reservation}</td>\
<td data-label="Limit, {unit}" class="number">{limit}</td>\
<td data-label="Demand, {unit}" class="number">{demand}</td>\
<td data-label="Measured, {unit}" class="number">{measured}</td>\
<td data-label="Entitled, {unit}" class="number">{entitled}</td></tr>"""
_BAR = """\
<div class="who">{workload}<br><span class="muted small">{host}</span></div>
<div class="tracks">
<svg viewBox="0 0 1000 36" preserveAspectRatio="none" role="img"\
 aria-label="{workload}: before {before_text}, after {after_text} {unit}">{lines}</svg>
</div>
<div class="figure">{before} <span class="muted">→</span> <strong>{after}</strong>{since}</div>\
{expected}"""
_SUSPECT = """\
<tr title="{reason}">
<th scope="row"><span class="name">{workload}</span></th>
<td data-label="Score" class="number"><strong>{score}</strong></td>
<td data-label="Share" class="number">{part}</td>\
<td data-label="Fair share" class="number">{fair}</td>
<td data-label="Part of the rise" class="number whole">{rise}</td>
<td data-label="Correlation" class="number whole">{correlation}</td>
<td class="whole" data-label="While active">{active}</td>
<td data-label="Aggressor">{aggressor}</td>
</tr>"""
_HUNDREDTH = Decimal("0.01")
_NO_RESERVATION, _NO_LIMIT = "nothing is reserved", "there is no limit"


@register.simple_tag
def allocation_rows(lines: Sequence[AllocationLine], scale: Scale) -> SafeString:
    """A row per allocation of a resource: what it is promised, and what it gets."""
    unit = escape(scale.label)
    return _joined(
        _ALLOCATION.format(
            host_pk=line.host_pk,
            colour=line.colour,
            workload=escape(line.workload),
            address=row_address("workload", line.workload_pk),
            host=escape(line.host),
            host_address=row_address("host", line.host_pk),
            tier=escape(line.tier),
            shares=line.shares,
            unit=unit,
            reservation=number(line.reservation or None, scale, _NO_RESERVATION),
            limit=number(line.limit, scale, _NO_LIMIT),
            entitled=number(line.entitlement, scale, line.verdict_reason),
            got=number(line.got, scale, "no samples of its adapter in the last two minutes"),
            role=_role(line),
            verdict=_verdict(line),
        )
        for line in lines
    )


def _role(line: AllocationLine) -> str:
    if not line.role:
        return ""
    tone = "state-congested" if line.role.startswith("uses") else "state-near"
    return f'<span class="{tone}">{escape(line.role)}</span>'


def _verdict(line: AllocationLine) -> str:
    if not line.verdict:
        return text_or_absent("", line.verdict_reason)
    tone, title = verdict_class(line.verdict), escape(line.verdict_reason)
    return f'<span class="state {tone}" title="{title}">{escape(words(line.verdict))}</span>'


@register.simple_tag
def change_rows(changes: Sequence[Change], unit: str) -> SafeString:
    """A row per setting that a policy changes."""
    return _joined(
        _CHANGE.format(
            workload=escape(change.workload),
            host=escape(change.host),
            control=escape(change.control),
            before=control_value(change.before, change.control, unit),
            after=control_value(change.after, change.control, unit),
        )
        for change in changes
    )


@register.simple_tag
def formula_rows(answer: PolicyAnswer | PolicyDraft, scale: Scale) -> SafeString:
    """A row per allocation with what its entitlement was computed from."""
    unit = escape(scale.label)
    return _joined(
        _FORMULA.format(
            workload=escape(item.workload),
            host=escape(item.host),
            shares=item.shares,
            unit=unit,
            reservation=number(item.reservation or None, scale, _NO_RESERVATION),
            limit=number(item.limit, scale, _NO_LIMIT),
            demand=number(item.demand, scale, "held back by contention: it may want anything"),
            measured=number(item.measured, scale),
            entitled=number(item.entitlement, scale),
        )
        for item in answer.allocations
    )


@register.simple_tag
def policy_bar_rows(
    bars: Sequence[BarPair], detail: RecommendationDetail, scale: Scale
) -> SafeString:
    """What each workload got, and would get or gets under a policy, as bars and numbers."""
    unit, is_policy = escape(scale.label), detail.policy is not None
    return _joined(
        _BAR.format(
            workload=escape(bar.effect.workload),
            host=escape(bar.effect.host),
            unit=unit,
            before_text=number_text(bar.effect.before, scale),
            before=number(bar.effect.before, scale, "it was not measured in the incident"),
            after_text=number_text(bar.effect.after, scale),
            after=number(bar.effect.after, scale, "suspected, not proposed"),
            lines=_lines(bar, depth=36 if is_policy else 24),
            expected=_expected(bar.effect, scale),
            since=_since(bar, scale) if is_policy else "",
        )
        for bar in bars
    )


def _lines(bar: BarPair, *, depth: int) -> str:
    """The bars of a pair, and the line of its promise down to this depth."""
    parts = [
        f'<rect class="{name}" x="0" y="{y}" width="{width}" height="10"/>'
        for name, y, width in (
            ("before", 1, bar.before),
            ("after", 13, bar.after),
            ("since", 25, bar.measured_since),
        )
        if width is not None
    ]
    if bar.promise is not None:
        at = f'x1="{bar.promise}" x2="{bar.promise}"'
        parts.append(f'<line class="promise" {at} y1="0" y2="{depth}"/>')
    return "".join(parts)


def _expected(effect: Effect, scale: Scale) -> str:
    """Where the rate and the latency are expected, and why they are only suspected."""
    told = []
    if effect.interval is not None:
        low, high = (
            number_text(one, scale) for one in (effect.interval.low, effect.interval.high)
        )
        told.append(f"{percent(effect.interval.level)} between {low} and {high}")
    if effect.unsure:
        told = [f"suspected: {'; '.join([*told, escape(effect.unsure)])}"]
    if effect.latency_interval is not None and not effect.unsure:
        low, high = (
            significant(one, 2)
            for one in (effect.latency_interval.low, effect.latency_interval.high)
        )
        told.append(
            f"I/O takes {significant(effect.latency_now_ms or 0.0, 2)} ms now, "
            f"{percent(effect.latency_interval.level)} between {low} and {high}&nbsp;ms"
        )
    return f'<div class="told muted small">{"; ".join(told)}</div>' if told else ""


def _since(bar: BarPair, scale: Scale) -> str:
    since = number(bar.effect.measured_since, scale, "no agent has reported yet")
    verdict = f", {escape(words(bar.effect.verdict))}" if bar.effect.verdict else ""
    return f'<br><span class="small muted">since: {since}{verdict}</span>'


@register.simple_tag
def suspect_rows(
    suspects: Sequence[Suspect], measure: Measure, keys: dict[str, int]
) -> SafeString:
    """A row per suspect of an incident; `keys` are those of the workloads that have a page."""
    aggressor = f'<span class="state state-congested">{mark("congested")}yes</span>'
    return _joined(
        _SUSPECT.format(
            reason=escape(one.reason),
            workload=_named(one.workload, keys),
            score=_hundredths(one.score),
            part=percent(one.part_ratio),
            fair=percent(one.fair_ratio),
            rise=_rise(one.rise),
            correlation=_correlation(one.dependence),
            active=_while_active(one, measure),
            aggressor=aggressor if one.is_aggressor else "no",
        )
        for one in suspects
    )


def _named(workload: str, keys: dict[str, int]) -> str:
    name = escape(workload_words(workload))
    if workload not in keys:
        return name
    return f'<a href="{row_address("workload", keys[workload])}">{name}</a>'


def _rise(found: RisePart | NoRise) -> str:
    if isinstance(found, NoRise):
        return absent(found.reason)
    low, high = percent(found.low), percent(found.high)
    return f'{percent(found.ratio)} <span class="muted small">({low} to {high})</span>'


def _correlation(found: Dependence | None) -> str:
    if found is None:
        return absent("too few windows, or nothing varied")
    low, high = _hundredths(found.low), _hundredths(found.high)
    correlation = _hundredths(found.correlation)
    return f'{correlation} <span class="muted small">({low} to {high})</span>'


def _hundredths(value: float) -> str:
    """With two decimals, halves up, as templates write it; nothing is below zero by a sign."""
    found = Decimal(repr(value)).quantize(_HUNDREDTH, ROUND_HALF_UP)
    return str(found or abs(found))


def _while_active(one: Suspect, measure: Measure) -> str:
    if one.experiment is None:
        return text_or_absent("", one.experiment_gap)
    return f"{escape(measure.shifted(one.experiment.shift))} ({one.experiment.on_windows} windows)"


def _joined(rows: Iterable[str]) -> SafeString:
    return mark_safe("\n".join(rows))  # noqa: S308  # each row escapes what is not written here
