"""How the rows of a what-if are written: a template takes long for each of a thousand cells.

Names, and what people typed, are escaped here; numbers are written by the product.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from advisor.core.forecast.backtest import Change
from advisor.core.forecast.what_if import WhatIfRow
from web.drawing.bars import WhatIfBar
from web.formatting import Scale
from web.what_if_form import AllocationFields, Field, TierFields

register = template.Library()

_BAR = """\
<div class="who">{workload}<br><span class="muted small">{host}</span></div>
<div class="tracks"><svg viewBox="0 0 1000 24" preserveAspectRatio="none" role="img"\
 aria-label="{workload}: now {now}, then {then} {unit}">\
<rect class="before" x="0" y="1" width="{now_width}" height="10"/>\
<rect class="after" x="0" y="13" width="{then_width}" height="10"/></svg></div>
<div class="figure">{now} <span class="muted">→</span> <strong>{then}</strong><br>\
<span class="small {tone}">{change}</span></div>"""
_ENTITLEMENT = """\
<tr><th scope="row"><span class="name">{workload}</span></th>\
<td data-label="Host" class="whole"><span class="name">{host}</span></td>\
<td data-label="Now, {unit}" class="number">{now}</td>\
<td data-label="Then, {unit}" class="number"><strong>{then}</strong></td></tr>"""
_CONTROLS = """\
<tr>
<th scope="row"><span class="name">{workload}</span></th>
<td class="whole" data-label="Host"><span class="name">{host}</span></td>
<td data-label="Tier">{tier}</td>
{cells}
</tr>"""
_TIER = """\
<tr>
<th scope="row">{tier}</th>
<td class="number" data-label="Workloads">{count}</td>
{cell}
</tr>"""
_CONTROL = """\
<td class="whole" data-label="{title}">
<label class="visually-hidden" for="{name}">{label}</label>
{field}
<label class="visually-hidden" for="{name}-slider">{label}, slider</label>
<input id="{name}-slider" type="range" min="0" max="{most}" step="{step}" value="{slider}"\
 data-slides="{name}" data-unit="{unit}" hidden>
</td>"""
_FIELD = """\
<input id="{name}" name="{name}" type="number" min="0" step="any" inputmode="decimal"\
 value="{text}" data-proposed="{proposed}" placeholder="{hint}"{tier}{wrong}>"""
_WRONG = ' aria-invalid="true" aria-describedby="what-if-errors"'


@register.simple_tag
def bar_rows(bars: Sequence[WhatIfBar], scale: Scale) -> SafeString:
    """What each allocation gets now and then, as bars and numbers."""
    unit = escape(scale.label)
    return _joined(
        _BAR.format(
            workload=escape(bar.row.workload),
            host=escape(bar.row.host),
            unit=unit,
            now=scale.text(bar.row.now),
            then=scale.text(bar.row.then),
            now_width=bar.now_width,
            then_width=bar.then_width,
            tone="state-near" if bar.row.change is Change.LOSES else "muted",
            change=bar.row.change,
        )
        for bar in bars
    )


@register.simple_tag
def entitlement_rows(rows: Sequence[WhatIfRow], scale: Scale) -> SafeString:
    """A row of the table of entitlements for each allocation."""
    unit = escape(scale.label)
    return _joined(
        _ENTITLEMENT.format(
            workload=escape(row.workload),
            host=escape(row.host),
            unit=unit,
            now=scale.text(row.entitlement_before),
            then=scale.text(row.entitlement_after),
        )
        for row in rows
    )


@register.simple_tag
def control_rows(rows: Sequence[AllocationFields], scale: Scale) -> SafeString:
    """A row of the form for each allocation."""
    unit = escape(scale.label)
    heads = (("Shares", ""), (f"Reservation, {unit}", unit), (f"Limit, {unit}", unit))
    return _joined(
        _CONTROLS.format(
            workload=escape(row.allocation.workload.name),
            host=escape(row.allocation.host.name),
            tier=escape(row.allocation.workload.tier),
            cells="\n".join(
                _control(control, title, own_unit)
                for control, (title, own_unit) in zip(row.controls, heads, strict=True)
            ),
        )
        for row in rows
    )


@register.simple_tag
def tier_rows(tiers: Sequence[TierFields]) -> SafeString:
    """A row of the form for each tier."""
    return _joined(
        _TIER.format(
            tier=escape(one.tier), count=one.count, cell=_control(one.shares, "Shares", "")
        )
        for one in tiers
    )


def _control(control: Field, title: str, unit: str) -> str:
    return _CONTROL.format(
        title=title,
        name=escape(control.name),
        label=escape(control.label),
        field=number_field(control),
        most=escape(control.most),
        step=escape(control.step),
        slider=escape(control.slider),
        unit=unit,
    )


@register.simple_tag
def number_field(field: Field) -> SafeString:
    """The input of one number."""
    html = _FIELD.format(
        name=escape(field.name),
        text=escape(field.text),
        proposed=escape(field.proposed),
        hint=escape(field.hint),
        tier=f' data-tier="{escape(field.tier)}"' if field.tier else "",
        wrong=_WRONG if field.error else "",
    )
    return mark_safe(html)  # noqa: S308  # all that may come from people is escaped above


def _joined(rows: Iterable[str]) -> SafeString:
    return mark_safe("\n".join(rows))  # noqa: S308  # each row escapes what is not written here
