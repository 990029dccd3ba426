"""How many rows a page shows of a long list, and where the others are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from advisor.core.enumeration import MOST_NAMED

register = template.Library()

MOST_ROWS = 10
"""More rows would push what follows out of sight."""


@register.filter
def first_rows(rows: Sequence[Any]) -> Sequence[Any]:
    """The rows that a page shows of a list that has a page of its own."""
    return rows[:MOST_ROWS]


@register.filter
def other_rows(rows: Sequence[Any]) -> int:
    """How many rows are left out then."""
    return max(0, len(rows) - MOST_ROWS)


@register.filter
def first_names(rows: Sequence[Any]) -> Sequence[Any]:
    """The rows that a sentence names."""
    return rows[:MOST_NAMED]


@register.filter
def other_names(rows: Sequence[Any]) -> int:
    """How many rows a sentence counts instead."""
    return max(0, len(rows) - MOST_NAMED)


@register.simple_block_tag(end_name="endbox")
def box(content: SafeString, rows: int, name: str) -> SafeString:
    """Around a table: it scrolls sideways, and many rows in a box that keys reach, too."""
    if rows <= MOST_ROWS:
        return format_html('<div class="table-scroll">{}</div>', content)
    return format_html(
        '<div class="table-scroll chart-table" tabindex="0" role="region" aria-label="{}">'
        "{}</div>",
        name,
        content,
    )
