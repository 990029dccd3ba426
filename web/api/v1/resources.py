"""Datastores, volumes and uplinks: their state, and what people state of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.roles import Action
from advisor.core.detection.alarm_budget import LEAST_ALARMS_PER_WEEK
from advisor.decisions import removing
from advisor.decisions.alarm_budgets import follow_shared_budget, state_own_budget
from advisor.decisions.inventory import (
    LONGEST_WINDOW_S,
    SHORTEST_WINDOW_S,
    add_resource,
    change_resource,
    set_queue_depth,
)
from advisor.models import ReservationMode, Resource, ResourceKind, State, ThresholdMode, Unit
from advisor.pipeline.alarm_budgets import budget_of, shared_budget
from advisor.pipeline.muting import muted_resources
from advisor.queries.commitments import commitment_of
from advisor.queries.device_figures import device_document, resource_devices
from advisor.queries.full_days import full_day_plain
from advisor.queries.resources import resource_line
from advisor.queries.size_terms import size_term_facts
from advisor.resource_kinds.registry import stated_kinds
from ingest.core.lengths import LONGEST_DEVICE, LONGEST_HOST_NAME, LONGEST_RESOURCE_NAME
from web.access import open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import NO_NUL, WHOLE, Asked, Name, Pk, Positive, Rate
from web.api.v1.full_day import FullDay
from web.api.v1.noted import noted
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["resources"])
MOST_COMMANDS = 2**31 - 1
Depth = Annotated[int, Field(ge=1, le=MOST_COMMANDS), WHOLE]
HostName = Annotated[str, Field(min_length=1, max_length=LONGEST_HOST_NAME, pattern=NO_NUL)]
DeviceName = Annotated[str, Field(min_length=1, max_length=LONGEST_DEVICE, pattern=NO_NUL)]
ResourceName = Annotated[
    str, Field(min_length=1, max_length=LONGEST_RESOURCE_NAME, pattern=NO_NUL)
]
Window = Annotated[float, Field(strict=True, ge=SHORTEST_WINDOW_S, le=LONGEST_WINDOW_S)]
Alarms = Annotated[float, Field(strict=True, ge=LEAST_ALARMS_PER_WEEK, le=1e6)]


class Reached(Schema):
    """A host, and the device by which it reaches the resource."""

    host: HostName
    device: DeviceName
    queue_depth: int | None = None


class SizeTerm(Schema):
    """The size at which the transfer takes half of the device time; `since` null: the default."""

    size_term_bytes: float
    since: datetime | None
    windows: int | None = Field(description="that it was learnt from")
    reason: str = Field(description="why it is the default, or what it is better by")
    next_bytes: float | None
    next_since: datetime | None = Field(description="from when on next_bytes holds")


class ResourceLine(Schema):
    """A resource with its newest state; `value` and `threshold` are in `level_unit`."""

    id: int
    name: str
    kind: str
    unit: Unit = Field(description="of capacity, line_rate, reservations and limits")
    capacity: float | None
    state: State
    is_stale: bool
    state_since: datetime | None
    value: float | None
    threshold: float | None
    level_unit: str
    reason: str
    evaluated_at: datetime | None
    maintenance_window: str | None
    advice_gap: str


class ResourceDetail(ResourceLine):
    """The same with what is stated or was found of it."""

    line_rate: float | None
    mode: ReservationMode
    threshold_mode: ThresholdMode
    stated_threshold: float
    alarms_per_week: float | None
    alarms_shared_by: int | None
    window_s: float
    lun_queue_depth: int | None
    size_bytes: float | None
    used_bytes: float | None
    disks: str
    discovered: bool
    vanished_at: datetime | None
    reached_by: list[Reached]
    reserved: float
    reservable: float | None
    pool_limits: float | None = Field(description="of its pools together")
    full_day: FullDay
    size_term: SizeTerm | None = Field(description="of a datastore")


class ResourcePage(Page):
    items: list[ResourceLine]


class ResourceFilter(Paged):
    kind: ResourceKind | None = None
    name: ResourceName | None = None


class Place(Asked):
    host: HostName
    device: DeviceName


class NewResource(Asked):
    """Without a unit, mode or threshold that of its kind is taken."""

    name: ResourceName
    kind: Annotated[str, Field(json_schema_extra={"enum": list(stated_kinds())})]
    reached_by: Annotated[list[Place], Field(min_length=1, max_length=1000)]
    unit: Unit | None = None
    mode: ReservationMode | None = None
    capacity: Positive | None = None
    line_rate: Positive | None = None
    threshold: Positive | None = None
    window_s: Window = 10.0


class HostDepth(Asked):
    """How many commands a host has on its way to the resource at most."""

    host: HostName
    queue_depth: Depth


class ResourceChange(Asked):
    """What is left out stays as it is."""

    capacity: Positive | None = None
    threshold: Positive | None = None
    threshold_mode: ThresholdMode | None = None
    window_s: Window | None = None
    alarms_per_week: Alarms | Literal["shared", "none"] | None = None
    line_rate: Positive | None = None
    lun_queue_depth: Depth | None = None
    size_bytes: Rate | None = None
    used_bytes: Rate | None = None
    disks: Name | None = None
    host_queue_depths: list[HostDepth] = Field(default_factory=list, max_length=1000)


class QueueBurstRow(Schema):
    """A queue that fills in bursts which means hide: `hits` of `looks` of the last day found one.

    `low_depth` to `high_depth` hold four fifths of those found, with `mean_depth` and `mean_ms`
    around them. What comes then waits for `wait_ms`. `ratio` is the least part of the time.
    """

    hits: int
    looks: int
    low_depth: float
    high_depth: float
    mean_depth: float
    mean_ms: float
    wait_ms: float
    ratio: float
    text: str


class ResourceDevice(Schema):
    """A device of a host; what is null nobody says."""

    host: str
    device: str
    queue_depth: int | None
    depth_source: str | None
    scheduler: str | None
    size_bytes: float | None
    line_rate_bits_per_s: float | None
    burst: QueueBurstRow | None
    reason: str = Field(description="why no burst is told; empty of what has no such queue")


class ResourceDeviceList(Schema):
    devices: list[ResourceDevice]
    left_out: int


_FACTS = ("line_rate", "lun_queue_depth", "size_bytes", "used_bytes", "disks")


@router.get("", response=ResourcePage)
def list_resources(request: HttpRequest, asked: Query[ResourceFilter]) -> Any:
    """List resources with their newest state."""
    now = timezone.now()
    scope = asker_of(request).scope
    rows = scope.rows(Resource)
    if asked.kind is not None:
        rows = rows.filter(kind=asked.kind)
    if asked.name is not None:
        rows = rows.filter(name=asked.name)
    rows = rows.select_related("status").prefetch_related("attachments")
    found, cursor = page_of(rows, asked)
    planned = muted_resources(scope.organisation, now=now)
    return {"items": [_line(row, planned, now) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=ResourceDetail)
def get_resource(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a resource with what is stated of it; its ETag is of what is stated."""
    _, row = open_row(asker_of(request), Resource, pk, "status")
    return _detail(row, response)


