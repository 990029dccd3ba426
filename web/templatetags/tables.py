"""How a list writes its cells and its addresses."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from web import formatting
from web.drawing.sparkline import HEIGHT, WIDTH, Sparkline
from web.tables.address import TableAddress
from web.tables.column import Cell, Column, Link
from web.tables.listing import Line
from web.templatetags.shown import absent, mark, when

register = template.Library()


@register.simple_tag(takes_context=True)
def table_rows(context: dict[str, Any], lines: Sequence[Line]) -> SafeString:
    """Rows of a list: a page has hundreds of cells, and templates take long for each."""
    rows = "\n".join([_row(context, line) for line in lines])
    return mark_safe(rows)  # noqa: S308  each text is escaped where it is put in


def _row(context: dict[str, Any], line: Line) -> str:
    (_, name), *others = line.cells
    rest = "".join([f"{_td(column)}{_cell(context, cell)}</td>" for column, cell in others])
    head = f'<th scope="row">{_cell(context, name)}</th>'
    return f'<tr id="{escape(line.identity)}">{head}{rest}</tr>'


def _td(column: Column[Any]) -> str:
    label = f'<td data-label="{escape(column.title)}"'
    return f'{label} class="number">' if column.is_number else f"{label}>"


def _cell(context: dict[str, Any], cell: Cell) -> str:
    """What stands in one cell."""
    said = _said(context, cell)
    if not said:
        return absent(cell.reason)
    said += _in_span("visually-hidden", cell.hidden)
    note = _in_span("muted small", cell.note, before=" ")
    if not (cell.mark or cell.tone or cell.title):
        return said + note
    title = f' title="{escape(cell.title)}"' if cell.title else ""
    shape = mark(cell.mark) if cell.mark else ""
    return f'<span class="state {escape(cell.tone)}"{title}>{shape}{said}</span>{note}'


def _in_span(name: str, text: str, *, before: str = "") -> str:
    """The text in a span of this class; nothing for an empty one."""
    return f'{before}<span class="{name}">{escape(text)}</span>' if text else ""


def _said(context: dict[str, Any], cell: Cell) -> str:
    if cell.links:
        return ", ".join([_link(one) for one in cell.links])
    if cell.drawing:
        return _drawn(cell.drawing)
    if cell.at:
        return when(context, cell.at)
    return escape(cell.text)


def _link(link: Link) -> str:
    about = _in_span("visually-hidden", link.about, before=" ")
    return f'<a class="name" href="{escape(link.address)}">{escape(link.text)}{about}</a>'


def _drawn(drawing: Sparkline) -> str:
    y, said = drawing.level_y, escape(drawing.said)
    level = "" if y is None else f'<line class="level" x1="0" x2="{WIDTH}" y1="{y}" y2="{y}"/>'
    return (
        f'<svg class="spark" role="img" aria-label="{said}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}"><title>{said}</title>{level}'
        f'<path d="{escape(drawing.path)}"/></svg>'
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
