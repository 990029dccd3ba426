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
from advisor.history.observe import observations
from advisor.history.usual_rates import with_usual_rates
from advisor.models import Incident, Resource
from advisor.models import StatePoint as StatePointRow

DETAIL = timedelta(hours=1)
"""Victims and aggressors of a long incident come from its last hour."""


def update_incidents(
    *,
    resource: Resource,
    new_points: Sequence[StatePoint],
    seen: Sequence[Observation],
    mode: ReservationMode,
) -> list[Incident]:
    """Fold the new points, with those of the open incident, into incident rows."""
    running = Incident.objects.filter(resource=resource, ended_at=None).first()
    alarms = [point for point in new_points if point.state in ALARMS]
    if not new_points or (running is None and not alarms):
        return []
    begins = running.started_at if running else min(point.since for point in alarms)
    points = _points_from(resource, begins)
    until = new_points[-1].at
    since = max(begins, until - DETAIL)
    detail = (
        seen
        if seen and seen[0].at - timedelta(seconds=resource.window_s) <= since
        else observations(resource=resource, since=since, until=until)
    )
    detail = with_usual_rates(resource, detail, before=begins)
    return [_save(resource, found) for found in core.fold_incidents(points, detail, mode)]


def restate_parties(resource: Resource) -> None:
    """Recompute the victims and aggressors of the open incident after a change of allocations.

    Its windows were evaluated with the allocations of that time.
    """
    running = Incident.objects.filter(resource=resource, ended_at=None).first()
    points = _points_from(resource, running.started_at) if running else []
    if running is None or not points:
        return
    until = points[-1].at
    since = max(running.started_at, until - DETAIL)
    detail = observations(resource=resource, since=since, until=until)
    detail = with_usual_rates(resource, detail, before=running.started_at)
    for found in core.fold_incidents(points, detail, ReservationMode(resource.mode)):
        _save(resource, found)


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
