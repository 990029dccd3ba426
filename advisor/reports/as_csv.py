"""A report for a spreadsheet: a line for each workload."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

from advisor.core.reporting.report import Report, ReportedWorkload

COLUMNS = (
    "workload", "tier", "resources", "promise_kept", "asked_min", "kept_min", "throttled_min",
    "lost_min", "measured_min", "incidents", "gap",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a text that begins with these for a formula."""


def row_of(line: ReportedWorkload) -> dict[str, Any]:
    """A workload by the names of columns."""
    ratio = line.minutes.kept_ratio
    return {
        "workload": line.name,
        "tier": line.tier,
        "resources": ", ".join(line.resources),
        "promise_kept": None if ratio is None else round(ratio, 4),
        "asked_min": line.minutes.asked,
        "kept_min": line.minutes.kept,
        "throttled_min": line.minutes.throttled,
        "lost_min": round(line.lost_min, 1),
        "measured_min": line.minutes.measured,
        "incidents": line.incidents,
        "gap": line.gap,
    }


def csv_of(report: Report) -> str:
    """All workloads."""
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS)
    writer.writeheader()
    for line in report.workloads:
        writer.writerow({key: _cell(value) for key, value in row_of(line).items()})
    return out.getvalue()


def file_name(report: Report) -> str:
    """What a file with it is called but for its ending; letters that every system takes."""
    days = f"{report.period.first}"
    if report.period.last != report.period.first:
        days += f"-to-{report.period.last}"
    return f"sluice-report-{days}"


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
