"""The backtest of a policy as text for people."""

from __future__ import annotations

from accounts.table import table
from advisor.core.forecast.prediction_interval import Interval
from advisor.core.quantity import format_rate, significant
from advisor.queries.past_table import PastRow, PastTable

COLUMNS = ["workload", "host", "change", "rate", "expected", "throttled_min", "unmet_min",
           "p95_ms", "expected_ms"]  # fmt: skip


def past_text(past: PastTable, unit: str) -> str:
    """For each allocation what was and what would have been; a line below explains each dash."""
    if past.gap or not past.rows:
        return f"Not simulated: {past.gap or 'no workload has an allocation on it'}"
    lines = [
        f"{past.verdict} ({past.length})",
        table([_row(row, unit) for row in past.rows], COLUMNS),
    ]
    if past.justification:
        lines.append(f"Limit: {past.justification}")
    if past.latency_gap:
        lines.append(f"No latency: {past.latency_gap}")
    if past.interval_gap:
        lines.append(f"No interval: {past.interval_gap}")
    return "\n".join(lines)


def _row(row: PastRow, unit: str) -> dict[str, object]:
    past, latency = row.past, row.latency
    return {
        "workload": row.workload,
        "host": row.host,
        "change": row.change.value,
        "rate": None
        if row.rate_before is None or row.rate_after is None
        else f"{format_rate(row.rate_before, unit)} → {format_rate(row.rate_after, unit)}",
        "expected": rates_between(row.interval, unit),
        "throttled_min": past
        and f"{past.throttled_min_before:.0f} → {past.throttled_min_after:.0f}",
        "unmet_min": past and f"{past.unmet_min_before:.0f} → {past.unmet_min_after:.0f}",
        "p95_ms": None
        if latency.p95_before_ms is None or latency.p95_after_ms is None
        else f"{significant(latency.p95_before_ms)} → {significant(latency.p95_after_ms)}",
        "expected_ms": None
        if row.latency_interval is None
        else f"{significant(row.latency_interval.low)} to "
        f"{significant(row.latency_interval.high)}",
    }


def rates_between(interval: Interval | None, unit: str) -> str | None:
    """Both ends of an interval; None without one."""
    if interval is None:
        return None
    return f"{format_rate(interval.low, unit)} to {format_rate(interval.high, unit)}"
