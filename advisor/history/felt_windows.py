"""How long I/Os of single workloads took, and how much of that is counted in which layer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

import numpy as np

from advisor.core.device.felt_latency import FeltWindows, Layer, at_mix_ms
from advisor.core.device.latency_layers import LatencyLayers
from advisor.core.own_limit import throttled
from advisor.history.inventory import cgroup_device_numbers
from advisor.history.latency_layers import read_latency_layers
from advisor.history.layout import columns_of
from advisor.history.measured import Measured, read_measured
from advisor.history.subjects import device_subject, rate_subjects
from advisor.models import AdapterKind, Allocation, Attachment, Unit
from ingest.core.figures import (
    CGROUP_IO,
    CLIENT,
    DISK,
    DISK_TIMES,
    HELD,
    OWN_TIME,
    VDISK_TIMES,
    CgroupFigures,
    FigureKind,
    FiguresT,
    TimedFigures,
)
from ingest.core.grid import Flags, Floats, Grid
from ingest.grid_reader import Subject

OF_DATASTORE = "datastore/"
"""vSphere and esxtop count the host's part with that of a datastore of this name."""
OF_EXPORT = ":/"
"""In the name of what a server exports, and of no block device."""

IN_DEVICE = "a network that leads to the device is in the device's time"
TOGETHER = "the client counts them as one, from sending to the answer"
BY_HOST = "the host counts it with the device"
NOT_HELD = "the host does not count it for cgroups without iocost"
NOT_TIMED = "the kernel does not count how long io.max holds I/Os back"

