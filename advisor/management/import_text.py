"""The report of an import, as text for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from accounts.table import table
from advisor.core.enumeration import listed
from advisor.queries.import_report import FoundIncident, FoundResource, ImportReport
from ingest.models import Import, ImportState

_LEFT_OUT = 5
"""So many reasons are shown of each file."""


def report_text(report: ImportReport) -> str:
    """The whole report."""
    return "\n".join(_lines(report))


def report_json(report: ImportReport) -> dict[str, Any]:
    """The same for programs."""
    return {
        "run": report.run.pk,
        "hosts": report.hosts,
        "since": report.since,
        "until": report.until,
        "shift_s": report.run.shift_s,
        "shift": report.shift,
        "files": [_file_json(one) for one in report.files],
        "resources": [asdict(one) for one in report.resources],
        "advice": report.advice,
    }


def _file_json(one: Import) -> dict[str, Any]:
    names = (
        "name", "format", "state", "size_bytes", "accepted", "ignored", "rejected", "too_old",
        "changed_rows", "first_at", "last_at", "hosts", "refusals", "shift_s", "problem",
    )  # fmt: skip
    return {name: getattr(one, name) for name in names}


def _lines(report: ImportReport) -> Iterator[str]:
    yield "Files"
    columns = ["file", "format", "state", "samples", "new_rows", "left_out", "why"]
    yield table([_row(one) for one in report.files], columns)
    yield from report.advice
    yield ""
    if report.since is None or report.until is None:
        yield "Nothing was stored, so there is nothing to report."
        return
    hosts = listed(report.hosts)
    yield f"Samples of {hosts} from {_at(report.since)} to {_at(report.until)}"
    if report.shift:
        yield f"{report.shift}."
    yield ""
    for one in report.congested:
        yield from _congested(one)
    if report.calm:
        yield "Not congested"
        yield from (_calm(one) for one in report.calm)
        yield ""
    if report.unjudged:
        yield "Not judged"
        yield from (f"  {one.name}: {one.gap}" for one in report.unjudged)
    if not report.resources:
        yield "No device or interface of these samples is a resource, so nothing was judged."


def _row(one: Import) -> dict[str, Any]:
    reasons = [f"{refusal['reason']} ({refusal['count']})" for refusal in one.refusals[:_LEFT_OUT]]
    if one.too_old:
        reasons.insert(0, f"too old ({one.too_old})")
    if one.problem:
        reasons.insert(0, one.problem)
    return {
        "file": one.name,
        "format": one.format or None,
        "state": ImportState(one.state).label,
        "samples": one.accepted,
        "new_rows": one.changed_rows,
        "left_out": one.left_out,
        "why": "; ".join(reasons) or None,
    }


def _congested(one: FoundResource) -> Iterator[str]:
    yield f"{one.name} was congested, worst {one.worst or 'stalled'}"
    for incident in one.incidents:
        yield from _incident(incident)
    if one.incident_count > len(one.incidents):
        yield f"  and {one.incident_count - len(one.incidents)} shorter incidents"
    yield ""


def _incident(one: FoundIncident) -> Iterator[str]:
    until = _at(one.until) if one.until else "the end of the samples"
    allowed = f", threshold {one.threshold}" if one.threshold else ""
    yield f"  {_at(one.since)} to {until}: peak {one.peak}{allowed} (incident {one.pk})"
    yield f"    By whom: {one.by_whom}"
    yield f"    At the expense of: {one.at_expense_of}"
    yield f"    Would have helped: {one.would_have_helped}"


def _calm(one: FoundResource) -> str:
    allowed = f" (threshold {one.threshold})" if one.threshold else ""
    at = f" at {_at(one.worst_at)}" if one.worst_at else ""
    return f"  {one.name}: worst {one.worst}{allowed}{at}, judged for {one.judged_for}"


def _at(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
