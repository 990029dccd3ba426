"""All datastores of known size of an organisation, with their virtual disks and load."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from advisor.advice.placement.decide.disk_inputs import DatastoreState, PlacementInputs, VdiskState
from advisor.advice.placement.fleet_loads import (
    LOAD_SPAN,
    StoreLoad,
    VdiskLoad,
    loads_of_round,
)
from advisor.advice.placement.stated_rules import stated_rules
from advisor.advice.shared.vdisk_names import vdisk_names
from advisor.models import Allocation, Incident, Resource, Unit
from advisor.resource_kinds import registry

DEFAULT_COPY_BYTES_PER_S = 100e6
"""A conservative rate for copying a virtual disk; state the datastore's own where it is known."""


def was_congested(now: datetime) -> Q:
    """Datastores of known size that were congested in the last day."""
    kinds = [traits.name for traits in registry.KINDS if "size_bytes" in traits.facts]
    recent = Incident.objects.filter(resource=OuterRef("pk"))
    recent = recent.exclude(ended_at__lt=now - LOAD_SPAN).order_by()
    return Q(Exists(recent), kind__in=kinds, size_bytes__isnull=False)


def placement_inputs(resource: Resource, now: datetime) -> list[PlacementInputs]:
    """For a datastore that was congested in the last day, beside all others of known size."""
    recent = Incident.objects.filter(resource=resource).exclude(ended_at__lt=now - LOAD_SPAN)
    if "size_bytes" not in resource.traits.facts or not recent.exists():
        return []
    stores = list(
        Resource.objects.filter(
            organisation=resource.organisation,
            kind=resource.kind,
            unit=Unit.IOPS,
            size_bytes__isnull=False,
        ).order_by("name")
    )
    if resource.pk not in {store.pk for store in stores} or len(stores) < 2:
        return []
    allocations = _allocations(stores)
    loads = loads_of_round(stores, allocations, now=now)
    names = vdisk_names(allocations)
    vdisks = [
        _vdisk(allocation, name, loads.vdisks[allocation.pk])
        for allocation, name in zip(allocations, names, strict=True)
        if allocation.pk in loads.vdisks
    ]
    lying: dict[str, list[VdiskState]] = {store.name: [] for store in stores}
    for one in vdisks:
        lying[one.datastore].append(one)
    return [
        PlacementInputs(
            datastores=tuple(
                _datastore(store, loads.stores[store.pk], lying[store.name]) for store in stores
            ),
            vdisks=tuple(vdisks),
            rules=stated_rules(resource.organisation, allocations, names),
            now=now,
            threshold_ms=resource.threshold * loads.stores[resource.pk].size_cost,
            samples=sum(store.windows for store in loads.stores.values()),
        )
    ]


def _allocations(stores: Sequence[Resource]) -> list[Allocation]:
    """Those of known size, datastore by datastore."""
    rows = Allocation.objects.filter(resource__in=stores, size_bytes__isnull=False)
    rows = rows.select_related("workload", "host", "resource")
    return list(rows.order_by("resource__name", "pk"))


def _datastore(store: Resource, load: StoreLoad, own: Sequence[VdiskState]) -> DatastoreState:
    return DatastoreState(
        datastore=store.name,
        intercept_ms=load.line.intercept_ms if load.line else None,
        slope_ms=load.line.slope_ms if load.line else None,
        capacity_bytes=store.size_bytes or 0.0,
        used_bytes=store.used_bytes or 0.0,
        copy_bytes_per_s=store.copy_bytes_per_s or DEFAULT_COPY_BYTES_PER_S,
        other_outstanding_io=_rest(load.outstanding_io, sum(one.outstanding_io for one in own)),
        other_iops=_rest(load.iops, sum(one.iops for one in own)),
        disks=store.disks,
        auto_tiered=store.auto_tiered,
        seen_model=load.seen_model,
        model_gap=load.model_gap,
        line_gap=load.line_gap,
    )


def _rest(whole: float | None, own: float) -> float:
    """What the device carries beyond the virtual disks that are looked at."""
    return 0.0 if whole is None else max(whole - own, 0.0)


def _vdisk(allocation: Allocation, name: str, load: VdiskLoad) -> VdiskState:
    return VdiskState(
        vdisk=name,
        workload=allocation.workload.name,
        datastore=allocation.resource.name,
        size_bytes=allocation.size_bytes or 0.0,
        outstanding_io=load.outstanding_io,
        iops=load.iops,
        mean_io_bytes=load.mean_io_bytes,
        read_ratio=load.read_ratio,
        moved_at=allocation.moved_at,
    )
