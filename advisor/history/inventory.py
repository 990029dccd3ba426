"""What is to be read of resources: their devices and allocations, and what counts each.

A worker judges the same resources every few seconds, and what is known of them seldom changes. So
it keeps what it has read, and asks before each use whether a row has changed since.
"""

from __future__ import annotations

import gc
from collections import OrderedDict, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import Q

from advisor.history.agents import Queued, queued
from advisor.history.layout import Layout, Places, layout_of, places_in
from advisor.history.own_times import Mounted, OwnTime, mounted, own_times
from advisor.history.subjects import (
    WAITING_KINDS,
    RateSubjects,
    Wanted,
    device_subject,
    joined_subjects,
    rate_subjects,
    tcp_subject,
)
from advisor.models import AdapterKind, Allocation, Attachment, Resource
from ingest import queries
from ingest.core.catalogue import BLOCK_DEVICE
from ingest.core.figures import CGROUP_IO, INTERFACE, TCP, FigureKind
from ingest.grid_reader import SeriesOfSubjects, Subject, SubjectSeries, array_of, series_of

MOST_KEPT = 20_000
"""Resources and allocations that a process remembers: about 4 kB each."""
LARGE = 1_000
"""The garbage collector is kept away from so many: of 10,000 a round takes as long as a look."""
MOST_PARTS = 3
"""Parts of an inventory that are remembered: the same resources are idle for a while."""


@dataclass(frozen=True, kw_only=True)
class Inventory:
    """What is to be read, by resource; `whole` is that of more resources, of which this is a part;
    `parts` are parts of this that were asked for lately.

    `numbers` (`major:minor`) are those of the devices of allocations on cgroups; an allocation
    without one is not measured. `gone_at` is when the newest vanished of those that are left out.
    """

    resources: Sequence[Resource]
    attachments: Mapping[int, list[Attachment]]
    allocations: Mapping[int, list[Allocation]]
    numbers: Mapping[int, str]
    gone_at: datetime | None = None
    whole: Inventory | None = None
    parts: dict[tuple[int, ...], Inventory] = field(default_factory=dict, repr=False)

    @cached_property
    def size(self) -> int:
        """The number of its resources and allocations."""
        return len(self.resources) + sum(map(len, self.allocations.values()))

    @cached_property
    def subjects(self) -> dict[FigureKind[Any], list[Subject]]:
        """What is read of each kind, each subject once."""
        found: Wanted = defaultdict(list)
        for own in self.rates.values():
            found[INTERFACE] += own.vnics
            found[CGROUP_IO] += own.cgroups
            for kind in WAITING_KINDS:
                found[kind] += filter(None, own.waiting(kind))
        for resource in self.resources:
            reader, attached = resource.traits.reader, self.attachments[resource.pk]
            found[reader.figures] += map(device_subject, attached)
            if reader.with_tcp:
                found[TCP] += map(tcp_subject, attached)
        return {kind: list(dict.fromkeys(subjects)) for kind, subjects in found.items()}

    @cached_property
    def rates(self) -> dict[int, RateSubjects]:
        """Those of the allocations of each resource."""
        known = self.whole.rates if self.whole is not None and self.resources else {}
        return {
            key: known[key] if key in known else rate_subjects(rows, self.numbers)
            for key, rows in self.allocations.items()
        }

    @cached_property
    def all_rates(self) -> RateSubjects:
        """Those of the allocations of all resources, one resource after the other."""
        return joined_subjects(self.rates.values())

    @cached_property
    def queued(self) -> Queued:
        """The allocations of all resources whose queues agents see."""
        return queued(row for rows in self.allocations.values() for row in rows)

    @cached_property
    def shared_adapters(self) -> list[OwnTime]:
        """The times of allocations whose adapter was another's before, or is not theirs now."""
        return own_times([row for rows in self.allocations.values() for row in rows])

    @cached_property
    def mounted(self) -> list[Mounted]:
        """The mounts that count I/O of other allocations, too."""
        return mounted([row for rows in self.allocations.values() for row in rows])

    @cached_property
    def places(self) -> Places:
        """The column of each subject among those of its kind."""
        return places_in(self.subjects)

    @cached_property
    def hosts(self) -> set[int]:
        """Those of the subjects."""
        return {one.host for subjects in self.subjects.values() for one in subjects}

    @cached_property
    def layout(self) -> Layout:
        """Where those of each resource stand."""
        return layout_of(
            self.resources,
            self.attachments,
            self.allocations,
            rates=self.all_rates,
            places=self.places,
        )

    @cached_property
    def series(self) -> SeriesOfSubjects:
        """Those of the subjects."""
        if self.whole is None:
            return series_of(self.subjects)
        known = self.whole.series_by_subject
        return {
            kind: SubjectSeries(
                by_subject=[known[kind][subject] for subject in subjects],
                rates=self.whole.series[kind].rates if kind in self.whole.series else frozenset(),
            )
            for kind, subjects in self.subjects.items()
        }

    def prepare(self) -> None:
        """Work out now what a look asks for, and read which series there are."""
        _ = self.layout, self.series

    @cached_property
    def series_by_subject(self) -> dict[FigureKind[Any], dict[Subject, Sequence[int]]]:
        """The same, to take a part of."""
        return {
            kind: dict(zip(subjects, self.series[kind].by_subject, strict=True))
            for kind, subjects in self.subjects.items()
        }

    def part(self, resources: Sequence[Resource]) -> Inventory:
        """That of some of the resources; nothing is read for it."""
        keys = tuple(one.pk for one in resources)
        if keys == tuple(one.pk for one in self.resources):
            return self
        if keys not in self.parts:
            while len(self.parts) >= MOST_PARTS:
                self.parts.pop(next(iter(self.parts)))
            self.parts[keys] = self._part(resources)
        return self.parts[keys]

    def _part(self, resources: Sequence[Resource]) -> Inventory:
        return Inventory(
            resources=resources,
            attachments={one.pk: self.attachments[one.pk] for one in resources},
            allocations={one.pk: self.allocations[one.pk] for one in resources},
            numbers=self.numbers,
            whole=self,
        )

    def workloads(self, resource: Resource, allocations: Sequence[Allocation]) -> Inventory:
        """These allocations of one of the resources by themselves; nothing is read for it."""
        return Inventory(
            resources=(),
            attachments={},
            allocations={resource.pk: list(allocations)},
            numbers=self.numbers,
            whole=self,
        )


