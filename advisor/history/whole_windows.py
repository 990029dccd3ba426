"""Which windows of a resource are complete, who has new ones, and which a look judges next.

They are judged in order, the oldest first, in portions that end soon.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db import connection

from advisor.history.stored.retention import exact_since
from advisor.history.subjects import WAITING_KINDS
from advisor.models import AdapterKind, Attachment, Resource
from ingest.core.figures import CGROUP_IO, TCP
from ingest.core.grid import EPOCH, SNAP_RATIO, grid_of
from ingest.grid_reader import array_of
from ingest.models import Series

PATIENCE = timedelta(seconds=10)
"""So long after its end a window waits for samples; later ones are judged again."""
RECENT_WINDOWS = 3
"""A series that sent in so many windows before is waited for."""

HOUR = timedelta(hours=1)
MOST_WINDOWS = 3_600
"""Windows of all resources together in one transaction: an hour of ten, some seconds of work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """The end of the newest complete window, and when one of its hosts was heard last."""

    end: datetime
    heard_at: datetime | None


def whole_windows(resource: Resource, *, now: datetime) -> datetime:
    """The end of the last complete window of a resource."""
    return whole_windows_of([resource], now=now)[resource.pk].end


def whole_windows_of(resources: Collection[Resource], *, now: datetime) -> dict[int, Whole]:
    """The same for many resources, by key, in a statement per length of their windows.

    A window is complete when every series of its hosts that sent in the last three windows has
    sent for it, and in any case 10 s after its end.
    """
    found: dict[int, Whole] = {}
    for window_s in {resource.window_s for resource in resources}:
        alike = [one for one in resources if one.window_s == window_s]
        end = last_window_end(now, window_s)
        length = timedelta(seconds=window_s)
        # A reading this close to the edge counts as taken at the edge.
        sent_at = end - SNAP_RATIO * length
        for sent in _newest_sent(alike, since=end - RECENT_WINDOWS * length):
            # Where nothing was sent lately, nobody can say what is still to come.
            is_ready = sent.oldest is not None and sent.oldest >= sent_at
            found[sent.resource] = Whole(
                end=last_window_end(now if is_ready else now - PATIENCE, window_s),
                heard_at=sent.heard_at,
            )
    return found


class _Sent(NamedTuple):
    """When a host of a resource was heard last, and of its series the oldest last sample."""

    resource: int
    heard_at: datetime | None
    oldest: datetime | None


def _newest_sent(resources: Sequence[Resource], *, since: datetime) -> list[_Sent]:
    """That of each of them; of series, those that sent after `since` what its windows are of."""
    wanted = [(one.pk, name) for one in resources for name in sorted(_measurements(one))]
    with connection.cursor() as cursor:
        cursor.execute(
            _SENT,
            [array_of(key for key, _ in wanted), [name for _, name in wanted], since],
        )
        return [_Sent(*row) for row in cursor.fetchall()]


_SENT = """
    WITH wanted AS MATERIALIZED (
        SELECT * FROM unnest(%s::bigint[], %s::text[]) AS wanted(resource_id, measurement)
    ), attached AS MATERIALIZED (
        SELECT resource_id, host_id FROM advisor_attachment
         WHERE resource_id IN (SELECT resource_id FROM wanted)
    ), oldest AS MATERIALIZED (
        SELECT host_id, measurement, min(last_sample_at) AS at FROM ingest_series
         WHERE host_id IN (SELECT host_id FROM attached) AND last_sample_at > %s
         GROUP BY host_id, measurement
    )
    SELECT wanted.resource_id, max(host.heard_at), min(oldest.at)
      FROM wanted
      LEFT JOIN attached USING (resource_id)
      LEFT JOIN ingest_host AS host ON host.id = attached.host_id
      LEFT JOIN oldest
        ON oldest.host_id = attached.host_id AND oldest.measurement = wanted.measurement
     GROUP BY wanted.resource_id
"""


def _measurements(resource: Resource) -> set[str]:
    """What its windows are made of."""
    reader = resource.traits.reader
    found = {reader.measurement.name}
    if reader.with_tcp:
        found.add(TCP.measurement.name)
    if resource.traits.adapter == AdapterKind.CGROUP:
        found |= {kind.measurement.name for kind in (CGROUP_IO, *WAITING_KINDS)}
    return found


