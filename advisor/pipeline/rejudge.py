"""Samples that came late: go back to before the first window that they change, and judge on.

Going back is the work of one moment: the detector's state and the open incident are those of a
checkpoint, and incidents from then on are set aside. Then windows are judged in order like any
others of the past. When all that were judged before are judged again, incidents that overlap one
that was set aside take its place (`advisor.pipeline.amend`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from django.db import connection, transaction

from advisor.core.detection.congestion import StatePoint
from advisor.core.detection.threshold import KeptThreshold, Threshold
from advisor.core.level_records import FIGURES
from advisor.history.level_store import forget_points, write_ends
from advisor.history.levels import read_windows
from advisor.history.recordset import write_rows
from advisor.history.stored.retention import exact_since
from advisor.history.whole_windows import CLOCK_SKEW, first_samples, last_window_end
from advisor.models import (
    Attachment,
    DetectorCheckpoint,
    EarlierStates,
    Incident,
    LateChange,
    Resource,
    ResourceStatus,
)
from advisor.pipeline.amend import JSON_OF_FIGURES, alike, reinstate, restore, set_aside
from ingest.core.grid import SNAP_RATIO, grid_of, moment
from ingest.grid_reader import array_of
from ingest.models import LateSamples
from ingest.retention import retention

CHECKPOINT_EVERY = timedelta(minutes=5)
DENSE_FOR = timedelta(hours=1)
"""Checkpoints that are older are kept hourly, and daily from `HOURLY_FOR` on."""
HOURLY_FOR = timedelta(days=2)
REST_RATIO = 0.5
"""A resource rests for this part of what is to be judged again.

So with a host that is always late a window is judged about three times, and not without limit.
"""


@transaction.atomic
def take_notes(resources: Collection[Resource]) -> None:
    """Turn notes about late samples of the resources' hosts into changes of all their resources.

    Notes that somebody else takes at this moment are left to them.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH taken AS (
                DELETE FROM ingest_latesamples WHERE id IN (
                    SELECT id FROM ingest_latesamples
                     WHERE host_id IN (SELECT host_id FROM advisor_attachment
                                        WHERE resource_id = ANY(%s::bigint[]))
                       FOR UPDATE SKIP LOCKED
                ) RETURNING host_id, changed_from
            )
            INSERT INTO advisor_latechange (resource_id, changed_from)
            SELECT attached.resource_id, min(taken.changed_from)
              FROM taken JOIN advisor_attachment AS attached USING (host_id)
             GROUP BY attached.resource_id
            """,
            [array_of(one.pk for one in resources)],
        )


def drop_unwanted_notes() -> None:
    """Delete notes about hosts that no resource is attached to."""
    LateSamples.objects.exclude(host__in=Attachment.objects.values("host")).delete()


def _changes(statuses: Sequence[ResourceStatus]) -> dict[int, datetime]:
    """By resource from when on late samples changed it, if they did."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT resource_id, min(changed_from) FROM advisor_latechange"
            " WHERE resource_id = ANY(%s::bigint[]) GROUP BY resource_id",
            [array_of(one.resource_id for one in statuses)],
        )
        return dict(cursor.fetchall())


def rewind_changed(statuses: Sequence[ResourceStatus], *, now: datetime) -> None:
    """Go back with each of these, which are locked, whose judged windows late samples changed.

    Changes of windows that are still to be judged are forgotten: they will be judged with them.
    So with those of which windows were judged that are yet to come, for the clock was ahead.
    """
    found = _changes(statuses)
    ahead = {
        one.pk for one in statuses if one.judged_until and one.judged_until > now + CLOCK_SKEW
    }
    if not found and not ahead:
        return
    kept = exact_since({one.resource.organisation_id for one in statuses}, now=now)
    for status in statuses:
        changed_from = found.get(status.resource_id)
        if status.pk in ahead:
            changed_from = _come_back(status, changed_from, now=now)
        if changed_from is None or status.is_rejudging:
            continue
        # States whose samples are gone stay as they are.
        since = kept[status.resource.organisation_id]
        begin = max(_first_changed(status, changed_from), since)
        if begin < (status.judged_until or begin):
            checkpoint = _checkpoint_before(status, begin, since=since)
            restart = begin if checkpoint is None else checkpoint.at
            if status.pk not in ahead and not _is_due(status, restart, now=now):
                continue
            _rewind(status, checkpoint, begin, now=now)
        # Those that came since were read with the others; who came later stays.
        LateChange.objects.filter(
            resource=status.resource_id, changed_from__gte=changed_from
        ).delete()


