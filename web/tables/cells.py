"""Cells that several lists have: hosts, states, ages, rates and the last day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from advisor.core.enumeration import MOST_NAMED
from advisor.core.freshness import evaluation_gap, sample_gap
from advisor.queries.resources import ResourceLine
from advisor.queries.tables import HostName
from web.drawing.sparkline import sparkline
from web.formatting import level_scale, rate_scale, rate_text
from web.row_address import row_address
from web.tables.column import Cell, Link

STATES = ("stalled", "congested", "near", "clear", "unknown")
TIERS = ("high", "medium", "low")


def hosts_cell(hosts: Sequence[HostName]) -> Cell:
    """Three hosts and how many more there are."""
    more = len(hosts) - MOST_NAMED
    return Cell(
        links=tuple(
            Link(text=host.name, address=row_address("host", host.pk))
            for host in hosts[:MOST_NAMED]
        ),
        note=f"+{more} more" if more > 0 else "",
        title=", ".join(host.name for host in hosts) if more > 0 else "",
        reason="no host reaches it",
    )


def state_cell(line: ResourceLine) -> Cell:
    """The state of a resource; one that is stale says for how long nobody has looked."""
    return Cell(
        text=line.shown_state,
        mark=line.shown_state,
        tone=f"state-{line.shown_state}",
        note=line.reason if line.is_stale else "",
        title=line.reason,
    )


def state_order(line: ResourceLine) -> float:
    """Those that need attention first."""
    return float(STATES.index(line.shown_state))


def sample_cell(at: datetime | None, *, now: datetime) -> Cell:
    """When the newest sample came; what is too old says so."""
    gap = sample_gap(at, now=now)
    if at is None:
        return Cell(reason=gap, mark="near")
    return Cell(at=at, tone="state-warn" if gap else "", note=gap)


def evaluated_cell(line: ResourceLine, *, now: datetime) -> Cell:
    """When somebody last looked at the resource."""
    gap = evaluation_gap(line.looked_at, now=now)
    return Cell(at=line.looked_at, reason=gap, tone="state-warn" if gap else "")


def rate_cell(rate: float | None, unit: str, reason: str) -> Cell:
    return Cell(text="" if rate is None else rate_text(rate, unit), reason=reason)


def rate_day_cell(values: Sequence[float | None], unit: str, what: str) -> Cell:
    """The last day of a rate, in half hours."""
    known = [value for value in values if value is not None]
    scale = rate_scale(unit, max(known, default=None))
    said = _said([scale.with_unit(value) for value in (min(known), max(known))]) if known else ""
    return Cell(
        drawing=sparkline(values, said=f"{what}, {said}"),
        reason="nothing was measured in the last 24 hours",
    )


def level_day_cell(line: ResourceLine, values: Sequence[float | None]) -> Cell:
    """The worst level of each half hour of the last day, and the threshold."""
    known = [value for value in values if value is not None]
    scale = level_scale(line.kind)
    said = _said([scale.with_unit(value) for value in (min(known), max(known))]) if known else ""
    return Cell(
        drawing=sparkline(
            values, said=f"{line.level.noun} of the last 24 hours, {said}", level=line.threshold
        ),
        reason="nothing was measured in the last 24 hours",
    )


def _said(ends: Sequence[str]) -> str:
    low, high = ends
    return f"between {low} and {high}"
