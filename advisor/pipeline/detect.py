"""From samples to states and incidents; safe to run twice, continues where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction

from accounts.models import Organisation
from advisor.core.allocation import ReservationMode
from advisor.core.canonical import dumps, loads, to_plain
from advisor.core.detection import congestion
from advisor.core.detection.congestion import (
    CongestionState,
    Detection,
    DetectorSettings,
    DetectorState,
)
from advisor.core.enumeration import listed
from advisor.core.freshness import sample_gap
from advisor.core.observation import Observation
from advisor.history.external_load import look_outside
from advisor.history.observe import observations, whole_windows
from advisor.history.silence import silence_text, silent_devices, why_unrated
from advisor.history.thresholds import threshold_of
from advisor.models import Resource, ResourceStatus, State, StatePoint
from advisor.pipeline.incidents import update_incidents

LOOKBACK = timedelta(hours=1)
"""How far back the first evaluation goes, and one after a long pause."""


DETECTED = (
    "state", "state_since", "value", "threshold", "reason", "looked_at", "detector",
)  # fmt: skip
"""The fields of a resource's status that the detector writes."""


def detect_all(*, organisation: Organisation, now: datetime) -> list[ResourceStatus]:
    """Bring the status of every resource of the organisation up to date."""
    resources = Resource.objects.filter(organisation=organisation)
    return [detect(resource=resource, now=now) for resource in resources]


@transaction.atomic
def detect(*, resource: Resource, now: datetime) -> ResourceStatus:
    """Evaluate every whole window since the last run, and update status and incidents."""
    status, _ = ResourceStatus.objects.get_or_create(resource=resource)
    # One detector per resource at a time: a second one has nothing to add, and waiting would
    # delay other resources.
    free = ResourceStatus.objects.select_for_update(skip_locked=True, of=("self",))
    mine = free.filter(pk=status.pk).order_by("pk").first()
    if mine is None:
        return status
    status = mine
    state = loads(DetectorState, status.detector) if status.detector else DetectorState()
    until = whole_windows(resource, now=now)
    since = max(state.last_at or until - LOOKBACK, until - LOOKBACK)
    seen = observations(resource=resource, since=since, until=until)
    settings = DetectorSettings(activity_floor=resource.activity_floor)
    found = congestion.detect(
        seen,
        settings=settings,
        threshold=threshold_of(resource, until=until),
        initial=state,
    )
    _save_points(resource, found)
    incidents = update_incidents(
        resource=resource,
        new_points=found.points,
        seen=seen,
        mode=ReservationMode(resource.mode),
    )
    for incident in incidents:
        look_outside(incident=incident, until=until)
    _update_status(resource, status, found, now=now, settings=settings, seen=seen)
    return status


def _save_points(resource: Resource, found: Detection) -> None:
    StatePoint.objects.bulk_create(
        [
            StatePoint(
                resource=resource,
                at=point.at,
                since=point.since,
                state=point.state,
                value=point.value,
                threshold=point.threshold,
                load=point.load,
                device_load=point.device_load,
                reason=point.reason,
                signals=[to_plain(one) for one in point.signals],
            )
            for point in found.points
        ],
        ignore_conflicts=True,
    )


def _update_status(
    resource: Resource,
    status: ResourceStatus,
    found: Detection,
    *,
    now: datetime,
    settings: DetectorSettings,
    seen: Sequence[Observation],
) -> None:
    status.looked_at = now
    status.detector = dumps(found.state)
    if found.points:
        newest = found.points[-1]
        status.state = State(newest.state)
        status.state_since = newest.since
        status.value = newest.value
        status.threshold = newest.threshold
        status.reason = newest.reason
        if silent := silence_text(silent_devices(resource, at=now)):
            status.reason += f"; {silent}"
    last_at = found.state.last_at
    silent_s = None if last_at is None else (now - last_at).total_seconds()
    if not seen and (silent_s is None or silent_s > settings.longest_gap_s):
        _fall_silent(status, last_at, now=now, why=why_unrated(resource, at=now))
    # The gaps in advice are written by the adviser, which may be running.
    status.save(update_fields=DETECTED)


def _fall_silent(
    status: ResourceStatus, last_at: datetime | None, *, now: datetime, why: str
) -> None:
    if status.state != CongestionState.UNKNOWN:
        status.state_since = last_at
    status.state = State.UNKNOWN
    status.value = None
    attachments = status.resource.attachments.select_related("host")
    hosts = listed(attachment.host.name for attachment in attachments)
    since = "" if last_at is None else f", since {last_at:%H:%M:%S} UTC"
    gap = sample_gap(last_at, now=now)
    status.reason = why or f"{gap}{since}; is Telegraf running on {hosts}?"
