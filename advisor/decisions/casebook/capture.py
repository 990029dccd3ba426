"""From an incident to a bundle: what its analysis read, under names that say nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from advisor.core.allocation import ReservationMode
from advisor.core.casebook.bundle import (
    KNOWN_MS,
    LAST_GAUGE,
    Bundle,
    CapturedAllocation,
    CapturedResource,
    CapturedSubject,
    Device,
    Part,
    Track,
    parts_of,
)
from advisor.core.casebook.pseudonyms import Pseudonyms, week_shift
from advisor.core.casebook.sample_lines import KINDS
from advisor.core.chunk import UNKNOWN, Integers
from advisor.core.resource import ResourceKind, Tier, Unit
from advisor.core.stored_hour import WINDOW_S
from advisor.history.inventory import Inventory, inventory_of
from advisor.history.measured import Measured, measure
from advisor.models import AdapterKind, Allocation, Attachment, Incident, Resource
from ingest.core.figures import CGROUP_IO, HELD, OWN_TIME, PRESSURE, TCP
from ingest.core.grid import NOT_SENT, Flags, GridGrowth, grid_around
from ingest.grid_reader import Subject

BEFORE = timedelta(hours=25)
"""A day that shows what is usual, and the hour in which congestion was recognised."""
AFTER = timedelta(minutes=30)
_NUMBER = re.compile(r"\d+:\d+")


def capture(
    incident: Incident, *, names: Pseudonyms, now: datetime, before: timedelta = BEFORE
) -> Bundle:
    """What was stored of the resource of an incident around it, without a real name."""
    resource = incident.resource
    until = min((incident.ended_at or now) + AFTER, now)
    grid = grid_around(incident.started_at - before, until, WINDOW_S)
    inventory = inventory_of([resource], since=grid.since)
    rows: list[Attachment | Allocation] = [*inventory.attachments[resource.pk]]
    rows += inventory.allocations[resource.pk]
    hosts = {one.host_id: names.of("host", one.host.name) for one in rows}
    naming = _Naming(names, hosts)
    shift = week_shift(grid.since)
    return Bundle(
        resource=_resource(incident, inventory, naming),
        since=grid.since + shift,
        until=grid.until + shift,
        tracks=_tracks(measure(inventory, grid), inventory, naming),
    )


class _Naming:
    """The names in a bundle of what has a name in the database."""

    def __init__(self, names: Pseudonyms, hosts: dict[int, str]) -> None:
        self._names = names
        self._hosts = hosts

    def host(self, key: int) -> str:
        return self._hosts[key]

    def device(self, name: str) -> str:
        return self._names.of("device", name)

    def of_cgroup(self, device: str) -> str:
        """What cgroups call a device says nothing; disks of guests and exports have names."""
        is_number = _NUMBER.fullmatch(device) is not None
        return device if is_number or not device else self.device(device)

    def cgroup(self, path: str) -> str:
        return self._names.of_cgroup(path)

    def workload(self, name: str) -> str:
        return self._names.of("workload", name)

    def resource(self, name: str) -> str:
        return self._names.of("resource", name)

    def adapter(self, row: Allocation) -> str:
        if row.adapter_kind == AdapterKind.VNIC:
            return self.device(row.adapter)
        return self.cgroup(row.adapter)

    def subject(self, kind: str, subject: Subject) -> CapturedSubject:
        is_cgroup = kind in (CGROUP_IO.name, HELD.name, OWN_TIME.name, PRESSURE.name)
        if kind == TCP.name:
            name = subject.name
        else:
            name = self.cgroup(subject.name) if is_cgroup else self.device(subject.name)
        device = self.of_cgroup(subject.device)
        return CapturedSubject(host=self.host(subject.host), name=name, device=device)


def _resource(incident: Incident, inventory: Inventory, naming: _Naming) -> CapturedResource:
    resource = incident.resource
    return CapturedResource(
        name=naming.resource(resource.name),
        kind=ResourceKind(resource.kind),
        unit=Unit(resource.unit),
        mode=ReservationMode(resource.mode),
        window_s=resource.window_s,
        threshold=resource.threshold if incident.threshold is None else incident.threshold,
        activity_floor=resource.activity_floor,
        reservable_ratio=resource.reservable_ratio,
        capacity=resource.capacity,
        line_rate=resource.line_rate,
        devices=_devices(resource, inventory, naming),
        allocations=tuple(
            CapturedAllocation(
                workload=naming.workload(row.workload.name),
                kind=row.workload.kind,
                tier=Tier(row.workload.tier),
                host=naming.host(row.host_id),
                adapter_kind=row.adapter_kind,
                adapter=naming.adapter(row),
                vdisk=naming.device(row.vdisk) if row.vdisk else "",
                reservation=row.reservation,
                limit=row.limit,
                shares=row.shares,
            )
            for row in inventory.allocations[resource.pk]
        ),
    )


def _devices(resource: Resource, inventory: Inventory, naming: _Naming) -> tuple[Device, ...]:
    """With the number by which the cgroups of the host count it."""
    numbers = {
        row.host_id: inventory.numbers[row.pk]
        for row in inventory.allocations[resource.pk]
        if row.adapter_kind == AdapterKind.CGROUP and row.pk in inventory.numbers
    }
    return tuple(
        Device(
            host=naming.host(one.host_id),
            name=naming.device(one.device),
            number=numbers.get(one.host_id, ""),
        )
        for one in inventory.attachments[resource.pk]
    )


def _tracks(measured: Measured, inventory: Inventory, naming: _Naming) -> tuple[Track, ...]:
    found = []
    for kind in KINDS:
        subjects = inventory.subjects.get(kind, [])
        if not subjects:
            continue
        columns = [measured.places[kind][subject] for subject in subjects]
        growth = measured.growth[kind].chosen(np.array(columns, dtype=np.int64))
        found.append(
            Track(
                kind=kind.name,
                subjects=tuple(naming.subject(kind.name, one) for one in subjects),
                parts=tuple(_parts(growth)),
            )
        )
    return tuple(found)


def _parts(growth: GridGrowth) -> Sequence[Part]:
    known_ms = np.rint(growth.seconds * 1000).astype(np.int64)
    is_known = known_ms > 0
    parts = parts_of(known_ms, KNOWN_MS)
    for counter, grown in enumerate(growth.growth):
        parts += parts_of(_or_unknown(grown, is_known), counter)
    for number, gauge in enumerate(growth.gauges):
        at_ends = gauge[1:]
        parts += parts_of(_or_unknown(at_ends, at_ends != NOT_SENT), LAST_GAUGE - number)
    return parts


def _or_unknown(values: Integers, is_known: Flags) -> Integers:
    found: Integers = np.where(is_known, values, UNKNOWN)
    return found