def _come_back(
    status: ResourceStatus, changed_from: datetime | None, *, now: datetime
) -> datetime:
    """Leave the windows that are yet to come; gives from when on samples are missing.

    They were judged without samples, and so were those since the last one that had some.
    """
    end = last_window_end(now, status.resource.window_s)
    known = min(end, status.last_window_at or end)
    # What is judged again anyway goes on from there.
    status.judged_until = known if status.is_rejudging else end
    if status.history_until is not None:
        status.history_until = min(status.history_until, end)
    return known if changed_from is None else min(known, changed_from)


def leave_lost(statuses: Iterable[ResourceStatus], *, now: datetime) -> None:
    """Those of these that are being judged again leave out what is kept no more.

    The samples went since they went back: states and incidents of that time stay as they are.
    """
    going_back = [one for one in statuses if one.is_rejudging]
    if not going_back:
        return
    kept = exact_since({one.resource.organisation_id for one in going_back}, now=now)
    for status in going_back:
        assert status.judged_until is not None
        assert status.history_until is not None
        since = kept[status.resource.organisation_id]
        to = min(grid_of(since, since, status.resource.window_s).since, status.history_until)
        if status.judged_until < to:
            reinstate(status, since=status.judged_until, until=to)
            status.judged_until = to


def _first_changed(status: ResourceStatus, changed_from: datetime) -> datetime:
    """When the first window begins that may change."""
    window_s = status.resource.window_s
    snapped = changed_from + timedelta(seconds=SNAP_RATIO * window_s)
    return grid_of(snapped, snapped, window_s).since


def _checkpoint_before(
    status: ResourceStatus, begin: datetime, *, since: datetime
) -> DetectorCheckpoint | None:
    rows = DetectorCheckpoint.objects.filter(
        resource=status.resource_id, at__gte=since, at__lte=begin
    )
    return rows.order_by("-at").first()


def _is_due(status: ResourceStatus, restart: datetime, *, now: datetime) -> bool:
    if status.rewound_at is None or status.judged_until is None:
        return True
    return now - status.rewound_at >= REST_RATIO * (status.judged_until - restart)


def _rewind(
    status: ResourceStatus,
    checkpoint: DetectorCheckpoint | None,
    begin: datetime,
    *,
    now: datetime,
) -> None:
    """Put the detector back; without a checkpoint, to the first sample that is kept."""
    resource = status.resource
    if checkpoint is None:
        to, status.detector = first_samples([resource], now=now).get(resource.pk, begin), ""
        to = min(to, begin)
    else:
        to, status.detector = checkpoint.at, checkpoint.detector
    status.history_until = max(status.history_until or to, status.judged_until or to)
    status.rewound_at, status.rewound_to, status.judged_until = now, to, to
    write_ends(resource.pk, status.last_window_at)
    status.last_window_at = None
    DetectorCheckpoint.objects.filter(resource=resource, at__gt=to).delete()
    set_aside(resource, after=to, now=now)
    if checkpoint is not None and checkpoint.incident is not None:
        tally = checkpoint.tally
        restore(resource, checkpoint.incident, None if tally is None else bytes(tally), now=now)


def is_checkpoint_due(status: ResourceStatus, *, at: datetime) -> bool:
    """Whether the state of before the windows after `at` is kept."""
    following = at + timedelta(seconds=status.resource.window_s)
    length_s = CHECKPOINT_EVERY.total_seconds()
    is_later = at.timestamp() // length_s != following.timestamp() // length_s
    return bool(status.detector) and is_later


