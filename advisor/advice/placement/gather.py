"""What advice on placement is computed from: all datastores, or all uplinks, of a tenant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from math import inf, isclose

import numpy as np

from advisor.advice.host_placement.decide.host_inputs import (
    CarriedSource,
    HostPlacementAdvice,
    HostPlacementInputs,
    HostUplinks,
    NetworkWorkload,
)
from advisor.advice.host_placement.decide.host_placement import FIX_WITHIN_S
from advisor.advice.placement.decide.device_line import SeenModel
from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs, VdiskState
from advisor.advice.shared.vdisk_names import vdisk_names
from advisor.core.canonical import loads
from advisor.core.device.device_fit import DeviceFit, FitRefused, fit_device
from advisor.core.device.device_model import DeviceModel, MixPoint, fit_device_model
from advisor.core.iosize import size_cost
from advisor.core.resource import PAYLOAD_RATIO
from advisor.history.load_points import DeviceWindow, device_windows
from advisor.history.observe import AllocationWindow, allocation_windows
from advisor.history.tiers import shares_of
from advisor.history.windows import Span
from advisor.models import (
    Allocation,
    Incident,
    RecommendationState,
    Resource,
    ResourceKind,
    StatePoint,
    Topic,
    Unit,
)

LOAD_SPAN = timedelta(days=1)
LOAD_PERCENTILE = 90
"""Storage DRS compares the 90th percentile over a day (algorithms reference, section 7)."""

LOOK_EVERY = timedelta(seconds=30)
"""Uplinks are looked at so often; a violation found now began after the look before."""

DEFAULT_IO_BYTES = 8000.0
DEFAULT_READ_RATIO = 0.5
"""Count for a virtual disk that did no I/O."""

DEFAULT_COPY_BYTES_PER_S = 100e6
"""A conservative rate for copying a virtual disk; state the datastore's own where it is known."""


def placement_inputs(resource: Resource, now: datetime) -> list[PlacementInputs]:
    """For a datastore that was congested in the last day, beside all others of known size."""
    recent = Incident.objects.filter(resource=resource).exclude(ended_at__lt=now - LOAD_SPAN)
    if resource.is_uplink or not recent.exists():
        return []
    stores = list(
        Resource.objects.filter(
            organisation=resource.organisation,
            kind=ResourceKind.DATASTORE,
            unit=Unit.IOPS,
            size_bytes__isnull=False,
        ).order_by("name")
    )
    if resource.pk not in {store.pk for store in stores} or len(stores) < 2:
        return []
    windows = {store.pk: device_windows(store, until=now) for store in stores}
    allocations = [allocation for store in stores for allocation in _allocations(store)]
    vdisks = [
        vdisk
        for allocation, name in zip(allocations, vdisk_names(allocations), strict=True)
        if (vdisk := _vdisk(allocation, name, now)) is not None
    ]
    return [
        PlacementInputs(
            datastores=tuple(_datastore(store, windows[store.pk], vdisks) for store in stores),
            vdisks=tuple(vdisks),
            now=now,
            threshold_ms=resource.threshold * _mean_cost(windows[resource.pk]),
            samples=sum(len(found) for found in windows.values()),
        )
    ]


def _mean_cost(windows: Sequence[DeviceWindow]) -> float:
    """By how much longer I/Os take at their own size than at that of the stated threshold."""
    ios = sum(window.iops for window in windows)
    return size_cost(sum(window.bytes_per_s for window in windows) / ios) if ios > 0 else 1.0


def _allocations(store: Resource) -> list[Allocation]:
    allocations = store.allocations.filter(size_bytes__isnull=False)
    return list(allocations.select_related("workload", "host", "resource").order_by("pk"))