def inventory_of(
    resources: Sequence[Resource],
    allocations: Sequence[Allocation] | None = None,
    *,
    since: datetime | None = None,
) -> Inventory:
    """Of all allocations of the resources, or of those given.

    One that vanished is left out, unless it was still seen after `since`.
    """
    keys = [resource.pk for resource in resources]
    attached: dict[int, list[Attachment]] = {key: [] for key in keys}
    rows = Attachment.objects.filter(resource__in=keys).select_related("host")
    for attachment in rows.order_by("resource_id", "host__name", "device"):
        attached[attachment.resource_id].append(attachment)
    if allocations is None:
        # What is not seen any more got its share by default, so it leaves nothing open.
        is_seen = Q(vanished_at=None)
        if since is not None:
            is_seen |= Q(vanished_at__gt=since)
        every = Allocation.objects.filter(is_seen, resource__in=keys)
        allocations = list(
            every.select_related("workload", "host", "resource").order_by("workload__name", "pk")
        )
    by_resource: dict[int, list[Allocation]] = {key: [] for key in keys}
    for allocation in allocations:
        by_resource[allocation.resource_id].append(allocation)
    return Inventory(
        resources=resources,
        attachments=attached,
        allocations=by_resource,
        numbers=cgroup_device_numbers(
            allocations, [one for found in attached.values() for one in found]
        ),
    )


_STAMP = """
    WITH allocation AS MATERIALIZED (
        SELECT count(*) AS count, max(own.vanished_at) AS vanished_at,
               array_agg(DISTINCT own.host_id) AS hosts,
               sum(hashint8extended(own.id, own.xmin::text::bigint)) AS written,
               sum(hashint8extended(workload.id, workload.xmin::text::bigint)) AS workloads
          FROM advisor_allocation AS own
          JOIN advisor_workload AS workload ON workload.id = own.workload_id
         WHERE own.resource_id = ANY(%(resources)s::bigint[])
    ), attachment AS MATERIALIZED (
        SELECT id, host_id, xmin::text::bigint AS written
          FROM advisor_attachment WHERE resource_id = ANY(%(resources)s::bigint[])
    ), host AS MATERIALIZED (
        SELECT unnest(hosts) AS id FROM allocation UNION SELECT host_id FROM attachment
    )
    SELECT (SELECT vanished_at FROM allocation),
           (SELECT (count(*), sum(hashint8extended(id, xmin::text::bigint)))::text
              FROM advisor_resource WHERE id = ANY(%(resources)s::bigint[])),
           (SELECT (count(*), sum(hashint8extended(id, written)))::text FROM attachment),
           (SELECT (count, written, workloads)::text FROM allocation),
           (SELECT (count(*), sum(hashtextextended(name, id)))::text
              FROM ingest_host WHERE id IN (SELECT id FROM host)),
           (SELECT (count(*), sum(id))::text
              FROM ingest_series WHERE host_id IN (SELECT id FROM host)),
           (SELECT (count(*),
                    sum(hashint8extended(series_id, told[1] << 32 | told[2])))::text
              FROM ingest_told_last(%(table)s, '{major,minor}', ARRAY(
                   SELECT id FROM ingest_series
                    WHERE measurement = %(numbers)s AND host_id IN (SELECT id FROM host))))
"""
"""Each write gives a row another `xmin`; that of a host or series changes with every sample."""

