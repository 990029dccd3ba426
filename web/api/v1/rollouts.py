"""Policies on their way to hosts: where each stands, and the switch for all of them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import Field

from accounts.models import Organisation
from accounts.roles import Action
from advisor.core.rollout import PolicyStage
from advisor.decisions.rollouts import steer
from advisor.decisions.rollouts.begin import terms_of
from advisor.models import PolicyRollout, RolloutTerms
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import Asked, Flag, Pk, Text
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["rollouts"])
StageLength = Annotated[float, Field(strict=True, ge=1, le=30 * 86_400)]


class RolloutRow(Schema):
    """Where a policy version stands; `stage` counts from 1.

    `hosts` have it, `later_hosts` get it in a later stage; `guards` is what was found of the
    present stage, and `waits_for` why the next one has not begun.
    """

    id: int
    policy_id: int
    resource_id: int
    resource: str
    version: int
    former_version: int | None
    state: PolicyStage
    stage: int
    stages: int
    hosts: list[str]
    later_hosts: list[str]
    is_guarded: bool
    started_at: datetime
    published_at: datetime
    settled_at: datetime | None
    guarded_until: datetime | None
    guards: list[dict[str, Any]]
    waits_for: str


class RolloutPage(Page):
    items: list[RolloutRow]


class RolloutFilter(Paged):
    resource_id: Pk | None = None
    state: PolicyStage | None = None


class RolloutTermsRow(Schema):
    """How policies come to hosts, and since when all rollouts are stopped; null: they go on."""

    staged: bool
    stage_s: float
    longest_s: float
    goes_on_unsure: bool
    settle_s: float
    stopped_at: datetime | None
    stopped_by: str
    stop_reason: str


class RolloutTermsChange(Asked):
    """What is left out or null stays as it is."""

    staged: Flag | None = None
    stage_s: StageLength | None = None
    longest_s: StageLength | None = None
    goes_on_unsure: Flag | None = None
    settle_s: StageLength | None = None


class StopReason(Asked):
    reason: Text = ""


@router.get("rollouts", response=RolloutPage)
def list_rollouts(request: HttpRequest, asked: Query[RolloutFilter]) -> Any:
    """List the rollouts of policies, newest first."""
    rows = _rows(request)
    if asked.resource_id is not None:
        rows = rows.filter(policy__resource=asked.resource_id)
    if asked.state is not None:
        rows = rows.filter(state=asked.state)
    found, cursor = page_of(rows, asked, newest_first=True)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("rollouts/{int:pk}", response=RolloutRow)
def get_rollout(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a rollout."""
    row = get_object_or_404(_rows(request), pk=pk)
    tagged(response, _tag(row))
    return _plain(row)


@router.post("rollouts/{int:pk}/go-on", response=RolloutRow)
def go_on_with_rollout(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Begin the next stage now, or end the guard of the last one, whatever is measured."""
    row = get_object_or_404(_rows(request), pk=pk)
    workspace = acting(request, Action.DECIDE)
    PolicyRollout.objects.select_for_update(of=("self",)).get(pk=row.pk)
    row = _rows(request).get(pk=row.pk)
    require_match(request, _tag(row))
    steer.go_on(rollout=row, user=workspace.membership.user, now=timezone.now())
    row = _rows(request).get(pk=row.pk)
    tagged(response, _tag(row))
    return _plain(row)


@router.get("rollout-terms", response=RolloutTermsRow)
def get_rollout_terms(request: HttpRequest, response: HttpResponse) -> Any:
    """Read how policies come to hosts, and whether somebody stopped that."""
    return _told(response, terms_of(_organisation(request)))


@router.patch("rollout-terms", response=RolloutTermsRow)
def change_rollout_terms(
    request: HttpRequest, asked: RolloutTermsChange, response: HttpResponse
) -> Any:
    """Change how policies come to hosts, those under way too."""
    actor = acting(request, Action.DECIDE).actor
    organisation = _held(request)
    changed = steer.set_terms(
        organisation=organisation, actor=actor, now=timezone.now(), **asked.dict()
    )
    return _told(response, changed)


@router.post("rollout-terms/stop", response=RolloutTermsRow)
def stop_all_rollouts(request: HttpRequest, asked: StopReason, response: HttpResponse) -> Any:
    """Stop all: nothing changes by itself, and no policy begins. Hosts keep what they have."""
    actor = acting(request, Action.DECIDE).actor
    stopped = steer.stop_rollouts(
        organisation=_held(request), actor=actor, reason=asked.reason, now=timezone.now()
    )
    return _told(response, stopped)


@router.post("rollout-terms/resume", response=RolloutTermsRow)
def resume_all_rollouts(request: HttpRequest, response: HttpResponse) -> Any:
    """Let rollouts go on; each stage that was under way begins anew."""
    actor = acting(request, Action.DECIDE).actor
    resumed = steer.resume_rollouts(organisation=_held(request), actor=actor, now=timezone.now())
    return _told(response, resumed)


def _organisation(request: HttpRequest) -> Organisation:
    return asker_of(request).membership.organisation


def _held(request: HttpRequest) -> Organisation:
    """The organisation, whose terms nobody else changes until this ends, if they are as asked."""
    organisation = _organisation(request)
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    require_match(request, tag_of(_terms(terms_of(organisation))))
    return organisation


def _told(response: HttpResponse, terms: RolloutTerms) -> dict[str, Any]:
    plain = _terms(terms)
    tagged(response, tag_of(plain))
    return plain


def _terms(terms: RolloutTerms) -> dict[str, Any]:
    return {name: getattr(terms, name) for name in RolloutTermsRow.model_fields}


def _rows(request: HttpRequest) -> Any:
    rows = asker_of(request).scope.rows(PolicyRollout)
    return rows.select_related(
        "organisation", "policy__resource", "policy__organisation", "former"
    ).prefetch_related("hosts__host")


def _tag(row: PolicyRollout) -> str:
    """Of what people change: guards are measured anew all the time."""
    return tag_of(row.pk, row.state, row.stage, row.guarded_until)


def _plain(row: PolicyRollout) -> dict[str, Any]:
    hosts = [(one.host.name, one.released_at is not None) for one in row.hosts.all()]
    return {
        "id": row.pk,
        "policy_id": row.policy_id,
        "resource_id": row.policy.resource_id,
        "resource": row.policy.resource.name,
        "version": row.policy.version,
        "former_version": row.former.version if row.former else None,
        "state": row.state,
        "stage": row.stage + 1,
        "stages": len(row.sizes),
        "hosts": [name for name, has_it in hosts if has_it],
        "later_hosts": [name for name, has_it in hosts if not has_it],
        "is_guarded": row.guarded,
        "started_at": row.started_at,
        "published_at": row.published_at,
        "settled_at": row.settled_at,
        "guarded_until": row.guarded_until,
        "guards": row.guards,
        "waits_for": row.waits_for,
    }
