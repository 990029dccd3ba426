"""How the last day of resources is written: one row of bars each."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from advisor.queries.heat import COLUMNS
from advisor.queries.resources import ResourceLine
from web.drawing.heat import HEIGHT, THRESHOLD_Y, HeatRow
from web.row_address import row_address
from web.templatetags.shown import level, mark

register = template.Library()


@register.simple_tag
def heat_rows(rows: Sequence[HeatRow], query: str = "") -> SafeString:
    """A row for each resource: a template takes long for so many.

    `query` is the time that somebody chose, with which the resources are opened.
    """
    drawn = "\n".join([_row(row, escape(query)) for row in rows])
    return mark_safe(drawn)  # noqa: S308  each text is escaped where it is put in


def _row(row: HeatRow, query: str) -> str:
    line, name = row.line, escape(row.line.name)
    address = escape(row_address("resource", line.pk))
    at = f"?{query}" if query else ""
    return (
        f'<div class="heat-row"><a class="heat-name" href="{address}{at}" title="{name}">'
        f"{mark(line.shown_state)}{name}</a> "
        f'<a class="heat-cell" href="{address}{at or "?range=24h"}" tabindex="-1"'
        f' aria-hidden="true">{_strip(row, name)}</a>'
        f' <span class="heat-now">{_now(line)}</span></div>'
    )


def _strip(row: HeatRow, name: str) -> str:
    paths = "".join(
        [f'<path class="{escape(one)}" d="{escape(path)}"/>' for one, path in row.paths]
    )
    return (
        f'<svg class="heat-strip" viewBox="0 0 {COLUMNS} {HEIGHT}" preserveAspectRatio="none"'
        f' shape-rendering="crispEdges" data-heat data-name="{name}"'
        f' data-unit="{escape(row.line.level.unit)}" data-since="{row.since_s}"'
        f' data-values="{escape(row.values)}">'
        f'<rect class="ground" width="{COLUMNS}" height="{HEIGHT}"/>{paths}{_chosen(row)}'
        f'<line class="line" x1="0" x2="{COLUMNS}" y1="{THRESHOLD_Y}" y2="{THRESHOLD_Y}"/></svg>'
    )


def _chosen(row: HeatRow) -> str:
    """The time that somebody chose."""
    if row.chosen is None:
        return ""
    first, width = row.chosen
    return f'<rect class="chosen" x="{first}" width="{width}" height="{HEIGHT}"/>'


def _now(line: ResourceLine) -> str:
    """The newest level beside its threshold."""
    if line.shown_state == "stalled":
        return f'<span class="state-stalled" title="{escape(line.reason)}">stalled</span>'
    value = level(line.value, line.kind, line.reason or "nothing was measured")
    threshold = level(
        line.threshold, line.kind, "no threshold yet: the baseline is still being learned"
    )
    return (
        f'{conditional_escape(value)} <span class="muted">/ {conditional_escape(threshold)}</span>'
    )