_CHECKPOINT_COLUMNS = {
    "resource_id": "bigint",
    "at": "timestamptz",
    "detector": "text",
    "incident_id": "bigint",
}
_KEEP_CHECKPOINTS = f"""
    INSERT INTO advisor_detectorcheckpoint (resource_id, at, detector, incident, tally)
    SELECT new.resource_id, new.at, new.detector,
           CASE WHEN incident.id IS NOT NULL THEN {JSON_OF_FIGURES} END,
           incident.tally
      FROM {{rows}} LEFT JOIN advisor_incident AS incident ON incident.id = new.incident_id
        ON CONFLICT (resource_id, at) DO NOTHING
"""  # noqa: S608  # of this file
"""What an incident says is copied where it is: reading and writing it takes much longer."""


def keep_checkpoints(due: Iterable[tuple[ResourceStatus, Incident | None, datetime]]) -> None:
    """Keep states and open incidents of before the windows after these times."""
    rows = [
        (status.resource_id, at, status.detector, None if running is None else running.pk)
        for status, running, at in due
    ]
    if rows:
        write_rows(_KEEP_CHECKPOINTS, _CHECKPOINT_COLUMNS, rows)


def thin_checkpoints(*, now: datetime) -> int:
    """Delete checkpoints that are too dense for their age, or older than samples."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM advisor_detectorcheckpoint WHERE at < %(kept)s OR id IN (
                SELECT id FROM (
                    SELECT id, row_number() OVER (
                        PARTITION BY resource_id, date_trunc(
                            CASE WHEN at < %(hourly)s THEN 'day' ELSE 'hour' END,
                            at + interval '1 minute', 'UTC'
                        ) ORDER BY at) AS place
                      FROM advisor_detectorcheckpoint WHERE at < %(dense)s
                ) AS numbered WHERE place > 1
            )
            """,
            {
                "kept": now - retention(),
                "hourly": now - HOURLY_FOR,
                "dense": now - DENSE_FOR,
            },
        )
        deleted: int = cursor.rowcount
        return deleted


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """A window as it was judged before."""

    at: datetime
    state: str
    value: float | None
    threshold: float | None


def take_earlier(
    status: ResourceStatus, *, since: datetime, until: datetime
) -> tuple[Earlier, ...]:
    """Take away what was judged of windows that are judged again now."""
    if not status.is_rejudging:
        return ()
    found = read_windows(status.resource_id, since=since, until=until)
    forget_points(status.resource, since=since, until=until)
    return tuple(
        Earlier(
            at=moment(one.at_us),
            state=one.saying.state,
            value=one.figures[FIGURES.index("value")],
            threshold=one.figures[FIGURES.index("threshold")],
        )
        for one in found
    )


def threshold_then(earlier: Sequence[Earlier], otherwise: Threshold) -> Threshold:
    """The threshold by which windows were judged before, if they were."""
    kept = tuple((one.at, one.threshold) for one in earlier if one.threshold is not None)
    return KeptThreshold(kept=kept, otherwise=otherwise) if kept else otherwise


def keep_earlier(
    status: ResourceStatus, earlier: Sequence[Earlier], points: Sequence[StatePoint]
) -> None:
    """Keep what was judged before, if it is not what is found now."""
    found = [[point.at, str(point.state), point.value] for point in points]
    if not earlier or alike([[one.at, one.state, one.value] for one in earlier], found):
        return
    window = timedelta(seconds=status.resource.window_s)
    assert status.rewound_at is not None
    EarlierStates.objects.create(
        resource_id=status.resource_id,
        since=earlier[0].at - window,
        until=earlier[-1].at,
        replaced_at=status.rewound_at,
        states=list(_runs(earlier, window)),
    )


def _runs(earlier: Sequence[Earlier], window: timedelta) -> Iterable[dict[str, Any]]:
    for state, group in groupby(earlier, key=lambda one: one.state):
        own = list(group)
        values = [one.value for one in own if one.value is not None]
        yield {
            "since": (own[0].at - window).isoformat(),
            "until": own[-1].at.isoformat(),
            "state": state,
            "value": max(values, default=None),
        }
