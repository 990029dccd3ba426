"""A report as a document for print: the worst workloads as a table, all of them as a list.

Tables cost the renderer 5 ms a row, lines of text a third of a millisecond.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from django.template.loader import render_to_string

from advisor.core.reporting.words import THIN, Line
from advisor.errors import ExportImpossible
from advisor.reports.written import WrittenReport

log = logging.getLogger(__name__)

MOST_IN_TABLE = 40
LINES_TOGETHER = 50
"""Longer texts cost the renderer more for each line."""
FIELDS = ("kept %", "asked", "missed", "lost", "limited", "incidents", "tier")
WIDTHS = (8, 9, 9, 9, 10, 11)


def printed(report: WrittenReport) -> str:
    """The HTML of the document."""
    lines = report.lines
    is_long = len(lines) > MOST_IN_TABLE
    title = f"The {MOST_IN_TABLE} workloads that missed most" if is_long else "Workloads"
    return rendered(
        "reports/print.html",
        words=report.words,
        lines=lines[:MOST_IN_TABLE],
        lines_title=title,
        listing_head=_columns(*FIELDS, "workload, on"),
        listing=_parts(lines) if is_long else [],
        count=len(lines),
    )


def _parts(lines: Sequence[Line]) -> list[str]:
    listed = list(map(_listed, lines))
    return [
        "\n".join(listed[at : at + LINES_TOGETHER]) for at in range(0, len(listed), LINES_TOGETHER)
    ]


def rendered(template: str, **context: Any) -> str:
    """What a template writes; ExportImpossible names the one that raises."""
    try:
        return render_to_string(template, context)
    except Exception as error:
        log.exception("template of a report raises", extra={"template": template})
        raise ExportImpossible(
            f"the template {template} raises {type(error).__name__}: {error}"
        ) from error


def _listed(one: Line) -> str:
    """Names stand last, so that no letter of theirs moves a column."""
    places = f", {one.places}" if one.places else ""
    line = _columns(
        one.kept, one.asked, one.missed, one.lost, one.limited, one.incidents, one.tier,
        f"{one.name}{places}",
    )  # fmt: skip
    # Fonts of one width lack the thin space.
    return line.replace(THIN, " ")


def _columns(*texts: str) -> str:
    *figures, tier, last = texts
    numbers = "".join(f"{one:>{width}}" for one, width in zip(figures, WIDTHS, strict=True))
    return f"{numbers}  {tier:<7} {last}"
