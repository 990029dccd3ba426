"""Reservations, limits and shares that people state of workloads on a resource."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.roles import Action
from advisor.decisions.inventory import remove_allocations, set_allocation
from advisor.models import (
    AdapterKind,
    Allocation,
    IoCount,
    LimitScope,
    Resource,
    Tier,
    Unit,
)
from ingest.core.lengths import LONGEST_PATH
from web.access import open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import NO_NUL, Asked, Flag, Name, Pk, Positive, Rate, Shares
from web.api.v1.noted import noted
from web.api.v1.resources import HostName
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["allocations"])
Adapter = Annotated[str, Field(min_length=1, max_length=LONGEST_PATH, pattern=NO_NUL)]


class AllocationRow(Schema):
    """What a workload has on a resource, in its `unit`; no limit is null."""

    id: int
    resource_id: int
    resource: str
    workload_id: int
    workload: str
    host_id: int
    host: str
    vdisk: str
    adapter_kind: AdapterKind
    adapter: str
    selector_kind: str
    selector: str
    unit: Unit
    reservation: float
    limit: float | None
    shares: int | None
    shares_in_effect: int
    limit_scope: LimitScope
    io_count: IoCount
    size_bytes: float | None
    pool: str | None
    tier: Tier
    is_found: bool = Field(description="by collectors; nobody stated it")


class AllocationPage(Page):
    items: list[AllocationRow]


class AllocationFilter(Paged):
    resource_id: Pk | None = None
    workload_id: Pk | None = None
    host_id: Pk | None = None


class SelectorChoice(Asked):
    """How the host's agent recognises the I/O of the workload."""

    kind: Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[a-z_]+$")]
    value: Adapter


class StatedAllocation(Asked):
    """All that is stated; what is left out is cleared. A missing workload is created."""

    workload: Name
    host: HostName | None = Field(None, description="needed if several reach the resource")
    adapter_kind: AdapterKind
    adapter: Adapter
    vdisk: Annotated[str, Field(max_length=200, pattern=NO_NUL)] = ""
    reservation: Rate = 0.0
    limit: Positive | None = None
    shares: Shares | None = None
    tier: Tier | None = None
    selector: SelectorChoice | None = None
    limit_scope: LimitScope | None = None
    io_count: IoCount | None = None
    size_bytes: Rate | None = None
    may_exceed: Flag = Field(False, description="accept a reservation that does not fit here")


@router.get("allocations", response=AllocationPage)
def list_allocations(request: HttpRequest, asked: Query[AllocationFilter]) -> Any:
    """List the allocations of workloads on resources."""
    rows = _rows(request)
    for column in ("resource_id", "workload_id", "host_id"):
        if (wanted := getattr(asked, column)) is not None:
            rows = rows.filter(**{column: wanted})
    found, cursor = page_of(rows, asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("allocations/{int:pk}", response=AllocationRow)
def get_allocation(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read an allocation."""
    row = get_object_or_404(_rows(request), pk=pk)
    tagged(response, _tag(row))
    return _plain(row)


@router.put("resources/{int:pk}/allocations", response=AllocationRow)
def state_allocation(
    request: HttpRequest, pk: Pk, asked: StatedAllocation, response: HttpResponse
) -> Any:
    """State what a workload has on a resource, for one host and virtual disk."""
    workspace, resource = open_row(asker_of(request), Resource, pk)
    acting(request, Action.DECIDE)
    Resource.objects.select_for_update(no_key=True).get(pk=resource.pk)
    before = _rows(request).filter(resource=resource, workload__name=asked.workload)
    if asked.host is not None:
        before = before.filter(host__name=asked.host)
    present = before.filter(vdisk=asked.vdisk).first()
    require_match(request, tag_of(None) if present is None else _tag(present))
    facts = {name: getattr(asked, name) for name in ("limit_scope", "io_count", "size_bytes")}
    row = set_allocation(
        resource=resource,
        workload_name=asked.workload,
        host_name=asked.host,
        selector=None if asked.selector is None else (asked.selector.kind, asked.selector.value),
        facts={name: value for name, value in facts.items() if value is not None},
        **asked.dict(include=_AS_THEY_ARE),
    )
    noted(workspace, "state allocation", f"{row.workload.name} on {resource.name}")
    row = _rows(request).get(pk=row.pk)
    tagged(response, _tag(row))
    return _plain(row)


_AS_THEY_ARE = {
    "adapter_kind", "adapter", "vdisk", "reservation", "limit", "shares", "tier", "may_exceed",
}  # fmt: skip


@router.delete("allocations/{int:pk}", response={204: None})
def remove_allocation(request: HttpRequest, pk: Pk) -> Any:
    """Remove an allocation; the policy in force stays."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.DECIDE)
    Resource.objects.select_for_update(no_key=True).get(pk=row.resource_id)
    require_match(request, _tag(row))
    remove_allocations(
        resource=row.resource, workload_name=row.workload.name, of_disk=(row.host.name, row.vdisk)
    )
    noted(workspace, "remove allocation", f"{row.workload.name} on {row.resource.name}")
    return Status(204, None)


def _rows(request: HttpRequest) -> Any:
    resources = asker_of(request).scope.rows(Resource)
    rows = Allocation.objects.filter(resource__in=resources)
    return rows.select_related("resource", "workload", "host", "pool")


def _tag(row: Allocation) -> str:
    return tag_of(_plain(row))


def _plain(row: Allocation) -> dict[str, Any]:
    kind, value = row.recognised_by
    return {
        "id": row.pk,
        "resource_id": row.resource_id,
        "resource": row.resource.name,
        "workload_id": row.workload_id,
        "workload": row.workload.name,
        "host_id": row.host_id,
        "host": row.host.name,
        "vdisk": row.vdisk,
        "adapter_kind": row.adapter_kind,
        "adapter": row.adapter,
        "selector_kind": kind,
        "selector": value,
        "unit": row.resource.unit,
        "reservation": row.reservation,
        "limit": row.limit,
        "shares": row.shares,
        "shares_in_effect": row.weight,
        "limit_scope": row.limit_scope,
        "io_count": row.io_count,
        "size_bytes": row.size_bytes,
        "pool": row.pool.name if row.pool else None,
        "tier": row.workload.tier,
        "is_found": row.found,
    }