@router.get("/{int:pk}/devices", response=ResourceDeviceList)
def list_resource_devices(request: HttpRequest, pk: Pk) -> Any:
    """Read what hosts say of the devices of a resource, and how their queues fill."""
    _, row = open_row(asker_of(request), Resource, pk, "status")
    found = resource_devices(row, now=timezone.now())
    return {"devices": [device_document(one) for one in found.devices], "left_out": found.more}


@router.post("", response={201: ResourceDetail})
def create_resource(request: HttpRequest, asked: NewResource, response: HttpResponse) -> Any:
    """Describe a resource; one that was found on one of the devices is taken over."""
    workspace = acting(request, Action.DECIDE)
    row = add_resource(
        organisation=workspace.membership.organisation,
        attachments=[(one.host, one.device) for one in asked.reached_by],
        **asked.dict(exclude={"reached_by"}),
    )
    noted(workspace, "state resource", row.name)
    response.headers["Location"] = f"/api/v1/resources/{row.pk}"
    return Status(201, _detail(row, response))


@router.patch("/{int:pk}", response=ResourceDetail)
def change_stated_resource(
    request: HttpRequest, pk: Pk, asked: ResourceChange, response: HttpResponse
) -> Any:
    """Change what is stated of a resource."""
    workspace, row = _held(request, pk)
    if asked.alarms_per_week == "shared":
        follow_shared_budget(resource=row)
    elif asked.alarms_per_week is not None:
        own = None if asked.alarms_per_week == "none" else asked.alarms_per_week
        state_own_budget(resource=row, alarms_per_week=own)
    facts = {name: getattr(asked, name) for name in _FACTS}
    change_resource(
        resource=row,
        capacity=asked.capacity,
        threshold=asked.threshold,
        threshold_mode=asked.threshold_mode,
        window_s=asked.window_s,
        facts={name: value for name, value in facts.items() if value is not None},
    )
    for one in asked.host_queue_depths:
        set_queue_depth(resource=row, host_name=one.host, depth=one.queue_depth)
    noted(workspace, "change resource", row.name)
    return _detail(row, response)


