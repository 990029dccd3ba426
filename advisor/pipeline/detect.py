"""From samples to states and incidents; safe to run twice, continues where it stopped."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from accounts.models import Organisation
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
from advisor.history.external_load import look_outside
from advisor.history.history import History
from advisor.history.reader import read_histories
from advisor.history.silence import silence_text, silent_devices, why_unrated
from advisor.history.thresholds import threshold_of
from advisor.history.whole_windows import whole_windows_of
from advisor.models import Incident, Resource, ResourceStatus, State, StatePoint
from advisor.pipeline.evaluation_lag import note_lags_when_stored
from advisor.pipeline.incidents import update_incidents
from ingest.core.grid import grid_of

log = logging.getLogger(__name__)

LOOKBACK = timedelta(hours=1)
"""How far back the first evaluation goes, and one after a long pause."""


LOOK_EACH = 6
"""Load from outside is looked for after so many windows of an incident."""

DETECTED = (
    "state", "state_since", "value", "threshold", "reason", "looked_at", "detector",
)  # fmt: skip
"""The fields of a resource's status that the detector writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """One resource to judge: its status, and its windows that end in (since, until]."""

    status: ResourceStatus
    state: DetectorState
    running: Incident | None
    since: datetime
    until: datetime

    @property
    def resource(self) -> Resource:
        return self.status.resource


def detect_all(*, organisation: Organisation, now: datetime) -> list[ResourceStatus]:
    """Bring the status of every resource of the organisation up to date."""
    return detect_resources(Resource.objects.filter(organisation=organisation), now=now)


def detect(*, resource: Resource, now: datetime) -> ResourceStatus:
    """Evaluate every whole window since the last run, and update status and incidents."""
    return detect_resources([resource], now=now)[0]


@transaction.atomic
def detect_resources(resources: Iterable[Resource], *, now: datetime) -> list[ResourceStatus]:
    """The same for many resources, whose samples are read together.

    A resource that another process judges at this moment keeps its status. One that fails keeps
    it too and does not affect the others; the first failure is raised at the end.
    """
    found = {resource.pk: resource for resource in resources}
    turns = _turns(found, now)
    for turn, history in _histories(turns):
        _judge(turn, history, now)
    statuses = ResourceStatus.objects.filter(resource__in=found).select_related("resource")
    return sorted(statuses, key=lambda one: list(found).index(one.resource_id))


def _turns(resources: dict[int, Resource], now: datetime) -> list[_Turn]:
    """The resources that nobody else judges, their status locked."""
    known = set(
        ResourceStatus.objects.filter(resource__in=resources).values_list("resource", flat=True)
    )
    missing = [ResourceStatus(resource=resources[key]) for key in resources.keys() - known]
    ResourceStatus.objects.bulk_create(missing, ignore_conflicts=True)
    # One detector per resource at a time: a second one has nothing to add, and waiting would
    # delay other resources.
    free = ResourceStatus.objects.select_for_update(skip_locked=True, of=("self",))
    statuses = list(free.filter(resource__in=resources).order_by("pk"))
    until = whole_windows_of(resources.values(), now=now)
    running = {
        row.resource_id: row
        for row in Incident.objects.filter(resource__in=resources, ended_at=None)
    }
    turns = []
    for status in statuses:
        status.resource = resources[status.resource_id]
        state = loads(DetectorState, status.detector) if status.detector else DetectorState()
        end = until[status.resource_id]
        since = max(state.last_at or end - LOOKBACK, end - LOOKBACK)
        turns.append(
            _Turn(
                status=status,
                state=state,
                running=running.get(status.resource_id),
                since=since,
                until=end,
            )
        )
    return turns


def _histories(turns: Sequence[_Turn]) -> Iterable[tuple[_Turn, History]]:
    """Each turn with its history; those of the same windows are read together."""
    together: dict[tuple[float, datetime, datetime], list[_Turn]] = defaultdict(list)
    for turn in turns:
        together[turn.resource.window_s, turn.since, turn.until].append(turn)
    for (window_s, since, until), group in together.items():
        grid = grid_of(since, until, window_s)
        histories = read_histories([turn.resource for turn in group], grid)
        for turn in group:
            yield turn, histories[turn.resource.pk]


def _judge(turn: _Turn, history: History, now: datetime) -> None:
    settings = DetectorSettings(activity_floor=turn.resource.activity_floor)
    found = congestion.detect(
        history.observations(),
        settings=settings,
        threshold=threshold_of(turn.resource, until=turn.until),
        initial=turn.state,
    )
    _save_points(turn.resource, found)
    if turn.state.last_at is not None:
        note_lags_when_stored(turn.resource, [point.at for point in found.points])
    seen_before = turn.running.windows if turn.running else 0
    for incident in update_incidents(history, turn.running, found.points):
        if _is_look_due(incident, seen_before):
            look_outside(incident=incident, until=turn.until)
    _update_status(turn.status, found, now=now, settings=settings)


def _is_look_due(incident: Incident, seen_before: int) -> bool:
    """Whether load from outside is looked for: at the beginning, at the end, each minute."""
    if incident.external is None or incident.ended_at is not None:
        return True
    return incident.windows // LOOK_EACH != seen_before // LOOK_EACH


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
    status: ResourceStatus,
    found: Detection,
    *,
    now: datetime,
    settings: DetectorSettings,
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
        if silent := silence_text(silent_devices(status.resource, at=now)):
            status.reason += f"; {silent}"
    last_at = found.state.last_at
    silent_s = None if last_at is None else (now - last_at).total_seconds()
    if not found.points and (silent_s is None or silent_s > settings.longest_gap_s):
        _fall_silent(status, last_at, now=now, why=why_unrated(status.resource, at=now))
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