Counted = dict[Layer, Floats]
Absent = dict[Layer, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Disk:
    """One allocation, what counts its I/Os, and the device or export that they go to."""

    row: Allocation
    own: Subject
    device: Subject

    @property
    def client(self) -> Subject:
        """Who counts what is sent to the export."""
        return Subject(host=self.device.host, name=self.device.name)


def read_felt_windows(
    rows: Sequence[Allocation], grid: Grid, *, limits: Mapping[int, Floats]
) -> dict[int, FeltWindows]:
    """By allocation, of those whose device is known; `limits` are (windows), NaN is none."""
    disks = _disks(rows)
    wanted: dict[FigureKind[Any], list[Subject]] = defaultdict(list)
    for one in disks:
        wanted[CGROUP_IO].append(one.own)
        wanted[DISK].append(one.device)
        match one.row.adapter_kind:
            case AdapterKind.CGROUP:
                wanted[HELD].append(one.own)
            case AdapterKind.VDISK:
                wanted[OWN_TIME].append(one.own)
                wanted[CLIENT].append(one.client)
            case AdapterKind.MOUNT:
                wanted[CLIENT].append(one.client)
    if not disks:
        return {}
    measured = read_measured(wanted, grid)
    of_hosts = _said_by_hosts(disks, since=grid.since, until=grid.until)
    found = {}
    for one in disks:
        split = of_hosts.get((one.row.resource_id, one.row.host.name, one.device.name))
        limit = limits[one.row.pk]
        match one.row.adapter_kind:
            case AdapterKind.VDISK:
                found[one.row.pk] = _of_vdisk(one, measured, limit, split)
            case AdapterKind.MOUNT:
                found[one.row.pk] = _of_mount(one, measured, limit)
            case _:
                found[one.row.pk] = _of_cgroup(one, measured, limit)
    return found


def _disks(rows: Sequence[Allocation]) -> list[_Disk]:
    numbers = cgroup_device_numbers(rows)
    attached = Attachment.objects.filter(
        resource__in={row.resource_id for row in rows}, host__in={row.host_id for row in rows}
    )
    # Where a host reaches it by several devices, the first stands for all, as in detection.
    reached = {
        (one.resource_id, one.host_id): device_subject(one) for one in attached.order_by("-device")
    }
    return [
        _Disk(row=row, own=own, device=reached[row.resource_id, row.host_id])
        for row in rows
        if (row.resource_id, row.host_id) in reached
        for own in rate_subjects([row], numbers).cgroups
    ]


def _said_by_hosts(
    disks: Sequence[_Disk], *, since: datetime, until: datetime
) -> dict[tuple[int, str, str], LatencyLayers]:
    """By resource, host and device what ESXi says of all its I/Os."""
    resources = {
        one.row.resource_id: one.row.resource
        for one in disks
        if one.row.adapter_kind == AdapterKind.VDISK
    }
    return {
        (key, said.host, said.device): said.found
        for key, resource in resources.items()
        for said in read_latency_layers(resource, since=since, until=until)
        if isinstance(said.found, LatencyLayers)
    }


def _of_vdisk(
    one: _Disk, measured: Measured, limit: Floats, split: LatencyLayers | None
) -> FeltWindows:
    """Its hypervisor times its I/Os."""
    own = _figures(measured, VDISK_TIMES, one.own)
    counted, absent, rest = _below(one, measured, own, split)
    return FeltWindows(
        ios=(own.read_iops + own.write_iops) * own.seconds,
        whole_ms=_at_mix(own, own),
        counted=counted,
        limited=_limited(one, measured, limit),
        rest=rest,
        absent=absent,
    )


def _below(
    one: _Disk, measured: Measured, own: TimedFigures, split: LatencyLayers | None
) -> tuple[Counted, Absent, Layer]:
    """What is counted of its I/Os after the hypervisor, and the layer of what is left over."""
    name, there = one.device.name, _figures(measured, DISK_TIMES, one.device)
    device_ms = _at_mix(own, there)
    if OF_EXPORT in name:
        counted, absent = _of_client(one, measured)
        return counted, absent, Layer.HOST
    counted, absent = {Layer.DEVICE: device_ms}, {Layer.NETWORK: IN_DEVICE}
    if name.startswith(OF_DATASTORE):
        return counted, {Layer.QUEUE: BY_HOST, **absent}, Layer.UNTOLD
    if split is None:
        return counted, absent, Layer.QUEUE
    counted[Layer.QUEUE] = np.full_like(device_ms, split.queue_ms)
    counted[Layer.HOST] = np.full_like(device_ms, split.kernel_ms)
    return counted, absent, Layer.UNTOLD


def _of_mount(one: _Disk, measured: Measured, limit: Floats) -> FeltWindows:
    """The client times its own I/Os."""
    own = _figures(measured, DISK_TIMES, one.device)
    counted, absent = _of_client(one, measured)
    return FeltWindows(
        ios=(own.read_iops + own.write_iops) * own.seconds,
        whole_ms=_at_mix(own, own),
        counted=counted,
        limited=_limited(one, measured, limit),
        rest=Layer.HOST,
        absent=absent,
    )


def _of_client(one: _Disk, measured: Measured) -> tuple[Counted, Absent]:
    """The queue of a client of NFS, and the time until the answers came."""
    there = _figures(measured, DISK_TIMES, one.device)
    client = _figures(measured, CLIENT, one.client)
    per_s = _some(there.read_iops + there.write_iops)
    counted = {
        Layer.QUEUE: 1000 * client.unsent / per_s,
        Layer.SERVER: 1000 * client.unanswered / per_s,
    }
    return counted, {Layer.NETWORK: TOGETHER, Layer.DEVICE: TOGETHER}


def _of_cgroup(one: _Disk, measured: Measured, limit: Floats) -> FeltWindows:
    """Nobody times its I/Os; iocost counts in which time it holds any of them back."""
    own = _figures(measured, CGROUP_IO, one.own)
    held = _figures(measured, HELD, one.own).held_ratio
    device_ms = _at_mix(own, _figures(measured, DISK_TIMES, one.device))
    counted, absent = {Layer.DEVICE: device_ms}, {Layer.NETWORK: IN_DEVICE}
    if np.isnan(held).all():
        absent[Layer.QUEUE] = NOT_HELD
    else:
        # By Little's law: so many are held on average at least, and they come at this rate.
        counted[Layer.QUEUE] = 1000 * held / _some(own.iops)
    if np.isnan(limit).all():
        counted[Layer.OWN_LIMIT] = np.zeros_like(device_ms)
    else:
        absent[Layer.OWN_LIMIT] = NOT_TIMED
    return FeltWindows(
        ios=own.iops * own.seconds,
        whole_ms=None,
        counted=counted,
        limited=_limited(one, measured, limit),
        rest=Layer.HOST,
        absent=absent,
        at_least=frozenset({Layer.QUEUE}),
    )


def _limited(one: _Disk, measured: Measured, limit: Floats) -> Flags:
    own = _figures(measured, CGROUP_IO, one.own)
    rate = own.iops if one.row.resource.unit == Unit.IOPS else own.bytes_per_s
    return throttled(rate, limit, counted_before=False)


def _figures(measured: Measured, kind: FigureKind[FiguresT], subject: Subject) -> FiguresT:
    """Those of one subject, (windows) each; `kind` may be a part of what was read."""
    columns = columns_of(kind.whole, [subject], measured.places)
    found = measured.figures_at(kind, columns)
    return replace(
        found, **{field.name: getattr(found, field.name)[:, 0] for field in fields(found)}
    )


def _at_mix(own: TimedFigures | CgroupFigures, there: TimedFigures) -> Floats:
    """How long I/Os of this mix took there; what no device did was answered before it."""
    return at_mix_ms(
        reads=own.read_iops,
        writes=own.write_iops,
        read_ms=np.where(there.read_iops == 0, 0.0, there.read_ms),
        write_ms=np.where(there.write_iops == 0, 0.0, there.write_ms),
    )


def _some(rate: Floats) -> Floats:
    return np.where(rate > 0, rate, np.nan)