_kept: OrderedDict[Hashable, tuple[Hashable, Inventory]] = OrderedDict()


def kept_inventory(resources: Sequence[Resource]) -> Inventory:
    """That of all their allocations, remembered by this process until a row of it changes.

    It is for those who only read it, as judging does: others get the same objects. Ask for a whole
    group and take a part of it: what is kept is found by all of the resources.
    """
    keys = tuple(resource.pk for resource in resources)
    key = (connection.settings_dict["NAME"], keys)
    with connection.cursor() as cursor:
        cursor.execute(
            _STAMP,
            {
                "resources": array_of(keys),
                "numbers": BLOCK_DEVICE.name,
                "table": BLOCK_DEVICE.table,
            },
        )
        stamp = cursor.fetchone()
    before, inventory = _kept.pop(key, (None, None))
    if inventory is None or before != stamp:
        if inventory is not None:
            # Parts know the whole: without them it goes at once.
            inventory.parts.clear()
        # The stamp is older than what is read now, so a change meanwhile is seen next time.
        inventory = replace(inventory_of(resources), gone_at=stamp[0])
        _spare_collector(inventory)
    _kept[key] = stamp, inventory
    while sum(one.size for _, one in _kept.values()) > MOST_KEPT and len(_kept) > 1:
        _, (_, dropped) = _kept.popitem(last=False)
        dropped.parts.clear()
    return inventory


def _spare_collector(new: Inventory) -> None:
    """Keep the garbage collector from going through what is kept, in which there is no garbage.

    That takes as long as one of its rounds, so what is new must be most of what is kept.
    """
    others = sum(one.size for _, one in _kept.values())
    if new.size < max(LARGE, others):
        return
    new.prepare()
    # What became garbage since the last time goes, so nothing is held for ever.
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def cgroup_device_numbers(
    allocations: Sequence[Allocation], attachments: Sequence[Attachment] | None = None
) -> dict[int, str]:
    """The number (`major:minor`) of the allocated device on the allocation's host, by allocation.

    A host whose collector does not tell the numbers leaves one way to know: a cgroup that does
    I/O on one device only. An allocation on a cgroup of several is left out then. `attachments`
    are those of the resources, if they were read already. Of a virtual disk and of a mount it is
    the name that tells it apart, as their samples have it.
    """
    named = {
        row.pk: row.vdisk
        for row in allocations
        if row.adapter_kind in (AdapterKind.VDISK, AdapterKind.MOUNT)
    }
    cgroups = [row for row in allocations if row.adapter_kind == AdapterKind.CGROUP]
    if not cgroups:
        return named
    if attachments is None:
        attachments = list(
            Attachment.objects.filter(
                resource__in={row.resource_id for row in cgroups},
                host__in={row.host_id for row in cgroups},
            ).order_by("device")
        )
    names = {(one.resource_id, one.host_id): one.device for one in attachments}
    told = queries.device_numbers({row.host_id: row.host for row in cgroups}.values())
    found = named
    untold = []
    for row in cgroups:
        number = told.get((row.host_id, names.get((row.resource_id, row.host_id), "")))
        if number is None:
            untold.append(row)
        else:
            found[row.pk] = number
    if untold:
        seen = queries.cgroup_devices({row.host_id: row.host for row in untold}.values())
        for row in untold:
            devices = seen.get((row.host_id, row.adapter), set())
            if len(devices) == 1:
                (found[row.pk],) = devices
    return found
