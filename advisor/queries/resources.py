"""Resources with their newest conclusion, as lists and heads of pages show them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor.models import Resource, ResourceStatus, State
from advisor.queries.heat import NEAR_RATIO
from advisor.queries.scope import Scope

STALE_AFTER = timedelta(minutes=2)
"""A conclusion older than this says nothing about now."""

NEAR = "near"
"""Clear, and not far below the threshold; since when is not recorded."""

_ORDER = {"congested": 0, NEAR: 1, "clear": 2, "unknown": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLine:
    """One resource and what was concluded about it last.

    `shown_state` is `clear`, `near`, `congested` or `unknown`; a stale conclusion is `unknown`,
    and `reason` says why.
    """

    pk: int
    name: str
    kind: str
    unit: str
    capacity: float | None
    shown_state: str
    state_since: datetime | None
    value: float | None
    threshold: float | None
    reason: str
    looked_at: datetime | None
    advice_gap: str


def resource_rows(scope: Scope) -> list[Resource]:
    """The organisation's resources with their status, in one query."""
    return list(scope.rows(Resource).select_related("status").order_by("kind", "name"))


def resource_lines(rows: Iterable[Resource], *, now: datetime) -> list[ResourceLine]:
    """The resources as lines, those that need attention first."""
    lines = [resource_line(row, now=now) for row in rows]
    return sorted(lines, key=lambda line: (_ORDER[line.shown_state], line.kind, line.name))


def resource_line(row: Resource, *, now: datetime) -> ResourceLine:
    """One resource with its newest conclusion, seen from now."""
    status: ResourceStatus | None = getattr(row, "status", None)
    shown, reason = _shown_state(status, now)
    is_known = status is not None and shown != State.UNKNOWN
    return ResourceLine(
        pk=row.pk,
        name=row.name,
        kind=row.kind,
        unit=row.unit,
        capacity=row.capacity,
        shown_state=shown,
        state_since=status.state_since if is_known and status and shown != NEAR else None,
        value=status.value if is_known and status else None,
        threshold=_threshold(row, status),
        reason=reason,
        looked_at=status.looked_at if status else None,
        advice_gap=status.advice_gap if status else "",
    )


def _threshold(row: Resource, status: ResourceStatus | None) -> float | None:
    if status is not None and status.threshold is not None:
        return status.threshold
    return row.threshold if row.threshold_mode == "fixed" else None


def _shown_state(status: ResourceStatus | None, now: datetime) -> tuple[str, str]:
    if status is None or status.looked_at is None:
        return State.UNKNOWN, "nobody has looked at its samples yet; is the worker running?"
    if now - status.looked_at > STALE_AFTER:
        return State.UNKNOWN, (
            f"nobody has looked at its samples since {status.looked_at:%Y-%m-%d %H:%M:%S} UTC; "
            "is the worker running?"
        )
    if status.state == State.CLEAR and _is_near(status):
        return NEAR, status.reason
    return status.state, status.reason


def _is_near(status: ResourceStatus) -> bool:
    if status.value is None or not status.threshold:
        return False
    return status.value >= NEAR_RATIO * status.threshold
