"""Which shape, class or word stands for a state that the product names."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from advisor.core.compliance import Verdict, control_words
from advisor.core.enumeration import listed
from advisor.core.health.checks import Condition
from advisor.core.join_checklist import CheckState
from advisor.core.standing import workload_words
from advisor.queries.hosts import AgentState
from advisor.queries.search import Hit, HitKind
from advisor.resource_kinds import registry
from enforcers.contract import Outcome
from web import formatting
from web.templatetags.shown import absent

register = template.Library()

COLOURS = 8
"""Series beyond the eighth share colours; 0 is for what belongs to none."""

_VERDICT_CLASSES = {
    Verdict.MET: "",
    Verdict.NO_DEMAND: "muted",
    Verdict.UNKNOWN: "muted",
    Verdict.OVER_THROTTLED: "state-warn",
    Verdict.LIMIT_EXCEEDED: "state-bad",
    Verdict.RESERVATION_UNMET: "state-bad",
}
_OUTCOME_CLASSES = {
    Outcome.APPLIED: "",
    Outcome.UNCHANGED: "",
    Outcome.REPLACED: "",
    Outcome.DRIFTED: "state-warn",
    Outcome.GUESSED_MODEL: "state-warn",
    Outcome.INEFFECTIVE: "state-warn",
    Outcome.UNSUPPORTED: "state-warn",
    Outcome.FAILED: "state-bad",
}
_CONDITION_CLASSES = {
    Condition.CLEAR: "",
    Condition.BEHIND: "state-warn",
    Condition.SILENT: "state-bad",
    Condition.LIMITED: "state-warn",
    Condition.LOW: "state-warn",
    Condition.FAILING: "state-bad",
    Condition.UNKNOWN: "muted",
}
_CONDITION_MARKS = {
    Condition.CLEAR: "clear",
    Condition.BEHIND: "near",
    Condition.SILENT: "congested",
    Condition.LIMITED: "near",
    Condition.LOW: "near",
    Condition.FAILING: "congested",
    Condition.UNKNOWN: "unknown",
}
_CHECK_MARKS = {
    CheckState.DONE: "clear",
    CheckState.WAITING: "proposed",
    CheckState.WRONG: "congested",
    CheckState.LIMITED: "near",
}
_CHECK_CLASSES = {CheckState.WRONG: "state-bad", CheckState.LIMITED: "state-warn"}
_AGENT_MARKS = {
    AgentState.NOT_ENROLLED: "unknown",
    AgentState.WAITING: "proposed",
    AgentState.SILENT: "near",
    AgentState.FAILING: "congested",
    AgentState.BEHIND: "near",
    AgentState.DRY_RUN: "proposed",
    AgentState.ENFORCING: "approved",
    AgentState.IDLE: "clear",
}


@register.filter
def series_place(colour: int) -> int:
    """Which of the colours stands for the series of this number."""
    return 0 if colour == 0 else (colour - 1) % COLOURS + 1


@register.simple_tag
def verdict_class(verdict: str) -> str:
    return _VERDICT_CLASSES[Verdict(verdict)]


@register.simple_tag
def outcome_class(outcome: str) -> str:
    return _OUTCOME_CLASSES[Outcome(outcome)]


register.filter("control_words", control_words)


@register.filter
def agent_mark(state: str) -> str:
    return _AGENT_MARKS[AgentState(state)]


@register.filter
def check_mark(state: str) -> str:
    return _CHECK_MARKS[CheckState(state)]


@register.simple_tag
def check_class(state: str) -> str:
    return _CHECK_CLASSES.get(CheckState(state), "")


@register.filter
def condition_class(condition: str) -> str:
    return _CONDITION_CLASSES[Condition(condition)]


@register.filter
def condition_mark(condition: str) -> str:
    return _CONDITION_MARKS[Condition(condition)]


register.filter("workload_name", workload_words)


@register.simple_tag
def workload_link(name: str, pks: dict[str, int]) -> str:
    """The workload as a link to its page, or its name alone if it is gone."""
    if name not in pks:
        return workload_words(name)
    return format_html('<a href="{}">{}</a>', reverse("workload", args=[pks[name]]), name)


@register.filter
def workload_names(names: list[str]) -> str:
    """The workloads as a sentence lists them."""
    return listed([workload_words(name) for name in names])


@register.filter
def workloads_of(rows: list[Any]) -> list[str]:
    """The workloads of rows that name one each."""
    return [row.workload for row in rows]


@register.filter
def hit_kind(kind: str) -> str:
    """What results of a search are, as a heading."""
    return registry.area_words() if kind == HitKind.RESOURCE else f"{kind}s".capitalize()


@register.simple_tag
def hit_address(hit: Hit) -> str:
    """The page of a result: each kind has one of its own name."""
    return reverse(hit.kind, args=[hit.pk])


@register.simple_tag
def control_value(value: float | None, control: str, unit: str) -> str:
    """The value of a reservation, limit or shares."""
    if value is None:
        unset = {"reservation": "nothing is reserved", "limit": "there is no limit"}
        return absent(unset.get(control, "no policy sets them"))
    return f"{value:.0f}" if control == "shares" else formatting.rate_text(value, unit)


@register.simple_tag
def setting(
    controls: dict[str, Any] | None, unit: str, reason: str = "nothing was written"
) -> SafeString:
    """The controls of an allocation as the kernel has or should have them."""
    if controls is None:
        return absent(reason)
    parts = [
        (name, str(control_value(controls[name], name, unit)))
        for name in ("reservation", "limit", "shares")
        # A reservation of 0 is none.
        if controls.get(name)
    ]
    native = controls.get("native")
    listed = format_html_join(", ", '<span class="nowrap">{} {}</span>', parts)
    if not native:
        return listed or absent("no control is set")
    return format_html('{} <br><span class="mono muted">{}</span>', listed, native)


@register.filter
def stored_time(at: str) -> datetime:
    """A time that is stored as text."""
    return datetime.fromisoformat(at)
