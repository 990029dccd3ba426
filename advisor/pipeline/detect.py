"""From samples to states and incidents; safe to run twice, continues where it stopped."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from advisor.core.canonical import dumps, loads
from advisor.core.detection import congestion
from advisor.core.detection.congestion import (
    CongestionState,
    Detection,
    DetectorSettings,
    DetectorState,
)
from advisor.core.detection.nap import after_quiet_windows
from advisor.history.history import History
from advisor.history.inventory import kept_inventory
from advisor.history.level_store import save_points
from advisor.history.new_windows import with_new_windows
from advisor.history.reader import read_histories
from advisor.history.thresholds import thresholds_of
from advisor.history.whole_windows import whole_windows_of
from advisor.models import Incident, Resource, ResourceStatus, State
from advisor.pipeline.evaluation_lag import note_lags_when_stored
from advisor.pipeline.idle_disks import leave_idle
from advisor.pipeline.incidents import save_grown, update_incidents
from advisor.pipeline.status_rows import write_judged
from ingest.core.grid import grid_of

log = logging.getLogger(__name__)

LOOKBACK = timedelta(hours=1)
"""How far back the first evaluation goes, and one after a long pause."""


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


def detect(*, resource: Resource, now: datetime) -> ResourceStatus:
    """Evaluate every whole window since the last run, and update status and incidents."""
    detect_resources([resource], now=now)
    return ResourceStatus.objects.select_related("resource").get(resource=resource)


@transaction.atomic
def detect_resources(resources: Sequence[Resource], *, now: datetime) -> None:
    """The same for many resources, whose samples are read together.

    A resource that another process judges at this moment keeps its status. If one fails, nothing
    of any is kept: `advisor.pipeline.groups` judges them one by one then.
    """
    waiting = with_new_windows(resources, now=now)
    idle = leave_idle(waiting, now=now)
    turns = _turns([one for one in waiting if one.pk not in idle], now)
    if not turns:
        return
    histories = _histories(turns)
    judged = _judge(turns, histories)
    points = {one.turn.resource: one.found.points for one in judged}
    save_points(points, with_status=True)
    _update_incidents(judged)
    _save_statuses(judged, now)


def _turns(resources: Sequence[Resource], now: datetime) -> list[_Turn]:
    """The resources that nobody else judges, their status locked."""
    if not resources:
        return []
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
        state = _state(status)
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


def _state(status: ResourceStatus) -> DetectorState:
    """The detector's state at the end of the newest window; of an idle disk the text is older."""
    state = loads(DetectorState, status.detector) if status.detector else DetectorState()
    return after_quiet_windows(
        state,
        until=status.judged_until,
        window_s=status.resource.window_s,
        settings=_settings(status.resource),
    )


def _histories(turns: Sequence[_Turn]) -> dict[int, History]:
    """The history of each turn by its resource; those of the same windows are read together."""
    found: dict[int, History] = {}
    together: dict[tuple[float, datetime, datetime], list[_Turn]] = defaultdict(list)
    for turn in turns:
        together[turn.resource.window_s, turn.since, turn.until].append(turn)
    for (window_s, since, until), group in together.items():
        grid = grid_of(since, until, window_s)
        resources = [turn.resource for turn in group]
        found |= read_histories(resources, grid, inventory=kept_inventory(resources))
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Judged:
    """A turn, its history, and what was found in its windows."""

    turn: _Turn
    history: History
    found: Detection


def _judge(turns: Sequence[_Turn], histories: Mapping[int, History]) -> list[_Judged]:
    if not turns:
        return []
    thresholds = thresholds_of(
        [turn.resource for turn in turns],
        since=min(turn.since for turn in turns),
        until=max(turn.until for turn in turns),
    )
    judged = []
    for turn in turns:
        history = histories[turn.resource.pk]
        found = congestion.detect(
            history.deciding_observations(),
            settings=_settings(turn.resource),
            threshold=thresholds[turn.resource.pk],
            initial=turn.state,
        )
        judged.append(_Judged(turn=turn, history=history, found=found))
    return judged


def _settings(resource: Resource) -> DetectorSettings:
    return DetectorSettings(activity_floor=resource.activity_floor)


def _update_incidents(judged: Sequence[_Judged]) -> None:
    grown: list[Incident] = []
    for one in judged:
        changed = update_incidents(one.history, one.turn.running, one.found.points)
        grown += [row for row in changed if row is one.turn.running and row.ended_at is None]
    save_grown(grown)


def _save_statuses(judged: Sequence[_Judged], now: datetime) -> None:
    for one in judged:
        _update_status(one.turn.status, one.found, now=now)
    write_judged([one.turn.status for one in judged])
    note_lags_when_stored(
        {
            one.turn.resource: [point.at for point in one.found.points]
            for one in judged
            # The first look goes back to windows from before there was a detector.
            if one.turn.state.last_at is not None
        }
    )


def _update_status(status: ResourceStatus, found: Detection, *, now: datetime) -> None:
    status.looked_at = now
    status.detector = dumps(found.state)
    status.judged_until = found.state.last_at
    if found.points:
        newest = found.points[-1]
        status.state = State(newest.state)
        status.state_since = newest.since
        status.value = newest.value
        status.threshold = newest.threshold
        status.reason = newest.reason
    last_at = found.state.last_at
    silent_s = None if last_at is None else (now - last_at).total_seconds()
    longest_s = _settings(status.resource).longest_gap_s
    if not found.points and (silent_s is None or silent_s > longest_s):
        _fall_silent(status, last_at)


def _fall_silent(status: ResourceStatus, last_at: datetime | None) -> None:
    """Unknown for lack of windows; `advisor.pipeline.note_silence` says why there are none."""
    if status.state != CongestionState.UNKNOWN:
        status.state_since = last_at
    status.state = State.UNKNOWN
    status.value = None
    status.reason = ""
