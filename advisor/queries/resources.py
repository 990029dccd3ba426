"""Resources with their newest state, for pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from advisor.core.freshness import evaluation_gap
from advisor.models import Resource, ResourceStatus, State
from advisor.models.congestion import with_silence
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


class _Stated(NamedTuple):
    """What is stated of a resource and shown of it, in the order of the columns that are read."""

    pk: int
    name: str
    kind: str
    unit: str
    capacity: float | None
    threshold: float
    threshold_mode: str


class _Seen(NamedTuple):
    """The same of its status; all are None of a resource that nobody has looked at."""

    state: str | None
    state_since: datetime | None
    value: float | None
    threshold: float | None
    reason: str | None
    silence: str | None
    looked_at: datetime | None
    advice_gap: str | None


_NOBODY = _Seen(*[None] * len(_Seen._fields))
_COLUMNS = (*_Stated._fields, *(f"status__{name}" for name in _Seen._fields))


def read_lines(
    scope: Scope, *, now: datetime, kinds: Collection[str] | None = None
) -> list[ResourceLine]:
    """Every resource of the organisation, or those of these kinds, by name, in one query."""
    rows = scope.rows(Resource) if kinds is None else scope.rows(Resource).filter(kind__in=kinds)
    split = len(_Stated._fields)
    return [
        _line(_Stated(*row[:split]), _Seen(*row[split:]), now)
        for row in rows.order_by("name").values_list(*_COLUMNS)
    ]


def by_urgency(lines: Iterable[ResourceLine]) -> list[ResourceLine]:
    """The lines, those that need attention first."""
    return sorted(lines, key=lambda line: (_ORDER[line.shown_state], line.kind, line.name))


def resource_line(row: Resource, *, now: datetime) -> ResourceLine:
    """One resource with its newest state, as of now."""
    status: ResourceStatus | None = getattr(row, "status", None)
    stated = _Stated(*(getattr(row, name) for name in _Stated._fields))
    if status is None:
        return _line(stated, _NOBODY, now)
    return _line(stated, _Seen(*(getattr(status, name) for name in _Seen._fields)), now)


def _line(stated: _Stated, seen: _Seen, now: datetime) -> ResourceLine:
    gap = evaluation_gap(seen.looked_at, now=now)
    state = State.UNKNOWN if gap or seen.state is None else State(seen.state)
    shown = NEAR if state == State.CLEAR and _is_near(seen) else state
    is_known = state != State.UNKNOWN
    return ResourceLine(
        pk=stated.pk,
        name=stated.name,
        kind=stated.kind,
        unit=stated.unit,
        capacity=stated.capacity,
        state=state,
        shown_state=shown,
        is_stale=bool(gap),
        state_since=seen.state_since if is_known and shown != NEAR else None,
        value=seen.value if is_known else None,
        threshold=_threshold(stated, seen),
        reason=gap or with_silence(seen.reason, seen.silence),
        looked_at=seen.looked_at,
        advice_gap=seen.advice_gap or "",
    )


def _threshold(stated: _Stated, seen: _Seen) -> float | None:
    if seen.threshold is not None:
        return seen.threshold
    return stated.threshold if stated.threshold_mode == "fixed" else None


def _is_near(seen: _Seen) -> bool:
    if seen.value is None or not seen.threshold:
        return False
    return seen.value >= NEAR_RATIO * seen.threshold
