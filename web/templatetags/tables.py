"""How a list writes its cells and its addresses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from django import template
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from web import formatting
from web.drawing.sparkline import HEIGHT, WIDTH, Sparkline
from web.tables.address import TableAddress
from web.tables.column import Cell, Column, Link
from web.tables.listing import Line
from web.templatetags.shown import absent, mark, when

register = template.Library()

_NOTHING = mark_safe("")


@register.simple_tag(takes_context=True)
def table_rows(context: dict[str, Any], lines: Sequence[Line]) -> SafeString:
    """Rows of a list: a page has hundreds of cells, and templates take long for each."""
    return format_html_join("\n", "{}", ((_row(context, line),) for line in lines))


def _row(context: dict[str, Any], line: Line) -> SafeString:
    (_, name), *others = line.cells
    rest = format_html_join(
        "", "{}{}</td>", ((_td(column), _cell(context, cell)) for column, cell in others)
    )
    return format_html(
        '<tr id="{}"><th scope="row">{}</th>{}</tr>', line.identity, _cell(context, name), rest
    )


def _td(column: Column[Any]) -> SafeString:
    return _cell_begin(column.title, is_number=column.is_number)


@lru_cache(maxsize=256)
def _cell_begin(title: str, *, is_number: bool) -> SafeString:
    form = '<td data-label="{}" class="number">' if is_number else '<td data-label="{}">'
    return format_html(form, title)


def _cell(context: dict[str, Any], cell: Cell) -> SafeString:
    """What stands in one cell."""
    said = _said(context, cell)
    if said is None:
        return absent(cell.reason)
    if not (cell.mark or cell.tone or cell.title or cell.note or cell.hidden):
        return conditional_escape(said)
    note = _in_span("muted small", cell.note, before=" ")
    hidden = _in_span("visually-hidden", cell.hidden)
    if not (cell.mark or cell.tone or cell.title):
        return format_html("{}{}{}", said, hidden, note)
    return format_html(
        '<span class="state {}"{}>{}{}{}</span>{}',
        cell.tone,
        format_html(' title="{}"', cell.title) if cell.title else _NOTHING,
        mark(cell.mark) if cell.mark else _NOTHING,
        said,
        hidden,
        note,
    )


def _in_span(name: str, text: str, *, before: str = "") -> SafeString:
    """The text in a span of this class; nothing for an empty one."""
    if not text:
        return _NOTHING
    return format_html('{}<span class="{}">{}</span>', before, name, text)


def _said(context: dict[str, Any], cell: Cell) -> SafeString | str | None:
    if cell.links:
        first, *others = cell.links
        if not others:
            return _link(first)
        return format_html_join(", ", "{}", ((_link(one),) for one in cell.links))
    if cell.drawing:
        return _drawn(cell.drawing)
    if cell.at:
        return when(context, cell.at)
    return cell.text or None


def _link(link: Link) -> SafeString:
    about = _in_span("visually-hidden", link.about, before=" ")
    return format_html('<a class="name" href="{}">{}{}</a>', link.address, link.text, about)


def _drawn(drawing: Sparkline) -> SafeString:
    level = (
        format_html(
            '<line class="level" x1="0" x2="{}" y1="{}" y2="{}"/>',
            WIDTH,
            drawing.level_y,
            drawing.level_y,
        )
        if drawing.level_y is not None
        else _NOTHING
    )
    return format_html(
        '<svg class="spark" role="img" aria-label="{said}" viewBox="0 0 {width} {height}" '
        'width="{width}" height="{height}"><title>{said}</title>{level}<path d="{path}"/></svg>',
        said=drawing.said,
        width=WIDTH,
        height=HEIGHT,
        level=level,
        path=drawing.path,
    )


@register.simple_tag
def table_fields(address: TableAddress, *without: str) -> SafeString:
    """The address as hidden fields of a form that itself has the fields named in `without`."""
    return format_html_join(
        "",
        '<input type="hidden" name="{}" value="{}">',
        [pair for pair in address.pairs() if pair[0] not in without],
    )


@register.filter
def rows_text(count: int) -> str:
    """A number of rows as people read it."""
    return formatting.grouped(str(count))