def last_window_end(moment: datetime, window_s: float) -> datetime:
    """The end of the last window that was over at this moment."""
    # Collectors may stamp a sample slightly before the edge of the window.
    index = math.floor((moment.timestamp() + 0.001) / window_s)
    return datetime.fromtimestamp(index * window_s, UTC)


def portion_end(since: datetime, end: datetime, *, window_s: float, most: int) -> datetime:
    """The end of the next portion of the windows that end in (since, end].

    It has at most `most` windows, of one hour of the clock, by the ends of the windows.
    """
    window = timedelta(seconds=window_s)
    first = grid_of(since, since + 2 * window, window_s).ends[0]
    begin = hour_of(first)
    last = grid_of(begin, begin + HOUR - timedelta(microseconds=1), window_s).until
    return min(end, max(first, last), first + (most - 1) * window)


def hour_of(at: datetime) -> datetime:
    """The beginning of the hour."""
    return at - (at - EPOCH) % HOUR


def first_samples(resources: Iterable[Resource], *, now: datetime) -> dict[int, datetime]:
    """When the devices of each resource sent their first sample that is kept, by its key.

    A resource whose devices have sent nothing is left out.
    """
    by_key = {resource.pk: resource for resource in resources}
    if not by_key:
        return {}
    kept = exact_since({one.organisation_id for one in resources}, now=now)
    devices: dict[tuple[int, str, str], int] = {}
    wanted: dict[str, set[int]] = defaultdict(set)
    for one in Attachment.objects.filter(resource__in=by_key):
        measurement = by_key[one.resource_id].traits.reader.measurement.name
        devices[one.host_id, measurement, one.device] = one.resource_id
        wanted[measurement].add(one.host_id)
    found: dict[int, datetime] = {}
    for measurement, hosts in wanted.items():
        rows = Series.objects.filter(
            host__in=hosts,
            measurement=measurement,
            subject__in={device for _, name, device in devices if name == measurement},
        ).exclude(first_sample_at=None)
        for host, device, at in rows.values_list("host_id", "subject", "first_sample_at"):
            resource = devices.get((host, measurement, device))
            if resource is not None and at is not None:
                oldest = kept[by_key[resource].organisation_id]
                found[resource] = max(oldest, min(at, found.get(resource, at)))
    return found


CLOCK_SKEW = timedelta(minutes=1)
"""What is judged further ahead was judged while the clock was ahead; see `pipeline.rejudge`."""
LOOK_AGAIN = timedelta(seconds=30)
"""So long after a look there is another one, with a new window or without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A resource that is to be looked at, and its newest complete window."""

    resource: Resource
    whole: Whole


def with_new_windows(resources: Sequence[Resource], *, now: datetime) -> list[Waiting]:
    """Those of them, those that late samples changed, and those that nobody looked at for a while.

    Where no window ended since the last look, it costs one statement.
    """
    judged = _looked_at(resources, now=now)
    ended = [
        one
        for one in resources
        if one.pk not in judged or judged[one.pk] < last_window_end(now, one.window_s)
    ]
    whole = whole_windows_of(ended, now=now) if ended else {}
    return [
        Waiting(resource=one, whole=whole[one.pk])
        for one in ended
        if one.pk not in judged or judged[one.pk] < whole[one.pk].end
    ]


def _looked_at(resources: Sequence[Resource], *, now: datetime) -> dict[int, datetime]:
    """Until when those are judged that were looked at lately, and that no late sample changed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT resource_id, judged_until FROM advisor_resourcestatus AS status"
            " WHERE resource_id = ANY(%s::bigint[]) AND judged_until <= %s"
            " AND looked_at > %s AND NOT EXISTS ("
            " SELECT FROM advisor_latechange AS late WHERE late.resource_id = status.resource_id)",
            [array_of(one.pk for one in resources), now + CLOCK_SKEW, now - LOOK_AGAIN],
        )
        return dict(cursor.fetchall())