def _datastore(
    store: Resource, windows: Sequence[DeviceWindow], vdisks: Sequence[VdiskState]
) -> DatastoreState:
    fit = fit_device([window.load_point for window in windows])
    line = fit if isinstance(fit, DeviceFit) else None
    mixes = [point for window in windows if (point := window.mix_point) is not None]
    model = fit_device_model(mixes)
    own = [one for one in vdisks if one.datastore == store.name]
    return DatastoreState(
        datastore=store.name,
        intercept_ms=line.intercept_ms if line else None,
        slope_ms=line.slope_ms if line else None,
        capacity_bytes=store.size_bytes or 0.0,
        used_bytes=store.used_bytes or 0.0,
        copy_bytes_per_s=store.copy_bytes_per_s or DEFAULT_COPY_BYTES_PER_S,
        other_outstanding_io=_rest(
            [window.outstanding_io for window in windows], [one.outstanding_io for one in own]
        ),
        other_iops=_rest([window.iops for window in windows], [one.iops for one in own]),
        disks=store.disks,
        auto_tiered=store.auto_tiered,
        seen_model=_seen(model, mixes) if isinstance(model, DeviceModel) else None,
        model_gap=model.reason if isinstance(model, FitRefused) else "",
        line_gap=fit.reason if isinstance(fit, FitRefused) else "",
    )


def _rest(whole: Sequence[float], own: Sequence[float]) -> float:
    """What the device carries beyond the virtual disks that are looked at."""
    if not whole:
        return 0.0
    return max(float(np.percentile(whole, LOAD_PERCENTILE)) - sum(own), 0.0)


def _seen(model: DeviceModel, mixes: Sequence[MixPoint]) -> SeenModel:
    """The model with the mixes that it was fitted on."""
    sizes = [point.mean_io_bytes for point in mixes]
    reads = [point.read_ratio for point in mixes]
    return SeenModel(
        model=model,
        least_io_bytes=min(sizes),
        most_io_bytes=max(sizes),
        least_read_ratio=min(reads),
        most_read_ratio=max(reads),
    )


def _vdisk(allocation: Allocation, name: str, now: datetime) -> VdiskState | None:
    """None if the virtual disk sent no samples in the last day."""
    span = Span(since=now - LOAD_SPAN, until=now, window_s=allocation.resource.window_s)
    rates = allocation_windows(allocation, span=span)
    if not rates:
        return None
    iops = float(np.percentile([found.rate for found in rates], LOAD_PERCENTILE))
    sizes = [found.mean_io_bytes for found in rates if found.mean_io_bytes is not None]
    reads = [found.read_ratio for found in rates if found.read_ratio is not None]
    return VdiskState(
        vdisk=name,
        workload=allocation.workload.name,
        datastore=allocation.resource.name,
        size_bytes=allocation.size_bytes or 0.0,
        outstanding_io=_outstanding_io(allocation, rates),
        iops=iops,
        mean_io_bytes=float(np.median(sizes)) if sizes else DEFAULT_IO_BYTES,
        read_ratio=float(np.median(reads)) if reads else DEFAULT_READ_RATIO,
        moved_at=allocation.moved_at,
    )


def _outstanding_io(allocation: Allocation, rates: Sequence[AllocationWindow]) -> float:
    """By Little's law, window by window: nobody counts a cgroup's requests in flight.

    The latency that is stored is that of the reference size; larger I/Os took longer.
    """
    points = StatePoint.objects.filter(
        resource=allocation.resource, at__in=[found.at for found in rates], value__isnull=False
    )
    stored = points.values_list("at", "value")
    latency_ms = {at: value for at, value in stored if value is not None}
    found = [
        one.rate * size_cost(one.mean_io_bytes) * latency_ms[one.at] / 1000
        for one in rates
        if one.at in latency_ms
    ]
    return float(np.percentile(found, LOAD_PERCENTILE)) if found else 0.0


