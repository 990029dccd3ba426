"""Versions of policies, how far they have come, and the way back."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.roles import Action
from advisor.decisions.decide import rollback
from advisor.history.policy_state import PolicyState, newest_policies, policy_states
from advisor.models import Policy, Resource
from web.access import open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import WHOLE, Asked, Pk
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["policies"])
MOST_VERSION = 2**31 - 1


class PolicyAllocation(Schema):
    """What a policy gives a workload, in the unit of the resource; no limit is null."""

    allocation: int
    workload: str
    reservation: float
    limit: float | None
    shares: int
    entitlement: float | None


class PolicyVersion(Schema):
    """A version of the policy of a resource; only the newest has a state of its own."""

    id: int
    resource_id: int
    resource: str
    unit: str
    version: int
    state: str = Field(description="the last link that holds; `replaced` of former versions")
    in_force: bool
    gap: str = Field(description="what the next link lacks")
    capacity: float | None
    allocations: list[PolicyAllocation]
    pools: list[dict[str, Any]]
    recommendation_id: int | None
    rollback_of_version: int | None
    created_by: str | None
    created_at: datetime


class PolicyPage(Page):
    items: list[PolicyVersion]


class PolicyFilter(Paged):
    resource_id: Pk | None = None


class RollBack(Asked):
    to_version: Annotated[int, Field(ge=0, le=MOST_VERSION), WHOLE] | None = Field(
        None, description="0 is no policy; without it the one that all hosts had before"
    )


@router.get("policies", response=PolicyPage)
def list_policies(request: HttpRequest, asked: Query[PolicyFilter]) -> Any:
    """List policy versions, newest first."""
    rows = asker_of(request).scope.rows(Policy)
    if asked.resource_id is not None:
        rows = rows.filter(resource=asked.resource_id)
    rows = rows.select_related("resource", "created_by", "rollback_of")
    found, cursor = page_of(rows, asked, newest_first=True)
    return {"items": _plain(found), "next_cursor": cursor}


@router.get("policies/{int:pk}", response=PolicyVersion)
def get_policy(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a policy version. Its ETag is that of the newest version of its resource."""
    rows = asker_of(request).scope.rows(Policy)
    row = get_object_or_404(rows.select_related("resource", "created_by", "rollback_of"), pk=pk)
    tagged(response, _tag(row.resource_id))
    return _plain([row])[0]


@router.post("resources/{int:pk}/rollback", response=PolicyVersion)
def roll_back_policy(request: HttpRequest, pk: Pk, asked: RollBack, response: HttpResponse) -> Any:
    """Publish an earlier version of the policy of a resource again, as a new version."""
    workspace, row = open_row(asker_of(request), Resource, pk)
    acting(request, Action.DECIDE)
    # Until this ends nobody else publishes a policy of the resource.
    Resource.objects.select_for_update(no_key=True).get(pk=row.pk)
    require_match(request, _tag(row.pk))
    policy = rollback(
        resource=row, user=workspace.membership.user, now=timezone.now(),
        to_version=asked.to_version,
    )  # fmt: skip
    tagged(response, _tag(row.pk))
    return _plain([policy])[0]


def _tag(resource: int) -> str:
    newest = Policy.objects.filter(resource=resource).order_by("-version").first()
    return tag_of(resource, newest and newest.version)


def _plain(rows: list[Policy]) -> list[dict[str, Any]]:
    newest = newest_policies({row.resource_id for row in rows})
    states = policy_states(newest, now=timezone.now())
    return [_version(row, states.get(row.pk)) for row in rows]


def _version(row: Policy, state: PolicyState | None) -> dict[str, Any]:
    return {
        "id": row.pk,
        "resource_id": row.resource_id,
        "resource": row.resource.name,
        "unit": row.resource.unit,
        "version": row.version,
        "state": state.link.value if state else "replaced",
        "in_force": state.is_in_force if state else False,
        "gap": state.gap if state else "",
        "capacity": row.capacity,
        "allocations": row.allocations,
        "pools": row.pools,
        "recommendation_id": row.recommendation_id,
        "rollback_of_version": row.rollback_of.version if row.rollback_of else None,
        "created_by": row.created_by.get_username() if row.created_by else None,
        "created_at": row.created_at,
    }
