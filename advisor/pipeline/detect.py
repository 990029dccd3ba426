"""From samples to states and incidents; safe to run twice, continues where it stopped."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.utils import timezone

from advisor.core.canonical import dumps, loads_part
from advisor.core.detection import congestion
from advisor.core.detection.congestion import (
    CongestionState,
    Detection,
    DetectorSettings,
    DetectorState,
    after_quiet_windows,
)
from advisor.history.history import History
from advisor.history.inventory import Inventory, inventory_of, kept_inventory
from advisor.history.lately import Lately
from advisor.history.level_store import save_points
from advisor.history.newest_rates import save_newest_rates
from advisor.history.reader import read_histories
from advisor.history.recordset import update_rows
from advisor.history.whole_windows import (
    MOST_WINDOWS,
    Waiting,
    Whole,
    first_samples,
    portion_end,
    with_new_windows,
)
from advisor.models import (
    Incident,
    Resource,
    ResourceStatus,
    State,
)
from advisor.pipeline.amend import finish
from advisor.pipeline.evaluation_lag import NewWindows
from advisor.pipeline.incidents import (
    NewPoints,
    open_incidents,
    update_incidents,
)
from advisor.pipeline.rejudge import (
    Earlier,
    is_checkpoint_due,
    keep_checkpoints,
    keep_earlier,
    leave_lost,
    rewind_changed,
    take_earlier,
    take_notes,
    threshold_then,
)
from ingest.core.grid import grid_of
from ingest.grid_reader import array_of

log = logging.getLogger(__name__)

VANISHES_WITHIN = timedelta(minutes=1)
"""What sent within the last minute vanishes only where another takes its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """One resource to judge: its status, and its windows that end in (since, until].

    `whole` says which is its newest complete window. Those until `history_until` were judged
    before, or are from before there was a detector.
    """

    status: ResourceStatus
    state: DetectorState
    running: Incident | None
    since: datetime
    until: datetime
    whole: Whole
    history_until: datetime | None

    @property
    def is_newest(self) -> bool:
        """Whether no complete window is left after these."""
        return self.until >= self.whole.end

    @property
    def resource(self) -> Resource:
        return self.status.resource


def detect(*, resource: Resource, now: datetime, limit_s: float | None = None) -> ResourceStatus:
    """Evaluate every whole window since the last run, and update status and incidents."""
    take_notes([resource])
    waiting = with_new_windows([resource], now=now)
    detect_resources(waiting, known=kept_inventory([resource]), now=now, limit_s=limit_s)
    return ResourceStatus.objects.select_related("resource").get(resource=resource)


def detect_resources(
    waiting: Sequence[Waiting], *, known: Inventory, now: datetime, limit_s: float | None = None
) -> list[NewWindows]:
    """The same for many resources, whose samples are read together; the windows that are new.

    `known` is the inventory of these resources, perhaps among others. Windows are judged in
    portions, the oldest first, each portion in a transaction. After `limit_s` no other portion is
    begun; the next run goes on.

    A resource that another process judges at this moment keeps its status. If one fails, nothing
    of its portion is kept: `advisor.pipeline.groups` judges them one by one then.
    """
    began_s = time.monotonic()
    stored: list[NewWindows] = []
    while waiting:
        judged = _judge_portion(waiting, known, now)
        at = timezone.now()
        stored += [_new_windows(one, at) for one in judged]
        behind = {one.turn.resource.pk for one in judged if not one.turn.is_newest}
        waiting = [one for one in waiting if one.resource.pk in behind]
        if limit_s is not None and time.monotonic() - began_s >= limit_s:
            break
    return stored


@transaction.atomic
def _judge_portion(waiting: Sequence[Waiting], known: Inventory, now: datetime) -> list[_Judged]:
    """Judge the next windows of each."""
    turns = _turns(waiting, now)
    if not turns:
        return []
    _keep_checkpoints(turns)
    judged = _judge(turns, _histories(turns, known))
    _save_points(judged)
    _update_incidents(judged)
    _save_statuses(judged, now)
    return judged