def host_placement_inputs(resource: Resource, now: datetime) -> list[HostPlacementInputs]:
    """For an uplink whose reservations exceed what may be reserved, beside all other hosts."""
    reservable = resource.reservable
    promised = sum(allocation.reservation for allocation in resource.allocations.all())
    if not resource.is_uplink or reservable is None or promised <= reservable * (1 + 1e-9):
        return []
    uplinks = Resource.objects.filter(
        organisation=resource.organisation, kind=ResourceKind.UPLINK, capacity__isnull=False
    )
    rates: dict[str, list[float]] = defaultdict(list)
    carries: dict[str, tuple[float, CarriedSource]] = {}
    workloads: dict[str, NetworkWorkload] = {}
    for uplink in uplinks.order_by("name"):
        attachment = uplink.attachments.select_related("host").get()
        host = attachment.host.name
        promises = _promises(uplink)
        rates[host].append(uplink.line_rate or uplink.capacity or 0.0)
        carries[host] = min(carries.get(host, _ENDLESS), _carried(uplink))
        for allocation in uplink.allocations.select_related("workload").order_by("pk"):
            granted = promises.get(allocation.pk)
            asked = NetworkWorkload(
                workload=allocation.workload.name,
                host=host,
                reservation_bits_per_s=allocation.reservation,
                limit_bits_per_s=allocation.limit,
                shares=float(shares_of(allocation)),
                promised=granted is None or allocation.reservation <= granted,
                rank=allocation.pk,
            )
            before = workloads.get(asked.workload)
            workloads[asked.workload] = asked if before is None else _together(before, asked)
    since = _violated_since(resource, now)
    return [
        HostPlacementInputs(
            hosts=tuple(
                HostUplinks(
                    host=host,
                    uplink_bits_per_s=tuple(rates[host]),
                    carries_bits_per_s=carries[host][0],
                    carries_source=carries[host][1],
                    violated_since=since.get(host, now - LOOK_EVERY),
                )
                for host in sorted(rates)
            ),
            workloads=tuple(workloads.values()),
            now=now,
            reservable_ratio=resource.reservable_ratio,
        )
    ]


_ENDLESS = (inf, CarriedSource.STATED)


def _carried(uplink: Resource) -> tuple[float, CarriedSource]:
    """What an uplink of known capacity carries, and whether a person said so."""
    capacity = uplink.capacity or inf
    assumed = uplink.discovered and isclose(capacity, PAYLOAD_RATIO * (uplink.line_rate or 0.0))
    return capacity, CarriedSource.ASSUMED if assumed else CarriedSource.STATED


def _promises(uplink: Resource) -> dict[int, float]:
    """What the policy in force grants each allocation of an uplink, as far as it knows them."""
    policy = uplink.policies.order_by("-version").first()
    return {
        item["allocation"]: item["reservation"] for item in (policy.allocations if policy else ())
    }


def _violated_since(resource: Resource, now: datetime) -> dict[str, datetime]:
    """Per host, when its violation began at the latest, as the open advice says.

    So the time by which it has to end does not move on when the advice changes.
    """
    open_one = resource.recommendations.filter(
        topic=Topic.HOST_PLACEMENT, state=RecommendationState.PROPOSED, expires_at__gt=now
    ).first()
    if open_one is None:
        return {}
    found: dict[str, datetime] = {}
    for move in loads(HostPlacementAdvice, open_one.answer).moves:
        if move.source is not None and move.due_at is not None:
            began = move.due_at - timedelta(seconds=FIX_WITHIN_S)
            found[move.source] = min(began, found.get(move.source, began))
    return found


def _together(one: NetworkWorkload, other: NetworkWorkload) -> NetworkWorkload:
    """A workload with allocations on several uplinks moves with all of them."""
    limits = (one.limit_bits_per_s, other.limit_bits_per_s)
    return replace(
        one,
        reservation_bits_per_s=one.reservation_bits_per_s + other.reservation_bits_per_s,
        promised=one.promised and other.promised,
        limit_bits_per_s=None if None in limits else sum(limit or 0.0 for limit in limits),
    )
