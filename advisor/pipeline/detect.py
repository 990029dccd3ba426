"""From samples to states and incidents; safe to run twice, continues where it stopped."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from accounts.models import Organisation
from advisor.core.canonical import dumps, loads
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
from advisor.history.level_store import save_points
from advisor.history.reader import read_histories
from advisor.history.silence import silence_texts, why_unrated
from advisor.history.thresholds import threshold_of
from advisor.history.whole_windows import whole_windows_of
from advisor.models import Incident, Resource, ResourceStatus, State
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
    "judged_until",
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
    return detect_resources(list(Resource.objects.filter(organisation=organisation)), now=now)


def detect(*, resource: Resource, now: datetime) -> ResourceStatus:
    """Evaluate every whole window since the last run, and update status and incidents."""
    return detect_resources([resource], now=now)[0]


@transaction.atomic
def detect_resources(resources: Sequence[Resource], *, now: datetime) -> list[ResourceStatus]:
    """The same for many resources, whose samples are read together.

    A resource that another process judges at this moment keeps its status. If one fails, nothing
    of any is kept: `advisor.pipeline.groups` judges them one by one then.
    """
    turns = _turns(resources, now)
    histories = _histories(turns)
    judged = _judge(turns, histories)
    points = {one.turn.resource: one.found.points for one in judged}
    save_points(points, with_status=True)
    _update_incidents(judged)
    _save_statuses(judged, now)
    statuses = ResourceStatus.objects.filter(resource__in=resources).select_related("resource")
    places = {resource.pk: place for place, resource in enumerate(resources)}
    return sorted(statuses, key=lambda status: places[status.resource_id])


def _turns(resources: Sequence[Resource], now: datetime) -> list[_Turn]:
    """The resources that nobody else judges, their status locked."""
    known = set(
        ResourceStatus.objects.filter(resource__in=resources).values_list("resource", flat=True)
    )
    missing = [ResourceStatus(resource=one) for one in resources if one.pk not in known]
    ResourceStatus.objects.bulk_create(missing, ignore_conflicts=True)
    # One detector per resource at a time: a second one has nothing to add, and waiting would
    # delay other resources.
    free = ResourceStatus.objects.select_for_update(skip_locked=True, of=("self",))
    statuses = list(free.filter(resource__in=resources).order_by("pk"))
    until = whole_windows_of(resources, now=now)
    running = {
        row.resource_id: row
        for row in Incident.objects.filter(resource__in=resources, ended_at=None)
    }
    turns, by_key = [], {resource.pk: resource for resource in resources}
    for status in statuses:
        status.resource = by_key[status.resource_id]
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


def _histories(turns: Sequence[_Turn]) -> dict[int, History]:
    """The history of each turn by its resource; those of the same windows are read together."""
    found: dict[int, History] = {}
    together: dict[tuple[float, datetime, datetime], list[_Turn]] = defaultdict(list)
    for turn in turns:
        together[turn.resource.window_s, turn.since, turn.until].append(turn)
    for (window_s, since, until), group in together.items():
        grid = grid_of(since, until, window_s)
        found |= read_histories([turn.resource for turn in group], grid)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Judged:
    """A turn, its history, and what was found in its windows."""

    turn: _Turn
    history: History
    found: Detection


def _judge(turns: Sequence[_Turn], histories: Mapping[int, History]) -> list[_Judged]:
    judged = []
    for turn in turns:
        history = histories[turn.resource.pk]
        found = congestion.detect(
            history.observations(),
            settings=_settings(turn.resource),
            threshold=threshold_of(turn.resource, until=turn.until),
            initial=turn.state,
        )
        judged.append(_Judged(turn=turn, history=history, found=found))
    return judged


def _settings(resource: Resource) -> DetectorSettings:
    return DetectorSettings(activity_floor=resource.activity_floor)


def _update_incidents(judged: Sequence[_Judged]) -> None:
    for one in judged:
        running = one.turn.running
        seen_before = running.windows if running else 0
        for incident in update_incidents(one.history, running, one.found.points):
            if _is_look_due(incident, seen_before):
                look_outside(incident=incident, until=one.turn.until)


def _is_look_due(incident: Incident, seen_before: int) -> bool:
    """Whether load from outside is looked for: at the beginning, at the end, each minute."""
    if incident.external is None or incident.ended_at is not None:
        return True
    return incident.windows // LOOK_EACH != seen_before // LOOK_EACH


def _save_statuses(judged: Sequence[_Judged], now: datetime) -> None:
    silent = silence_texts([one.turn.resource for one in judged], at=now)
    for one in judged:
        _update_status(one.turn.status, one.found, now=now, silent=silent[one.turn.resource.pk])
    # The gaps in advice are written by the adviser, which may be running.
    ResourceStatus.objects.bulk_create(
        [one.turn.status for one in judged],
        update_conflicts=True,
        unique_fields=["resource"],
        update_fields=DETECTED,
    )
    note_lags_when_stored(
        {
            one.turn.resource: [point.at for point in one.found.points]
            for one in judged
            # The first look goes back to windows from before there was a detector.
            if one.turn.state.last_at is not None
        }
    )


def _update_status(
    status: ResourceStatus, found: Detection, *, now: datetime, silent: str
) -> None:
    status.looked_at = now
    status.detector = dumps(found.state)
    status.judged_until = found.state.last_at
    if found.points:
        newest = found.points[-1]
        status.state = State(newest.state)
        status.state_since = newest.since
        status.value = newest.value
        status.threshold = newest.threshold
        status.reason = f"{newest.reason}; {silent}" if silent else newest.reason
    last_at = found.state.last_at
    silent_s = None if last_at is None else (now - last_at).total_seconds()
    longest_s = _settings(status.resource).longest_gap_s
    if not found.points and (silent_s is None or silent_s > longest_s):
        _fall_silent(status, last_at, now=now, why=why_unrated(status.resource, at=now))


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
