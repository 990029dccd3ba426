"""Workloads: who does I/O, where, by what it is known, and in which tier."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.roles import Action
from advisor.decisions.workload_tiers import stated_workload, withdraw_tier
from advisor.models import Tier, Workload, WorkloadKind
from web.access import open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import Asked, Name, Pk
from web.api.v1.noted import noted
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["workloads"])


class WorkloadRow(Schema):
    """A workload; without `is_tier_stated` a rule gave the tier, which `tier_reason` names."""

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
    reasons: list[Any]


class WorkloadPage(Page):
    items: list[WorkloadRow]


class WorkloadFilter(Paged):
    name: Name | None = None
    tier: Tier | None = None
    is_present: bool | None = None


class WorkloadChange(Asked):
    tier: Tier | None = Field(description="null: nobody states it, so rules give it")


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
    found, cursor = page_of(rows, asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=WorkloadRow)
def get_workload(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a workload."""
    _, row = open_row(asker_of(request), Workload, pk)
    tagged(response, _tag(row))
    return _plain(row)


@router.patch("/{int:pk}", response=WorkloadRow)
def change_workload(
    request: HttpRequest, pk: Pk, asked: WorkloadChange, response: HttpResponse
) -> Any:
    """State the tier of a workload on all resources, or leave it to rules again."""
    workspace, row = open_row(asker_of(request), Workload, pk)
    acting(request, Action.DECIDE)
    row = Workload.objects.select_for_update(no_key=True).get(pk=row.pk)
    require_match(request, _tag(row))
    if asked.tier is None:
        withdraw_tier(row.organisation, row.name)
    else:
        stated_workload(row.organisation, row.name, asked.tier)
    noted(workspace, "state tier", row.name)
    row.refresh_from_db()
    tagged(response, _tag(row))
    return _plain(row)


def _tag(row: Workload) -> str:
    return tag_of(row.pk, row.tier, row.tier_stated)


def _plain(row: Workload) -> dict[str, Any]:
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
        "reasons": row.reasons,
    }
