"""Recommendations: what is advised, and what people decide about it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.roles import Action
from advisor.decisions.decide import approve, reject
from advisor.decisions.kubernetes.class_changes import Plan, may_change_classes, planned_changes
from advisor.decisions.recommendation_steps import acknowledge, snooze
from advisor.history.policy_state import policy_state
from advisor.management.recommendation_text import recommendation_text
from advisor.models import Policy, Recommendation, RecommendationState
from advisor.queries.claim_list import plan_document
from advisor.queries.recommendations import (
    recommendation_detail,
    recommendation_rows,
    shown_state,
)
from web.access import Workspace, open_row
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import Asked, Moment, Pk, Text
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["recommendations"])


class RecommendationLine(Schema):
    """A recommendation as lists show it; an open one that is over is `expired`."""

    id: int
    state: RecommendationState
    resource_id: int
    resource: str
    topic: str
    subject: str
    kind: str
    summary: str
    incident_id: int | None
    created_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    decision_reason: str


class ControlChange(Schema):
    """A control of one allocation; values are in the unit of the resource, null is none."""

    workload: str
    host: str
    control: str
    before: float | None
    after: float | None


class WorkloadEffect(Schema):
    """What a workload gets before and after, in the unit of the resource; null: not known."""

    workload: str
    host: str
    before: float | None
    after: float | None
    measured_since: float | None
    unsure: str = Field(description="why it is only suspected; empty if it is not")


class PlannedClass(Schema):
    """A claim to which an approval would give a class; `why_not` says why it keeps its own."""

    claim_id: int
    source: str
    namespace: str
    name: str
    workload: str
    limit: float
    former_class: str | None = Field(description="that the claim asks for now; null: none")
    wanted_class: str | None = Field(description="null: it keeps its own")
    why_not: str


class RecommendationDetail(RecommendationLine):
    """The same with everything behind it; `text` is what `sluice recommendations ID` prints."""

    unit: str
    changes: list[ControlChange]
    effects: list[WorkloadEffect]
    hosts: list[str]
    hosts_without_agent: list[str]
    policy_version: int | None
    planned_classes: list[PlannedClass] = Field(
        description="what your approval would change of claims; empty unless you are an admin"
    )
    answer: dict[str, Any]
    text: str


class RecommendationPage(Page):
    items: list[RecommendationLine]


class RecommendationFilter(Paged):
    state: RecommendationState | None = None
    kind: str | None = Field(None, max_length=40)
    resource_id: Pk | None = None


class Rejection(Asked):
    reason: Text = Field(min_length=1, description="why not, for later readers")


class Acknowledgement(Asked):
    reason: Text = Field("", description="what you do about it")


class Snooze(Asked):
    until: Moment = Field(description="when it comes back, a month from now at most")
    reason: Text = ""


class Decided(Schema):
    """A decision; without a policy a person does the work, and `version` is null."""

    id: int
    state: RecommendationState
    resource: str
    topic: str
    version: int | None
    policy_state: str | None
    gap: str = Field(description="why the policy is not in force yet")


@router.get("", response=RecommendationPage)
def list_recommendations(request: HttpRequest, asked: Query[RecommendationFilter]) -> Any:
    """List recommendations, newest first."""
    now = timezone.now()
    rows = recommendation_rows(asker_of(request).scope).select_related("decided_by")
    if asked.state is not None:
        rows = rows.in_state(asked.state, now)
    if asked.kind is not None:
        rows = rows.filter(kind=asked.kind)
    if asked.resource_id is not None:
        rows = rows.filter(resource=asked.resource_id)
    found, cursor = page_of(rows.defer("inputs", "answer"), asked, newest_first=True)
    return {"items": [_line(row, now) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=RecommendationDetail)
def get_recommendation(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a recommendation with its evidence."""
    now = timezone.now()
    workspace, row = _open(request, pk)
    detail = recommendation_detail(row, now=now)
    acts = detail.is_open and may_change_classes(workspace.actor)
    plan = planned_changes(row) if acts else Plan()
    tagged(response, _tag(row, now))
    return {
        **_line(row, now),
        "unit": row.resource.unit,
        "changes": [_fields(ControlChange, one) for one in detail.changes],
        "effects": [_fields(WorkloadEffect, one) for one in detail.effects],
        "hosts": detail.reach.hosts,
        "hosts_without_agent": detail.reach.without_agent,
        "policy_version": detail.policy.version if detail.policy else None,
        "planned_classes": [plan_document(one) for one in (*plan.changes, *plan.left)],
        "answer": json.loads(row.answer),
        "text": recommendation_text(row),
    }


