"""A square per workload, as links that arrow keys walk through."""

from __future__ import annotations

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from advisor.queries.workload_map import Condition, Square
from web.row_address import row_address

WORDS = {
    Condition.NOISY: "noisy neighbour",
    Condition.SLOWED: "slowed",
    Condition.CONGESTED: "on something congested",
    Condition.NEAR: "near a threshold",
    Condition.CLEAR: "clear",
    Condition.UNKNOWN: "unknown",
}


def drawn_squares(squares: tuple[Square, ...], query: str = "") -> SafeString:
    """The links; Tab reaches the first alone, so that a fleet takes one key to pass.

    `query` is the time at which one looks, for the pages that they lead to.
    """
    ending = f"?{query}" if query else ""
    return format_html_join(
        "",
        '<a class="square square-{}" data-drawer href="{}" title="{}: {}"{}></a>',
        (
            (
                one.condition.value,
                row_address("workload", one.pk) + ending,
                one.name,
                WORDS[one.condition],
                SafeString(' tabindex="-1"' if place else ""),
            )
            for place, one in enumerate(squares)
        ),
    )
