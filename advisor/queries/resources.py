"""Resources with their newest state, for pages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from advisor.core.freshness import evaluation_gap
from advisor.models import Resource, ResourceStatus, State
from advisor.queries.heat import NEAR_RATIO
from advisor.queries.scope import Scope
from advisor.resource_kinds.registry import traits_of
from advisor.resource_kinds.traits import Level

NEAR = "near"
"""Clear, and not far below the threshold; since when is not recorded."""

_ORDER = {"stalled": 0, "congested": 1, NEAR: 2, "clear": 3, "unknown": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLine:
    """One resource with its newest state.

    `shown_state` is `clear`, `near`, `congested`, `stalled` or `unknown`, `state` the same
    without `near`. A stale state is `unknown`, with `is_stale` and the age and cause in `reason`.
    """

    pk: int
    name: str
    kind: str
    unit: str
    capacity: float | None
    state: str
    shown_state: str
    is_stale: bool
    state_since: datetime | None
    value: float | None
    threshold: float | None
    reason: str
    looked_at: datetime | None
    advice_gap: str

    @property
    def level(self) -> Level:
        """How its value and threshold are written."""
        return traits_of(self.kind).level


def resource_rows(scope: Scope) -> list[Resource]:
    """The organisation's resources with their status, in one query."""
    return list(scope.rows(Resource).select_related("status").order_by("kind", "name"))


def resource_lines(rows: Iterable[Resource], *, now: datetime) -> list[ResourceLine]:
    """The resources as lines, those that need attention first."""
    lines = [resource_line(row, now=now) for row in rows]
    return sorted(lines, key=lambda line: (_ORDER[line.shown_state], line.kind, line.name))


def resource_line(row: Resource, *, now: datetime) -> ResourceLine:
    """One resource with its newest state, as of now."""
    status: ResourceStatus | None = getattr(row, "status", None)
    gap = evaluation_gap(status.looked_at if status else None, now=now)
    state = State.UNKNOWN if gap or status is None else State(status.state)
    shown = NEAR if state == State.CLEAR and status and _is_near(status) else state
    is_known = status is not None and state != State.UNKNOWN
    return ResourceLine(
        pk=row.pk,
        name=row.name,
        kind=row.kind,
        unit=row.unit,
        capacity=row.capacity,
        state=state,
        shown_state=shown,
        is_stale=bool(gap),
        state_since=status.state_since if is_known and status and shown != NEAR else None,
        value=status.value if is_known and status else None,
        threshold=_threshold(row, status),
        reason=gap or (status.why if status else ""),
        looked_at=status.looked_at if status else None,
        advice_gap=status.advice_gap if status else "",
    )


def _threshold(row: Resource, status: ResourceStatus | None) -> float | None:
    if status is not None and status.threshold is not None:
        return status.threshold
    return row.threshold if row.threshold_mode == "fixed" else None


def _is_near(status: ResourceStatus) -> bool:
    if status.value is None or not status.threshold:
        return False
    return status.value >= NEAR_RATIO * status.threshold
