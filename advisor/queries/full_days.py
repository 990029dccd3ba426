"""When demand reaches what a resource or a pool has, in words and as figures."""

from __future__ import annotations

from datetime import date
from typing import Any

from advisor.core.demand.full_day import FULL_RATIO
from advisor.core.quantity import format_rate
from advisor.models import DemandOutlook, Pool, Resource

NOT_READ = "no whole day has been read yet"
NO_CAPACITY = "its capacity is not set"


def full_day_of(subject: Resource | Pool) -> DemandOutlook | None:
    """That of a resource itself, or of a pool; the newest that is stored."""
    pool = subject.pk if isinstance(subject, Pool) else None
    return next((row for row in subject.demand_outlooks.all() if row.pool_id == pool), None)


def full_day_text(subject: Resource | Pool) -> str:
    """The day in one sentence with its interval, or why there is none."""
    row = full_day_of(subject)
    gap = _gap(subject, row)
    if row is None or gap or row.full_rate is None:
        return f"not foretold: {gap}"
    resource = subject.resource if isinstance(subject, Pool) else subject
    short = round(100 * (1 - FULL_RATIO))
    near = f"within {short} % of {format_rate(row.full_rate, resource.unit)}"
    reached = f"; it was so near last on {row.reached_day}" if row.reached_day else ""
    if row.soonest_day is None:
        return f"not {near} by {row.until_day}, in 90 % of outcomes{reached}"
    latest = f"and {row.latest_day}" if row.latest_day else f"and a day after {row.until_day}"
    middle = f", about {row.median_day}" if row.median_day else ""
    return f"{near} between {row.soonest_day} {latest}{middle} (80 %){reached}"


def full_day_plain(subject: Resource | Pool) -> dict[str, Any]:
    """The same for programs; rates are in the unit of the resource."""
    row = full_day_of(subject)
    gap = _gap(subject, row)
    if row is None or gap:
        return {"gap": gap, "ahead": []}
    return {
        "full_rate": row.full_rate,
        "last_day": _iso(row.last_day),
        "until_day": _iso(row.until_day),
        "soonest_day": _iso(row.soonest_day),
        "median_day": _iso(row.median_day),
        "latest_day": _iso(row.latest_day),
        "reached_day": _iso(row.reached_day),
        "ahead": row.ahead,
        "gap": "",
    }


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _gap(subject: Resource | Pool, row: DemandOutlook | None) -> str:
    """Why nothing is foretold; empty where something is."""
    if isinstance(subject, Resource) and subject.capacity is None:
        return NO_CAPACITY
    return NOT_READ if row is None else row.gap
