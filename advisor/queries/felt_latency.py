"""Where the time of a workload's I/Os goes, on each of its disks and mounts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from advisor.core.device.felt_latency import FeltLatency, NoFeltLatency, felt_latency
from advisor.core.stored_hour import WINDOW_S
from advisor.history.felt_windows import read_felt_windows
from advisor.models import AdapterKind, Allocation, Incident, Resource, Workload
from advisor.queries.promises import promised_in, promises_of
from ingest.core.grid import grid_of

LENGTH = timedelta(hours=1)
"""What ESXi says of its kernel is kept for hours alone."""
LONGEST = timedelta(hours=2)
"""Of a long incident the beginning is looked at, as for its cause."""
MOST_DISKS = 50
_NO_DEVICE = "it is not known which device of its host its I/Os go to"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLatency:
    """One disk or mount of a workload, and what an I/O takes there or why that is not told.

    `name` is what tells it from the others beside it: its resource's, or its workload's.
    """

    name: str
    allocation: Allocation
    resource: Resource
    found: FeltLatency | NoFeltLatency


def disk_latencies(workload: Workload, *, now: datetime) -> list[DiskLatency]:
    """Those of its present disks over the last hour, in order of their resources."""
    rows = workload.allocations.filter(vanished_at=None).exclude(adapter_kind=AdapterKind.VNIC)
    ordered = rows.select_related("resource", "host", "workload").order_by(
        "resource__name", "host__name", "vdisk", "pk"
    )
    found = list(ordered[:MOST_DISKS])
    names = [row.resource.name for row in found]
    return _latencies(found, names, since=now - LENGTH, until=now)


def victim_latencies(
    incident: Incident, *, now: datetime, most: int = MOST_DISKS
) -> list[DiskLatency]:
    """Those of its first so many victims in the beginning of the incident, in their order."""
    if not incident.resource.traits.costs_by_size:
        return []
    order = {one["workload"]: place for place, one in enumerate(incident.victims[:most])}
    rows = incident.resource.allocations.filter(workload__name__in=list(order))
    found = list(rows.select_related("resource", "host", "workload").order_by("pk"))
    found.sort(key=lambda row: order[row.workload.name])
    del found[most:]
    until = min(now, incident.ended_at or now, incident.started_at + LONGEST)
    names = [row.workload.name for row in found]
    return _latencies(found, names, since=incident.started_at, until=until)


def _latencies(
    rows: Sequence[Allocation], names: Sequence[str], *, since: datetime, until: datetime
) -> list[DiskLatency]:
    grid = grid_of(since, until, float(WINDOW_S))
    limits = {key: promised_in(own, grid)[1] for key, own in promises_of(rows).items()}
    windows = read_felt_windows(rows, grid, limits=limits)
    return [
        DiskLatency(
            name=name,
            allocation=row,
            resource=row.resource,
            found=felt_latency(windows[row.pk])
            if row.pk in windows
            else NoFeltLatency(reason=_NO_DEVICE),
        )
        for row, name in zip(rows, names, strict=True)
    ]


def latency_document(one: DiskLatency) -> dict[str, Any]:
    """The same for commands and the API; a time of None is not known, for its reason."""
    own, found = one.allocation, one.found
    told = found if isinstance(found, FeltLatency) else None
    return {
        "resource": one.resource.name,
        "host": own.host.name,
        "disk": own.vdisk or own.adapter,
        "whole_ms": None if told is None else told.whole_ms,
        "ios": None if told is None else told.ios,
        "layers": [
            {
                "layer": part.layer.value,
                "ms": part.ms,
                "is_least": part.is_least,
                "reason": part.reason,
            }
            for part in (() if told is None else told.layers)
        ],
        "reason": found.reason if isinstance(found, NoFeltLatency) else "",
    }