@router.delete("/{int:pk}", response={204: None})
def remove_resource(request: HttpRequest, pk: Pk) -> Any:
    """Remove a resource with its allocations and history."""
    workspace, row = _held(request, pk)
    noted(workspace, "remove resource", row.name)
    removing.remove_resource(row)
    return Status(204, None)


def _held(request: HttpRequest, pk: int) -> tuple[Any, Resource]:
    """The resource, for who may change it; nobody else does until this ends."""
    workspace, row = open_row(asker_of(request), Resource, pk)
    acting(request, Action.DECIDE)
    row = Resource.objects.select_for_update(no_key=True).get(pk=row.pk)
    require_match(request, _tag(row))
    return workspace, row


def _tag(row: Resource) -> str:
    stated = [
        row.name, row.capacity, row.threshold, row.threshold_mode, row.alarms_per_week,
        row.shares_alarm_budget, row.window_s, row.mode, *(getattr(row, one) for one in _FACTS),
    ]  # fmt: skip
    depths = row.attachments.order_by("pk").values_list("host", "device", "device_queue_depth")
    return tag_of(row.pk, stated, list(depths))


def _line(row: Resource, planned: Mapping[int, str], now: datetime) -> dict[str, Any]:
    line = resource_line(row, now=now)
    return {
        "id": line.pk,
        "name": line.name,
        "kind": row.noun,
        "unit": line.unit,
        "capacity": line.capacity,
        "state": line.state,
        "is_stale": line.is_stale,
        "state_since": line.state_since,
        "value": line.value,
        "threshold": line.threshold,
        "level_unit": "ratio" if row.traits.level.unit == "%" else row.traits.level.unit,
        "reason": line.reason,
        "evaluated_at": line.looked_at,
        "maintenance_window": planned.get(row.pk),
        "advice_gap": line.advice_gap,
    }


def _detail(row: Resource, response: HttpResponse) -> dict[str, Any]:
    now = timezone.now()
    tagged(response, _tag(row))
    budget = budget_of(row, shared_budget(row.organisation_id))
    commitment = commitment_of(row)
    attached = row.attachments.select_related("host").order_by("host__name", "device")
    return {
        **_line(row, muted_resources(row.organisation, now=now), now),
        "line_rate": row.line_rate,
        "mode": row.mode,
        "threshold_mode": row.threshold_mode,
        "stated_threshold": row.threshold,
        "alarms_per_week": None if budget is None else budget.alarms_per_week,
        "alarms_shared_by": None if budget is None else budget.shared_by,
        "window_s": row.window_s,
        "lun_queue_depth": row.lun_queue_depth,
        "size_bytes": row.size_bytes,
        "used_bytes": row.used_bytes,
        "disks": row.disks,
        "discovered": row.discovered,
        "vanished_at": row.vanished_at,
        "reached_by": [
            {"host": at.host.name, "device": at.device, "queue_depth": at.device_queue_depth}
            for at in attached
        ],
        "reserved": commitment.reserved,
        "reservable": commitment.reservable,
        "pool_limits": commitment.pool_limits,
        "full_day": full_day_plain(row),
        "size_term": size_term_facts(row, now=now),
    }
