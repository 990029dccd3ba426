"""Which windows of a resource are complete, so that they can be judged."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from advisor.models import AdapterKind, Attachment, Resource
from ingest import queries
from ingest.core.figures import CGROUP_IO, PRESSURE, TCP
from ingest.core.grid import SNAP_RATIO

PATIENCE = timedelta(seconds=10)
"""So long after its end a window waits for samples; later ones are judged again."""
RECENT_WINDOWS = 3
"""A series that sent in so many windows before is waited for."""


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
    hosts: dict[int, set[int]] = defaultdict(set)
    heard: dict[int, datetime] = {}
    attached = Attachment.objects.filter(resource__in=[resource.pk for resource in resources])
    for resource, host, at in attached.values_list("resource_id", "host_id", "host__heard_at"):
        hosts[resource].add(host)
        if at is not None:
            heard[resource] = max(at, heard.get(resource, at))
    ready: set[int] = set()
    for window_s in {resource.window_s for resource in resources}:
        alike = {one.pk: one for one in resources if one.window_s == window_s}
        ready |= _ready(alike, hosts, window_s=window_s, end=last_window_end(now, window_s))
    return {
        one.pk: Whole(
            end=last_window_end(now if one.pk in ready else now - PATIENCE, one.window_s),
            heard_at=heard.get(one.pk),
        )
        for one in resources
    }


def _ready(
    resources: dict[int, Resource],
    hosts: dict[int, set[int]],
    *,
    window_s: float,
    end: datetime,
) -> set[int]:
    """The resources all of whose series have sent for the window that ends then."""
    length = timedelta(seconds=window_s)
    wanted = {
        key: {(host, name) for host in hosts[key] for name in _measurements(resource)}
        for key, resource in resources.items()
    }
    oldest = queries.oldest_of_senders(
        hosts={host for pairs in wanted.values() for host, _ in pairs},
        measurements={name for pairs in wanted.values() for _, name in pairs},
        since=end - RECENT_WINDOWS * length,
    )
    # A reading this close to the edge counts as taken at the edge.
    sent_at = end - SNAP_RATIO * length
    # Where nothing was sent lately, nobody can say what is still to come.
    return {
        key
        for key, pairs in wanted.items()
        if (found := [oldest[pair] for pair in pairs if pair in oldest]) and min(found) >= sent_at
    }


def _measurements(resource: Resource) -> set[str]:
    """What its windows are made of."""
    reader = resource.traits.reader
    found = {reader.measurement.name}
    if reader.with_tcp:
        found.add(TCP.measurement.name)
    if resource.traits.adapter == AdapterKind.CGROUP:
        found |= {CGROUP_IO.measurement.name, PRESSURE.measurement.name}
    return found


def last_window_end(moment: datetime, window_s: float) -> datetime:
    """The end of the last window that was over at this moment."""
    # Collectors may stamp a sample slightly before the edge of the window.
    index = math.floor((moment.timestamp() + 0.001) / window_s)
    return datetime.fromtimestamp(index * window_s, UTC)