@router.post("/{int:pk}/approve", response=Decided)
def approve_recommendation(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Approve: it becomes the newest policy of its resource, or its advice is accepted."""
    now = timezone.now()
    workspace, row = _open_to_decide(request, pk, now)
    policy = approve(recommendation=row, user=workspace.membership.user, now=now)
    return _decided(row, policy, response, now)


@router.post("/{int:pk}/reject", response=Decided)
def reject_recommendation(
    request: HttpRequest, pk: Pk, rejection: Rejection, response: HttpResponse
) -> Any:
    """Reject with a reason; nothing on any host changes."""
    now = timezone.now()
    workspace, row = _open_to_decide(request, pk, now)
    reject(recommendation=row, user=workspace.membership.user, reason=rejection.reason, now=now)
    return _decided(row, None, response, now)


@router.post("/{int:pk}/acknowledge", response=Decided)
def acknowledge_recommendation(
    request: HttpRequest, pk: Pk, said: Acknowledgement, response: HttpResponse
) -> Any:
    """Say that you look after it; it stays open."""
    now = timezone.now()
    workspace, row = _open_to_decide(request, pk, now)
    acknowledge(recommendation=row, user=workspace.membership.user, reason=said.reason, now=now)
    return _decided(row, None, response, now)


@router.post("/{int:pk}/snooze", response=Decided)
def snooze_recommendation(
    request: HttpRequest, pk: Pk, asked: Snooze, response: HttpResponse
) -> Any:
    """Put it off; it comes back then, and can be decided for a day."""
    now = timezone.now()
    workspace, row = _open_to_decide(request, pk, now)
    snooze(
        recommendation=row, user=workspace.membership.user, until=asked.until,
        reason=asked.reason, now=now,
    )  # fmt: skip
    return _decided(row, None, response, now)


def _open(request: HttpRequest, pk: int) -> tuple[Workspace, Recommendation]:
    return open_row(asker_of(request), Recommendation, pk, "resource", "decided_by", "created_by")


def _open_to_decide(
    request: HttpRequest, pk: int, now: datetime
) -> tuple[Workspace, Recommendation]:
    workspace, row = _open(request, pk)
    acting(request, Action.DECIDE)
    require_match(request, _tag(row, now))
    return workspace, row


def _tag(row: Recommendation, now: datetime) -> str:
    return tag_of(row.pk, shown_state(row, now), row.decided_at)


def _decided(
    row: Recommendation, policy: Policy | None, response: HttpResponse, now: datetime
) -> dict[str, Any]:
    row.refresh_from_db()
    tagged(response, _tag(row, now))
    state = policy_state(policy, now=now) if policy else None
    return {
        "id": row.pk,
        "state": row.state,
        "resource": row.resource.name,
        "topic": row.topic,
        "version": policy.version if policy else None,
        "policy_state": state.link.value if state else None,
        "gap": state.gap if state else "",
    }


def _line(row: Recommendation, now: datetime) -> dict[str, Any]:
    return {
        "id": row.pk,
        "state": shown_state(row, now),
        "resource_id": row.resource_id,
        "resource": row.resource.name,
        "topic": row.topic,
        "subject": row.subject,
        "kind": row.kind,
        "summary": row.summary,
        "incident_id": row.incident_id,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "decided_at": row.decided_at,
        "decided_by": row.decided_by.get_username() if row.decided_by else None,
        "decision_reason": row.decision_reason,
    }


def _fields(schema: type[Schema], value: object) -> dict[str, Any]:
    return {name: getattr(value, name) for name in schema.model_fields}
