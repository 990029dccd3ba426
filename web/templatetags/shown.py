"""How templates write numbers, times and states; a missing value carries its reason."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from advisor.core.canonical import from_plain
from advisor.core.duration import duration_text
from advisor.core.enumeration import listed
from advisor.core.explanation.answer import Confidence
from advisor.core.pools import PoolTerms, pool_terms_text
from advisor.core.quantity import written_rate
from advisor.models import Resource
from advisor.resource_kinds import registry
from web import formatting

register = template.Library()


@lru_cache(maxsize=1024)
def absent(reason: str) -> SafeString:
    """An en dash that tells its reason on hover and to screen readers."""
    return format_html(
        '<span class="absent" title="{}"><span aria-hidden="true">{}</span>'
        '<span class="visually-hidden">no value: {}</span></span>',
        reason,
        formatting.EN_DASH,
        reason,
    )


@register.simple_tag
def number(
    value: float | None, scale: formatting.Scale, reason: str = "nothing was measured"
) -> str:
    """The number alone; its unit stands in the column head."""
    return absent(reason) if value is None else scale.text(value)


@register.simple_tag
def rate(value: float | None, unit: str, reason: str = "nothing was measured") -> str:
    """A rate of a resource with the unit that fits it."""
    return absent(reason) if value is None else formatting.rate_text(value, unit)


@register.simple_tag
def stated_level(resource: Resource) -> str:
    """The threshold that is stated of a resource, as its field takes it."""
    value = resource.threshold
    return f"{100 * value if resource.traits.level.unit == '%' else value:.9g}"


@register.simple_tag
def seconds(length_s: float) -> str:
    """A length of time for people."""
    return duration_text(timedelta(seconds=length_s))


@register.simple_tag
def minutes_of(length_s: float) -> str:
    """A length of time in minutes, as people write it into a field."""
    return f"{length_s / 60:.9g}"


@register.simple_tag
def written(value: float | None, unit: str) -> str:
    """A rate as people write it into a field; empty without one."""
    return written_rate(value, unit)


@register.simple_tag
def pool_terms(pool: dict[str, Any], unit: str) -> str:
    """The terms of a pool of a policy version."""
    return pool_terms_text(from_plain(PoolTerms, pool), unit)


@register.simple_tag
def level(value: float | None, kind: str, reason: str = "nothing was measured") -> str:
    """What is compared with a threshold, as its kind writes it: latency in ms, load in percent."""
    return absent(reason) if value is None else formatting.level_scale(kind).with_unit(value)


@register.simple_tag
def level_number(value: float | None, kind: str, reason: str = "nothing was measured") -> str:
    """The same without its unit, for a column that mixes resources of one kind."""
    return absent(reason) if value is None else formatting.level_scale(kind).text(value)


@register.simple_tag
def percent(ratio: float | None, reason: str = "nothing was measured") -> str:
    """A part of a whole, in whole percent: more digits would feign precision."""
    if ratio is None:
        return absent(reason)
    return f"{ratio * 100:z.0f}\N{NO-BREAK SPACE}%"


@register.simple_tag
def percent_number(ratio: float | None, reason: str = "nothing was measured") -> str:
    """The same without its unit, for a column."""
    return absent(reason) if ratio is None else f"{ratio * 100:z.0f}"


@register.simple_tag
def minutes(value: float | None, reason: str = "nothing was measured") -> str:
    """Whole minutes for a column, from 1 on; less is told as such."""
    if value is None:
        return absent(reason)
    return "< 1" if 0 < value < 1 else f"{value:.0f}"


@register.simple_tag
def number_text(value: float | None, scale: formatting.Scale) -> str:
    """The number for a label that can hold no markup."""
    return "not measured" if value is None else scale.text(value)


@register.simple_tag
def text_or_absent(value: Any, reason: str) -> str:
    """The text, or an en dash with the reason why there is none."""
    return absent(reason) if value in (None, "") else str(value)


@register.simple_tag(takes_context=True)
def when(context: dict[str, Any], at: datetime | None, reason: str = "not yet") -> str:
    """A time relative to now, with the full time on hover."""
    if at is None:
        return absent(reason)
    return format_html(
        '<time data-ago datetime="{}" title="{}">{}</time>',
        at.isoformat(timespec="seconds"),
        formatting.absolute_text(at),
        formatting.relative_text(at, context["now"]),
    )


@register.simple_tag
def clock(at: datetime, form: str = "%H:%M") -> str:
    """A time of day in UTC, with the full time on hover; a script writes the person's zone."""
    return format_html(
        '<time data-clock="{}" datetime="{}" title="{}">{}</time>',
        form,
        at.isoformat(timespec="seconds"),
        formatting.absolute_text(at),
        at.strftime(form),
    )


@register.simple_tag
def utc() -> SafeString:
    """The zone of the clock before it; scripts write the person's."""
    return mark_safe("<span data-zone>UTC</span>")


@register.simple_tag(takes_context=True)
def lasting(context: dict[str, Any], since: datetime | None, until: datetime | None = None) -> str:
    """How long something lasts or lasted, with its beginning on hover."""
    if since is None:
        return absent("the beginning is not known")
    return format_html(
        '<time datetime="{}" title="since {}">{}</time>',
        since.isoformat(timespec="seconds"),
        formatting.absolute_text(since),
        duration_text((until or context["now"]) - since),
    )


@register.simple_tag
@lru_cache(maxsize=64)
def mark(state: str) -> SafeString:
    """The shape of a state; the word beside it says the same to those who cannot see it."""
    return format_html('<span class="mark mark-{}" aria-hidden="true"></span>', state)


@register.simple_tag
def resource_areas() -> str:
    """What all kinds of resource are about, as a heading."""
    return registry.area_words()


@register.filter
def words(name: str) -> str:
    """A name of the code as words: `over_throttled` is `over throttled`."""
    return str(name).replace("_", " ")


@register.filter
def limited_by(confidence: Confidence) -> str:
    """The weakest part of a confidence; empty if no part lowers it."""
    weakest = min(confidence.parts, key=lambda part: part.value, default=None)
    return weakest.name if weakest is not None and weakest.value < 1 else ""


@register.filter
def joined(names: list[str]) -> str:
    """Names as a sentence lists them."""
    return listed([str(name) for name in names])
