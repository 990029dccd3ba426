"""Where the devices and allocations of each resource stand among those of many resources.

An inventory keeps this from one look to the next, so that a look works on whole columns and takes
no step for each allocation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.history.subjects import (
    WAITING_KINDS,
    RateSubjects,
    device_subject,
    tcp_subject,
)
from advisor.models import Allocation, Attachment, Resource
from advisor.resource_kinds.reader import Reader
from ingest.core.figures import CGROUP_IO, DISK, INTERFACE, TCP, FigureKind
from ingest.core.grid import Flags, Floats, Integers
from ingest.grid_reader import Subject

Places = Mapping[FigureKind[Any], Mapping[Subject, int]]
"""The column of each subject in what was read of its kind."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RatePlaces:
    """What the rates of `count` allocations are made of, as columns of what was read.

    Those `on_vnics` have the columns `vnics`, those `on_cgroups` have `cgroups` and are `in_iops`
    where their resource counts I/Os. Others are not measured.
    """

    count: int
    on_vnics: Integers
    vnics: Integers
    on_cgroups: Integers
    cgroups: Integers
    in_iops: Flags


def rate_places(subjects: RateSubjects, places: Places) -> RatePlaces:
    """Where these subjects were read."""
    return RatePlaces(
        count=subjects.count,
        on_vnics=_integers(subjects.on_vnics),
        vnics=columns_of(INTERFACE, subjects.vnics, places),
        on_cgroups=_integers(subjects.on_cgroups),
        cgroups=columns_of(CGROUP_IO, subjects.cgroups, places),
        in_iops=np.array(subjects.in_iops, dtype=np.bool_),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """The places of those allocations of which something was read, and its columns."""

    at: Integers
    columns: Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingPlaces:
    """What tells whether allocations wait, by kind, of `count` allocations on cgroups.

    `devices` has the columns of the device of each on its host.
    """

    count: int
    witnesses: Mapping[FigureKind[Any], Found]
    devices: Found


def waiting_places(
    subjects: RateSubjects, places: Places, devices: Sequence[Subject | None]
) -> WaitingPlaces:
    """Where what tells of these subjects was read; `devices` is that of each, None without."""
    return WaitingPlaces(
        count=len(subjects.cgroups),
        witnesses={kind: _found(kind, subjects.waiting(kind), places) for kind in WAITING_KINDS},
        devices=_found(DISK, devices, places),
    )


def _found(kind: FigureKind[Any], subjects: Sequence[Subject | None], places: Places) -> Found:
    own = places.get(kind, {})
    pairs = [(at, own[one]) for at, one in enumerate(subjects) if one is not None and one in own]
    return Found(
        at=_integers([at for at, _ in pairs]), columns=_integers([column for _, column in pairs])
    )


def columns_of(kind: FigureKind[Any], subjects: Sequence[Subject], places: Places) -> Integers:
    """The columns of these subjects, in their order."""
    own = places[kind] if subjects else {}
    return _integers([own[one] for one in subjects])


def places_in(wanted: Mapping[FigureKind[Any], Sequence[Subject]]) -> Places:
    """Of subjects that are read once each, in this order."""
    return {
        kind: {one: place for place, one in enumerate(subjects)}
        for kind, subjects in wanted.items()
    }


def _integers(values: Sequence[int]) -> Integers:
    return np.array(values, dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllocationHeads:
    """What is known of the allocations of a resource without any sample, in their order.

    `keys`, `reservation` and `limit`, which is infinite if there is none, are (allocations).
    """

    rows: tuple[Allocation, ...]
    keys: Integers
    hosts: tuple[str, ...]
    workloads: tuple[str, ...]
    reservation: Floats
    limit: Floats
    shares: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeviceGroup:
    """The devices of all resources of one kind, one resource after the other.

    `columns` are those of their figures in what was read, `tcp` those of the TCP of their hosts,
    None if it is not read. `parts` says which of them each resource has.
    """

    figures: FigureKind[Any]
    columns: Integers
    tcp: Integers | None
    parts: Mapping[int, slice]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """The allocations of all resources, one resource after the other, and their devices.

    `parts` says which of the allocations each resource has, `place_of` where each is by its key.
    `counted_before` (allocations) is where traffic is counted before a limit. `waiting` is of
    those on cgroups.
    """

    rates: RatePlaces
    waiting: WaitingPlaces
    counted_before: Flags
    parts: Mapping[int, slice]
    place_of: Mapping[int, int]
    heads: Mapping[int, AllocationHeads]
    devices: Sequence[DeviceGroup]
    hosts: Mapping[int, tuple[str, ...]]
    names: Mapping[int, tuple[str, ...]]


def layout_of(
    resources: Sequence[Resource],
    attachments: Mapping[int, Sequence[Attachment]],
    allocations: Mapping[int, Sequence[Allocation]],
    *,
    rates: RateSubjects,
    places: Places,
) -> Layout:
    """That of all that is read; `rates` are those of the allocations of all resources in order."""
    rows = [row for own in allocations.values() for row in own]
    reached = {
        (one.resource_id, one.host_id): device_subject(one)
        for own in attachments.values()
        for one in reversed(own)
    }
    on_cgroups = [rows[place] for place in rates.on_cgroups]
    return Layout(
        rates=rate_places(rates, places),
        waiting=waiting_places(
            rates, places, [reached.get((row.resource_id, row.host_id)) for row in on_cgroups]
        ),
        counted_before=np.array(
            [row.resource.traits.counts_before_limit for row in rows], dtype=np.bool_
        ),
        parts=_parts({key: len(own) for key, own in allocations.items()}),
        place_of={row.pk: place for place, row in enumerate(rows)},
        heads={key: _heads(own) for key, own in allocations.items()},
        devices=_device_groups(resources, attachments, places),
        hosts={key: tuple(one.host.name for one in own) for key, own in attachments.items()},
        names={key: tuple(one.device for one in own) for key, own in attachments.items()},
    )


def _parts(counts: Mapping[int, int]) -> dict[int, slice]:
    ends = np.cumsum(list(counts.values())).tolist()
    return {
        key: slice(end - count, end)
        for (key, count), end in zip(counts.items(), ends, strict=True)
    }


def _heads(rows: Sequence[Allocation]) -> AllocationHeads:
    return AllocationHeads(
        rows=tuple(rows),
        keys=_integers([row.pk for row in rows]),
        hosts=tuple(row.host.name for row in rows),
        workloads=tuple(row.workload.name for row in rows),
        reservation=np.array([row.reservation for row in rows], dtype=np.float64),
        limit=np.array(
            [np.inf if row.limit is None else row.limit for row in rows], dtype=np.float64
        ),
        shares=tuple(row.weight for row in rows),
    )


def _device_groups(
    resources: Sequence[Resource], attachments: Mapping[int, Sequence[Attachment]], places: Places
) -> list[DeviceGroup]:
    alike: dict[str, dict[int, Sequence[Attachment]]] = defaultdict(dict)
    readers: dict[str, Reader[Any]] = {}
    for resource in resources:
        readers[resource.traits.name] = resource.traits.reader
        alike[resource.traits.name][resource.pk] = attachments[resource.pk]
    return [_device_group(own, readers[name], places) for name, own in alike.items()]


def _device_group(
    attachments: Mapping[int, Sequence[Attachment]], reader: Reader[Any], places: Places
) -> DeviceGroup:
    every = [one for own in attachments.values() for one in own]
    tcp = list(map(tcp_subject, every)) if reader.with_tcp else []
    return DeviceGroup(
        figures=reader.figures,
        columns=columns_of(reader.figures, list(map(device_subject, every)), places),
        tcp=columns_of(TCP, tcp, places) if reader.with_tcp else None,
        parts=_parts({key: len(own) for key, own in attachments.items()}),
    )
