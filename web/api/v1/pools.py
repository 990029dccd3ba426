"""Pools: groups of workloads on an uplink, with terms of their own."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.roles import Action
from advisor.decisions import pools
from advisor.models import Pool, Resource, Unit
from advisor.queries.full_days import full_day_plain
from web.access import open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import Asked, Name, Pk, Positive, Rate, Shares
from web.api.v1.full_day import FullDay
from web.api.v1.noted import noted
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["pools"])


class PoolRow(Schema):
    """A pool as it is stated, in its `unit`; without shares each member counts with its own."""

    id: int
    resource_id: int
    resource: str
    name: str
    unit: Unit
    reservation: float
    limit: float | None
    shares: int | None
    members: list[str]
    full_day: FullDay


class PoolPage(Page):
    items: list[PoolRow]


class PoolFilter(Paged):
    resource_id: Pk | None = None


class StatedPool(Asked):
    """All terms of a pool; what is left out is cleared, but for members, which are kept."""

    name: Name
    reservation: Rate = 0.0
    limit: Positive | None = None
    shares: Shares | None = None
    members: Annotated[list[Name], Field(max_length=10_000)] | None = None


@router.get("pools", response=PoolPage)
def list_pools(request: HttpRequest, asked: Query[PoolFilter]) -> Any:
    """List pools."""
    rows = _rows(request)
    if asked.resource_id is not None:
        rows = rows.filter(resource=asked.resource_id)
    found, cursor = page_of(rows, asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("pools/{int:pk}", response=PoolRow)
def get_pool(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a pool."""
    row = get_object_or_404(_rows(request), pk=pk)
    tagged(response, tag_of(_stated(row)))
    return _plain(row)


@router.put("resources/{int:pk}/pools", response=PoolRow)
def state_pool(request: HttpRequest, pk: Pk, asked: StatedPool, response: HttpResponse) -> Any:
    """State a pool of an uplink, by its name."""
    workspace, resource = open_row(asker_of(request), Resource, pk)
    acting(request, Action.DECIDE)
    Resource.objects.select_for_update(no_key=True).get(pk=resource.pk)
    present = _rows(request).filter(resource=resource, name=asked.name).first()
    require_match(request, tag_of(None if present is None else _stated(present)))
    made = pools.set_pool(resource=resource, **asked.dict())
    noted(workspace, "state pool", str(made))
    row = _rows(request).get(pk=made.pk)
    tagged(response, tag_of(_stated(row)))
    return _plain(row)


@router.delete("pools/{int:pk}", response={204: None})
def remove_pool(request: HttpRequest, pk: Pk) -> Any:
    """Remove a pool; its members keep their own terms."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.DECIDE)
    Resource.objects.select_for_update(no_key=True).get(pk=row.resource_id)
    require_match(request, tag_of(_stated(row)))
    pools.remove_pool(resource=row.resource, name=row.name)
    noted(workspace, "remove pool", str(row))
    return Status(204, None)


def _rows(request: HttpRequest) -> Any:
    rows = Pool.objects.filter(resource__in=asker_of(request).scope.rows(Resource))
    return rows.select_related("resource").prefetch_related("members__workload", "demand_outlooks")


def _plain(row: Pool) -> dict[str, Any]:
    return {**_stated(row), "full_day": full_day_plain(row)}


def _stated(row: Pool) -> dict[str, Any]:
    """What people state of it, by which its ETag changes."""
    return {
        "id": row.pk,
        "resource_id": row.resource_id,
        "resource": row.resource.name,
        "name": row.name,
        "unit": row.resource.unit,
        "reservation": row.reservation,
        "limit": row.limit,
        "shares": row.shares,
        "members": sorted(one.workload.name for one in row.members.all()),
    }
