"""Incidents as rows: the open one grows or ends, new ones begin."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from advisor.core.allocation import ReservationMode
from advisor.core.canonical import from_plain, to_plain
from advisor.core.detection import incident as core
from advisor.core.detection.congestion import ALARMS, CongestionState, StatePoint
from advisor.core.detection.nic_signals import NicEvidence
from advisor.core.observation import Observation
from advisor.history.reader import read_history
from advisor.history.usual_rates import with_usual_rates
from advisor.models import Incident, Resource
from advisor.models import StatePoint as StatePointRow
from ingest.core.grid import grid_of

DETAIL = timedelta(hours=1)
"""Victims and aggressors of a long incident come from its last hour."""


def detail_since(incident: Incident, until: datetime) -> datetime:
    """From when on the windows of an open incident tell its victims and aggressors."""
    return max(incident.started_at, until - DETAIL)


def update_incidents(
    *,
    resource: Resource,
    running: Incident | None,
    new_points: Sequence[StatePoint],
    seen: Sequence[Observation],
) -> list[Incident]:
    """Fold the new points, with those of the open incident, into incident rows.

    `seen` has the windows of the new points, and those since `detail_since` of a running incident.
    """
    alarms = [point for point in new_points if point.state in ALARMS]
    if not new_points or (running is None and not alarms):
        return []
    begins = running.started_at if running else min(point.since for point in alarms)
    until = new_points[-1].at
    since = max(begins, until - DETAIL)
    if not seen or seen[0].at - timedelta(seconds=resource.window_s) > since:
        # The windows by which congestion was recognised were judged in an earlier run.
        grid = grid_of(since, until, resource.window_s)
        seen = read_history(resource, grid).observations()
    return _fold(resource, seen, begins=begins)


def restate_parties(resource: Resource) -> None:
    """Recompute the victims and aggressors of the open incident after a change of allocations.

    Its windows were evaluated with the allocations of that time.
    """
    running = Incident.objects.filter(resource=resource, ended_at=None).first()
    newest = StatePointRow.objects.filter(resource=resource).order_by("-at").first()
    if running is None or newest is None or newest.at <= running.started_at:
        return
    grid = grid_of(detail_since(running, newest.at), newest.at, resource.window_s)
    seen = read_history(resource, grid).observations()
    _fold(resource, seen, begins=running.started_at)


def _fold(resource: Resource, seen: Sequence[Observation], *, begins: datetime) -> list[Incident]:
    detail = with_usual_rates(resource, seen, before=begins)
    points = _points_from(resource, begins)
    mode = ReservationMode(resource.mode)
    return [_save(resource, found) for found in core.fold_incidents(points, detail, mode)]


def _points_from(resource: Resource, begins: datetime) -> list[StatePoint]:
    rows = StatePointRow.objects.filter(resource=resource, at__gt=begins).order_by("at")
    return [
        StatePoint(
            at=row.at,
            since=row.since,
            state=CongestionState(row.state),
            value=row.value,
            threshold=row.threshold,
            load=row.load,
            reason=row.reason,
            signals=tuple(from_plain(NicEvidence, one) for one in row.signals),
            device_load=row.device_load,
        )
        for row in rows
    ]


def _save(resource: Resource, found: core.Incident) -> Incident:
    plain = to_plain(found)
    row, _ = Incident.objects.update_or_create(
        resource=resource,
        started_at=found.started_at,
        defaults={
            "organisation": resource.organisation,
            "ended_at": found.ended_at,
            "peak_value": found.peak_value,
            "threshold": found.threshold,
            "windows": found.windows,
            "stalled_windows": found.stalled_windows,
            "victims": plain["victims"],
            "aggressors": plain["aggressors"],
            "evidence": plain["evidence"],
            "signals": plain["signals"],
        },
    )
    return row
