"""Workloads: who does I/O, where, by what it is known, and in which tier."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.roles import Action
from advisor.core.device.felt_latency import Layer
from advisor.decisions.teams import state_tags
from advisor.decisions.workload_tiers import stated_workload, withdraw_tier
from advisor.models import Team, Tier, Workload, WorkloadKind
from advisor.queries.felt_latency import disk_latencies, latency_document
from advisor.queries.teams import owned_by, teams_of
from web.access import Workspace, open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import Asked, Name, Pk, Tags, TagText
from web.api.v1.noted import noted
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["workloads"])


class WorkloadRow(Schema):
    """A workload; without `is_tier_stated` a rule gave the tier, which `tier_reason` names.

    Of its `tags` the `stated_tags` are those of people; the `teams` own it by them.
    """

    id: int
    name: str
    kind: WorkloadKind
    tier: Tier
    is_tier_stated: bool
    tier_reason: str
    is_found: bool
    vanished_at: datetime | None
    known_by: list[Any]
    attributes: list[Any]
    tags: list[str]
    stated_tags: list[str]
    teams: list[str]
    reasons: list[Any]


class WorkloadPage(Page):
    items: list[WorkloadRow]


class WorkloadFilter(Paged):
    name: Name | None = None
    tier: Tier | None = None
    is_present: bool | None = None
    team: Name | None = None
    tag: TagText | None = None


class WorkloadChange(Asked):
    tier: Tier | None = Field(description="null: nobody states it, so rules give it")


class LatencyLayer(Schema):
    """A part of the time of an I/O in ms; null is not known, for this reason.

    With `is_least` it is no shorter than that.
    """

    layer: Layer
    ms: float | None
    is_least: bool
    reason: str


class DiskLatencyRow(Schema):
    """The mean time of an I/O on one disk or mount, over `ios` I/Os of the last hour.

    The layers that are known add up to `whole_ms` within 5 %; without layers `reason` says why.
    """

    resource: str
    host: str
    disk: str
    whole_ms: float | None = Field(description="null: nobody times its I/Os, or it is not told")
    ios: float | None
    layers: list[LatencyLayer]
    reason: str


class WorkloadLatency(Schema):
    disks: list[DiskLatencyRow]


class StatedTags(Asked):
    """All tags that people state; those that collectors send stay beside them."""

    tags: Tags


@router.get("", response=WorkloadPage)
def list_workloads(request: HttpRequest, asked: Query[WorkloadFilter]) -> Any:
    """List workloads."""
    rows = asker_of(request).scope.rows(Workload)
    if asked.name is not None:
        rows = rows.filter(name=asked.name)
    if asked.tier is not None:
        rows = rows.filter(tier=asked.tier)
    if asked.is_present is not None:
        rows = rows.filter(vanished_at__isnull=asked.is_present)
    teams = _teams(request)
    if asked.tag is not None:
        rows = rows.filter(tags__has_key=asked.tag)
    if asked.team is not None:
        team = next((one for one in teams if one.name == asked.team), None)
        rows = rows.none() if team is None else owned_by(rows, team)
    found, cursor = page_of(rows, asked)
    return {"items": [_plain(row, teams) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=WorkloadRow)
def get_workload(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a workload."""
    _, row = open_row(asker_of(request), Workload, pk)
    tagged(response, _tag(row))
    return _plain(row, _teams(request))


@router.get("/{int:pk}/latency", response=WorkloadLatency)
def get_workload_latency(request: HttpRequest, pk: Pk) -> Any:
    """Read where the time of a workload's I/Os goes."""
    _, row = open_row(asker_of(request), Workload, pk)
    found = disk_latencies(row, now=timezone.now())
    return {"disks": [latency_document(one) for one in found]}


@router.patch("/{int:pk}", response=WorkloadRow)
def change_workload(
    request: HttpRequest, pk: Pk, asked: WorkloadChange, response: HttpResponse
) -> Any:
    """State the tier of a workload on all resources, or leave it to rules again."""
    workspace, row = _held(request, pk)
    if asked.tier is None:
        withdraw_tier(row.organisation, row.name)
    else:
        stated_workload(row.organisation, row.name, asked.tier)
    noted(workspace, "state tier", row.name)
    return _changed(request, row, response)


@router.put("/{int:pk}/tags", response=WorkloadRow)
def state_tags_of_workload(
    request: HttpRequest, pk: Pk, asked: StatedTags, response: HttpResponse
) -> Any:
    """State the tags of a workload, by which teams own it and rules give tiers."""
    workspace, row = _held(request, pk)
    state_tags(organisation=row.organisation, name=row.name, tags=asked.tags)
    noted(workspace, "state tags", row.name)
    return _changed(request, row, response)


def _held(request: HttpRequest, pk: int) -> tuple[Workspace, Workload]:
    """The workload, if it is as the request says; nobody else changes it until this ends."""
    workspace, row = open_row(asker_of(request), Workload, pk)
    acting(request, Action.DECIDE)
    row = Workload.objects.select_for_update(no_key=True).get(pk=row.pk)
    require_match(request, _tag(row))
    return workspace, row


def _changed(request: HttpRequest, row: Workload, response: HttpResponse) -> dict[str, Any]:
    row.refresh_from_db()
    tagged(response, _tag(row))
    return _plain(row, _teams(request))


def _tag(row: Workload) -> str:
    return tag_of(row.pk, row.tier, row.tier_stated, row.stated_tags)


def _teams(request: HttpRequest) -> list[Team]:
    return list(asker_of(request).scope.rows(Team))


def _plain(row: Workload, teams: Sequence[Team]) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "kind": row.kind,
        "tier": row.tier,
        "is_tier_stated": row.tier_stated,
        "tier_reason": row.tier_reason,
        "is_found": row.found,
        "vanished_at": row.vanished_at,
        "known_by": row.identity.get("keys", []),
        "attributes": row.attributes,
        "tags": row.tags,
        "stated_tags": row.stated_tags,
        "teams": [team.name for team in teams_of(row.tags, teams)],
        "reasons": row.reasons,
    }