def _turns(waiting: Sequence[Waiting], now: datetime) -> list[_Turn]:
    """The resources that nobody else judges, their status locked."""
    whole = {one.resource.pk: one.whole for one in waiting}
    statuses = _locked([one.resource for one in waiting])
    rewind_changed(statuses, now=now)
    leave_lost(statuses, now=now)
    running = open_incidents(whole)
    states = {one.resource_id: _state(one) for one in statuses}
    begins = _begins(statuses, states, whole, now=now)
    behind = [
        one
        for one in statuses
        if whole[one.resource_id].end - begins[one.resource_id]
        > timedelta(seconds=one.resource.window_s)
    ]
    most = max(MOST_WINDOWS // max(len(behind), 1), 1)
    return [
        _Turn(
            status=status,
            state=states[status.resource_id],
            running=running.get(status.resource_id),
            since=begins[status.resource_id],
            until=_until(
                status.resource,
                begins[status.resource_id],
                whole[status.resource_id].end,
                most=most,
            ),
            whole=whole[status.resource_id],
            history_until=status.history_until,
        )
        for status in statuses
    ]


def _state(status: ResourceStatus) -> DetectorState:
    """The detector's state, up to date also of a disk whose idle windows were left out."""
    stored = _detector_state(status.detector)
    state = after_quiet_windows(
        stored,
        until=status.last_window_at,
        window_s=status.resource.window_s,
        settings=_settings(status.resource),
    )
    if state is not stored:
        status.detector = dumps(state)
    return state


_states: Lately[str, DetectorState] = Lately(partial(loads_part, DetectorState), most=5_000)


def _detector_state(text: str) -> DetectorState:
    return _states.value_of(text) if text else DetectorState()


def _text_of(state: DetectorState) -> str:
    text = dumps(state)
    _states.note(text, state)
    return text


def _begins(
    statuses: Sequence[ResourceStatus],
    states: Mapping[int, DetectorState],
    whole: Mapping[int, Whole],
    *,
    now: datetime,
) -> dict[int, datetime]:
    """By resource the end of the last judged window; of a new one, when its first sample came."""
    found: dict[int, datetime] = {}
    new: list[ResourceStatus] = []
    for status in statuses:
        judged_until = status.judged_until or states[status.resource_id].last_at
        if judged_until is None:
            new.append(status)
        else:
            found[status.resource_id] = judged_until
    firsts = first_samples([status.resource for status in new], now=now)
    for status in new:
        end = whole[status.resource_id].end
        found[status.resource_id] = min(firsts.get(status.resource_id, end), end)
        # The windows from before there was a detector.
        status.history_until = end
    return found


def _until(resource: Resource, since: datetime, end: datetime, *, most: int) -> datetime:
    """The end of the turn; what is complete stays so when another series begins to send."""
    return max(since, portion_end(since, end, window_s=resource.window_s, most=most))


def _locked(resources: Sequence[Resource]) -> list[ResourceStatus]:
    """The statuses of those that nobody else judges."""
    by_key = {resource.pk: resource for resource in resources}
    statuses = _free(by_key)
    if len(statuses) < len(by_key):
        found = {status.resource_id for status in statuses}
        missing = [ResourceStatus(resource=one) for one in resources if one.pk not in found]
        ResourceStatus.objects.bulk_create(missing, ignore_conflicts=True)
        statuses = _free(by_key)
    for status in statuses:
        status.resource = by_key[status.resource_id]
    return statuses


def _free(resources: Collection[int]) -> list[ResourceStatus]:
    # One detector per resource at a time: a second one has nothing to add, and waiting would
    # delay other resources.
    return list(
        ResourceStatus.objects.raw(
            "SELECT * FROM advisor_resourcestatus WHERE resource_id = ANY(%s::bigint[])"
            " ORDER BY id FOR UPDATE SKIP LOCKED",
            [array_of(resources)],
        )
    )


def _keep_checkpoints(turns: Sequence[_Turn]) -> None:
    """The states and open incidents of before these turns."""
    due = [
        (one.status, one.running, one.since)
        for one in turns
        if one.since < one.until and is_checkpoint_due(one.status, at=one.since)
    ]
    keep_checkpoints(due)


def _histories(turns: Sequence[_Turn], known: Inventory) -> dict[int, History]:
    """The history of each turn by its resource; those of the same windows are read together."""
    found: dict[int, History] = {}
    together: dict[tuple[float, datetime, datetime], list[_Turn]] = defaultdict(list)
    for turn in turns:
        together[turn.resource.window_s, turn.since, turn.until].append(turn)
    for (window_s, since, until), group in together.items():
        grid = grid_of(since, until, window_s)
        inventory = _inventory(group, known, since=since)
        resources = [turn.resource for turn in group]
        found |= read_histories(resources, grid, inventory=inventory, is_judged=False)
    return found


def _inventory(turns: Sequence[_Turn], known: Inventory, *, since: datetime) -> Inventory:
    """That of turns; windows of the past have what was seen then, though it vanished since."""
    resources = [turn.resource for turn in turns]
    if known.gone_at is not None and since + VANISHES_WITHIN < known.gone_at:
        return inventory_of(resources, since=since)
    return known.part(resources)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Judged:
    """A turn, its history, and what was found in its windows."""

    turn: _Turn
    history: History
    found: Detection
    earlier: tuple[Earlier, ...]


def _judge(turns: Sequence[_Turn], histories: Mapping[int, History]) -> list[_Judged]:
    judged = []
    for turn in turns:
        history = histories[turn.resource.pk]
        earlier = take_earlier(turn.status, since=turn.since, until=turn.until)
        found = congestion.detect(
            history.readings(),
            settings=_settings(turn.resource),
            threshold=threshold_then(earlier, history.threshold),
            initial=turn.state,
        )
        judged.append(_Judged(turn=turn, history=history, found=found, earlier=earlier))
    return judged


def _settings(resource: Resource) -> DetectorSettings:
    return DetectorSettings(activity_floor=resource.activity_floor)


def _update_incidents(judged: Sequence[_Judged]) -> None:
    update_incidents(
        [
            NewPoints(history=one.history, running=one.turn.running, points=one.found.points)
            for one in judged
        ]
    )


def _save_points(judged: Sequence[_Judged]) -> None:
    for one in judged:
        keep_earlier(one.turn.status, one.earlier, one.found.points)
    points = {one.turn.resource: one.found.points for one in judged}
    save_points(points, with_status=True)


def _save_statuses(judged: Sequence[_Judged], now: datetime) -> None:
    for one in judged:
        _move_on(one.turn, one.found, now)
        # What is shown stays that of the newest look while older windows are judged.
        if one.turn.is_newest:
            _update_status(one.turn.status, one.found, now=now)
    # Their rows are locked.
    update_rows([one.turn.status for one in judged], _FIELDS)
    save_newest_rates(one.history for one in judged if one.turn.is_newest)


_FIELDS = (
    "state", "state_since", "value", "threshold", "reason", "looked_at", "detector",
    "judged_until", "history_until", "rewound_at", "rewound_to", "last_window_at",
)  # fmt: skip
"""What the detector writes. The gaps in advice are the adviser's, which may be running."""


def _new_windows(one: _Judged, stored_at: datetime) -> NewWindows:
    """The windows that were due after there was a detector."""
    history_until = one.turn.history_until
    return NewWindows(
        resource=one.turn.resource,
        stored_at=stored_at,
        ends=[
            point.at
            for point in one.found.points
            if history_until is None or point.at > history_until
        ],
        heard_at=one.turn.whole.heard_at,
    )


def _move_on(turn: _Turn, found: Detection, now: datetime) -> None:
    status = turn.status
    status.detector = _text_of(found.state)
    status.judged_until = turn.until
    status.last_window_at = found.state.last_at
    if status.history_until is not None and status.history_until <= turn.until:
        if status.is_rejudging:
            finish(status, now=now)
        status.history_until = None


def _update_status(status: ResourceStatus, found: Detection, *, now: datetime) -> None:
    status.looked_at = now
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
