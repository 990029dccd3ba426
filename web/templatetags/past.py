"""How the backtest of a policy is written: many numbers of many allocations."""

from __future__ import annotations

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from advisor.core.forecast.backtest import Change, WorkloadBacktest
from advisor.core.forecast.prediction_interval import Interval
from advisor.queries.past_table import PastRow, PastTable
from web.formatting import MILLISECONDS, Scale
from web.templatetags.shown import absent, minutes, number

register = template.Library()

NO_SAMPLES = "no samples were stored"
_NEAR = ' class="state-near"'
_ROW = """<tr>
<th scope="row"><span class="name">{workload}</span></th>\
<td class="whole" data-label="Host"><span class="name">{host}</span></td>\
<td data-label="Change"{tone}>{change}</td>
<td data-label="Got before, {unit}" class="number">{got_before}</td>\
<td data-label="Got after, {unit}" class="number"><strong>{got_after}</strong></td>
<td data-label="Got expected, {unit}" class="number nowrap">{got_expected}</td>
<td data-label="Throttled before, min" class="number">{throttled_before}</td>\
<td data-label="Throttled after, min" class="number"><strong>{throttled_after}</strong></td>
<td data-label="Unmet before, min" class="number">{unmet_before}</td>\
<td data-label="Unmet after, min" class="number"><strong>{unmet_after}</strong></td>
<td data-label="p95 latency before, ms" class="number">{p95_before}</td>\
<td data-label="p95 latency after, ms" class="number"><strong>{p95_after}</strong></td>
<td data-label="p95 latency expected, ms" class="number nowrap">{p95_expected}</td>
</tr>"""


@register.simple_tag
def past_rows(past: PastTable, scale: Scale) -> SafeString:
    """A row per allocation: a template takes long for each of a thousand cells."""
    unit = escape(scale.label)
    rows = "\n".join(_row(row, scale, unit) for row in past.rows)
    return mark_safe(rows)  # noqa: S308  # each row escapes what is not written here


def _row(row: PastRow, scale: Scale, unit: str) -> str:
    """Names are escaped, and the reasons why a number is missing: all else is written here."""
    latency = row.latency
    return _ROW.format(
        workload=escape(row.workload),
        host=escape(row.host),
        tone=_NEAR if row.change is Change.LOSES else "",
        change=row.change,
        unit=unit,
        got_before=number(row.rate_before, scale, NO_SAMPLES),
        got_after=number(row.rate_after, scale, NO_SAMPLES),
        got_expected=_expected(row.interval, scale, row.interval_gap),
        throttled_before=_minutes(row.past, "throttled_min_before"),
        throttled_after=_minutes(row.past, "throttled_min_after"),
        unmet_before=_minutes(row.past, "unmet_min_before"),
        unmet_after=_minutes(row.past, "unmet_min_after"),
        p95_before=number(latency.p95_before_ms, MILLISECONDS, latency.gap),
        p95_after=number(latency.p95_after_ms, MILLISECONDS, latency.gap),
        p95_expected=_expected(
            row.latency_interval, MILLISECONDS, latency.gap or row.interval_gap
        ),
    )


def _minutes(past: WorkloadBacktest | None, name: str) -> str:
    return minutes(None if past is None else getattr(past, name), NO_SAMPLES)


def _expected(interval: Interval | None, scale: Scale, gap: str) -> str:
    if interval is None:
        return absent(gap)
    return f"{scale.text(interval.low)} to {scale.text(interval.high)}"
