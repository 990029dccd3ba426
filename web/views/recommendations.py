"""What, why, what will it do, can I undo it?"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from advisor.advice.kind import HostMove, Kind
from advisor.advice.policy.decide.policy_answer import Recommendation as Answer
from advisor.advice.policy.show import incident_picture
from advisor.advice.registry import kind_of, variants
from advisor.advice.shared.shown import NOTED
from advisor.advice.what_if.decide.what_if_draft import PolicyDraft
from advisor.core.detection.congestion import ALARMS
from advisor.core.duration import duration_text
from advisor.core.enumeration import clauses
from advisor.core.ladder.verdict import Verdict
from advisor.decisions.decide import approve, reject, waits_for_rollout
from advisor.decisions.kubernetes.class_changes import (
    Plan,
    asked_changes_text,
    may_change_classes,
    planned_changes,
)
from advisor.decisions.ladder import CONFIRMED, confirm_first, ladder_verdict, level_text, why_held
from advisor.decisions.moving import asked_text, may_carry_out
from advisor.decisions.rejection import REJECTION_REASONS, reason_text
from advisor.decisions.rollouts.begin import terms_of
from advisor.errors import DecisionRefused
from advisor.history.policy_state import PolicyState, policy_state
from advisor.history.track_record import track_text
from advisor.models import (
    Policy,
    PredictionScore,
    Recommendation,
    RecommendationState,
    Resource,
    ResourceStatus,
)
from advisor.pipeline.recommendation_life import history_of
from advisor.queries.advice_detail import advice_detail
from advisor.queries.calibration import calibration_of
from advisor.queries.recommendations import (
    Effect,
    RecommendationDetail,
    recommendation_detail,
    recommendation_rows,
    shown_state,
    why_not_scored,
)
from advisor.queries.rollouts import rollout_view
from web.access import Workspace, open_row, require_operator, workspace_view
from web.drawing.bars import effect_rows, policy_bars
from web.drawing.picture import drawing_of
from web.formatting import rate_scale
from web.page import render_page

PER_PAGE = 50
MOST_ROWS = 5
"""So many bars have room on one screen beside the reasons and the risk."""
LESS_RATIO = 0.99
LONGEST_REASON = 2000
SNOOZES = {"1": "1 hour", "8": "8 hours", "24": "1 day", "168": "1 week"}
"""Hours for which a page puts advice off."""


@require_safe
@workspace_view
def recommendations(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    rows = recommendation_rows(workspace.scope)
    state = request.GET.get("state", "")
    if state in RecommendationState.values:
        rows = rows.in_state(state, now)
    kinds = _kinds(rows)
    kind = request.GET.get("kind", "")
    if kind in {one.name for one in variants()}:
        rows = rows.filter(kind=kind)
    else:
        kind = ""
    page = Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
    gaps = ResourceStatus.objects.filter(
        resource__in=workspace.scope.rows(Resource), state__in=ALARMS
    ).exclude(advice_gap="")
    return render_page(
        request,
        workspace,
        "web/recommendations.html",
        now=now,
        section="recommendations",
        page=page,
        rows=[(row, shown_state(row, now)) for row in page],
        state=state,
        states=RecommendationState.values,
        kind=kind,
        kinds=kinds,
        calibration=calibration_of(workspace.membership.organisation),
        gaps=list(gaps.select_related("resource").order_by("resource__name")),
    )


def _kinds(rows: QuerySet[Recommendation]) -> list[tuple[str, str, int]]:
    """The kinds that there are, in words, with how many of each."""
    counts = dict(rows.order_by().values_list("kind").annotate(Count("pk")))
    return [(one.name, one.words, counts[one.name]) for one in variants() if one.name in counts]


@require_safe
@workspace_view
def recommendation(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, row = open_recommendation(workspace, pk)
    return recommendation_page(request, workspace, row, now=timezone.now())


def open_recommendation(workspace: Workspace, pk: int) -> tuple[Workspace, Recommendation]:
    """The recommendation, if the person may see it, and the workspace it belongs to."""
    return open_row(
        workspace,
        Recommendation,
        pk,
        "resource",
        "incident",
        "decided_by",
        "created_by",
        "confirmed_by",
        "prediction_score",
    )


def recommendation_page(
    request: HttpRequest,
    workspace: Workspace,
    row: Recommendation,
    *,
    now: datetime,
    status: int = 200,
    **context: Any,
) -> HttpResponseBase:
    """The page of a recommendation, after a form was refused too."""
    detail = recommendation_detail(row, now=now)
    kind = kind_of(row)
    is_policy = kind is not None and kind.publishes
    found = ladder_verdict(row, now=now) if detail.is_open else None
    acts = may_change_classes(workspace.actor)
    plan = planned_changes(row) if detail.is_open and acts else Plan()
    carries_out = bool(kind and _moves(kind, row)) and may_carry_out(
        workspace.actor, row.organisation
    )
    return render_page(
        request,
        workspace,
        "web/recommendation.html" if is_policy else "web/advice.html",
        now=now,
        status=status,
        section="recommendations",
        detail=detail,
        row=row,
        history=history_of(row),
        snoozes=SNOOZES,
        held=_held(row, found),
        level_text=level_text(row, found) if found else "",
        one_click=found
        and found.asks_for_a_click
        and not (detail.reach.without_agent or carries_out or plan.changes),
        rejection_reasons=REJECTION_REASONS,
        carries_out=carries_out,
        class_plan=plan,
        class_changes=list(row.class_changes.select_related("undone_by").order_by("pk")),
        may_undo_classes=acts,
        **(_policy(detail, now) if is_policy else _other_advice(row)),
        **context,
    )


def _held(row: Recommendation, found: Verdict | None) -> str:
    """Why it cannot be approved now; empty if it can, or is decided."""
    if found is None:
        return ""
    return clauses(reason for reason in (waits_for_rollout(row), why_held(found)) if reason)


def _moves(kind: Kind[Any, Any], row: Recommendation) -> tuple[HostMove, ...]:
    return kind.moves(json.loads(row.answer))


def _policy(detail: RecommendationDetail, now: datetime) -> dict[str, Any]:
    picture = None if detail.is_draft else incident_picture(detail.row.inputs)
    terms = terms_of(detail.row.organisation)
    bars = policy_bars(_by_change(detail))
    return {
        "drawing": drawing_of(picture) if picture else None,
        "track": track_text(detail.row) if detail.answer else "",
        "scale": rate_scale(detail.row.resource.unit, _largest(detail)),
        "losing": [one.effect.workload for one in bars if _loses(one.effect)],
        "can_edit": detail.answer is not None,
        "bars": bars[:MOST_ROWS],
        "more_bars": bars[MOST_ROWS:],
        "window": _window(detail),
        **_prediction(detail),
        "policy_state": _newest_state(detail, now),
        "rollout": rollout_view(detail.policy, terms, now=now),
        "rollout_terms": terms,
        "comes_in_stages": terms.stages(detail.row.resource) and len(detail.reach.hosts) > 1,
        "resource": detail.row.resource,
    }


def _newest_state(detail: RecommendationDetail, now: datetime) -> PolicyState | None:
    """How far its policy has come; None without one, and for one that was replaced."""
    policy = detail.in_force
    if policy is None or policy != detail.policy:
        return None
    return policy_state(policy, now=now)


def _by_change(detail: RecommendationDetail) -> list[Effect]:
    """The workload that the sentence tells of, and then who gains or loses most."""
    lead = detail.answer.lead if isinstance(detail.answer, Answer) else ""
    first = [one for one in detail.effects if lead and one.workload == lead]
    others = [one for one in detail.effects if one not in first]
    return first + sorted(others, key=_change, reverse=True)


def _change(effect: Effect) -> float:
    """How much a workload gains or loses; what was not measured or is not sure stands last."""
    if effect.before is None or effect.after is None:
        return -1.0
    return abs(effect.after - effect.before)


def _loses(effect: Effect) -> bool:
    """Whether it would get less than it got, by more than a number is rounded by."""
    if effect.before is None or effect.after is None:
        return False
    return effect.after < effect.before * LESS_RATIO


def _prediction(detail: RecommendationDetail) -> dict[str, Any]:
    """The newest score, which the scheduler keeps, or why there is none."""
    if detail.policy is None:
        return {}
    found: PredictionScore | None = getattr(detail.row, "prediction_score", None)
    if found is None:
        return {"prediction": None, "not_scored": why_not_scored(detail.row)}
    rates = [
        {"measured_in_all": None, **rate, "off": rate["measured"] - rate["predicted"]}
        for rate in found.rates
    ]
    return {"prediction": found, "prediction_rates": rates}


def _other_advice(row: Recommendation) -> dict[str, Any]:
    advice = advice_detail(row)
    return {
        "advice": advice,
        "moves": row.moves.order_by("place"),
        "track": track_text(row) if advice else "",
        "effects": effect_rows(advice.effects) if advice else [],
        "drawing": drawing_of(advice.picture) if advice and advice.picture else None,
    }


def _largest(detail: RecommendationDetail) -> float | None:
    numbers = [
        number
        for effect in detail.effects
        for number in (effect.before, effect.after, effect.reservation, effect.limit)
        if number is not None
    ]
    return max(numbers, default=None)


def _window(detail: RecommendationDetail) -> str:
    if detail.answer is None or isinstance(detail.answer, PolicyDraft):
        return ""
    evidence = detail.answer.evidence
    return duration_text(evidence.ended_at - evidence.began_at)


@require_POST
@workspace_view
def approve_one(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Make the recommendation the newest policy."""
    now = timezone.now()
    workspace, row = open_recommendation(workspace, pk)
    require_operator(workspace)
    try:
        if confirm_first(recommendation=row, user=workspace.membership.user, now=now):
            messages.success(request, CONFIRMED)
            return redirect("recommendation", row.pk)
        policy = approve(recommendation=row, user=workspace.membership.user, now=now)
    except DecisionRefused as error:
        return _refused(request, workspace, row, error, now=now)
    messages.success(request, _approved(row, policy, now))
    return redirect("recommendation", row.pk)


def _refused(
    request: HttpRequest,
    workspace: Workspace,
    row: Recommendation,
    error: DecisionRefused,
    *,
    now: datetime,
) -> HttpResponseBase:
    """The page as it was, with the reason."""
    # What was set before it was refused is undone in the database alone.
    row.refresh_from_db()
    messages.error(request, f"Nothing was changed: {error}.")
    return recommendation_page(request, workspace, row, now=now, status=409)


def _approved(row: Recommendation, policy: Policy | None, now: datetime) -> str:
    classes = asked_changes_text(row)
    if policy is not None:
        state = policy_state(policy, now=now)
        return (
            f"Approved. Version {policy.version} of the policy of {row.resource.name} is "
            f"{state.text}. Agents take it with their next pull and report what they did. "
            f"{classes}"
        ).strip()
    advice = advice_detail(row)
    return asked_text(row) or classes or (advice.commitment.done if advice else NOTED)


@require_POST
@workspace_view
def reject_one(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Close the recommendation with the reason why not."""
    now = timezone.now()
    workspace, row = open_recommendation(workspace, pk)
    require_operator(workspace)
    words = request.POST.get("reason", "")[:LONGEST_REASON]
    reason = reason_text(request.POST.get("chip", ""), words)
    if not reason:
        error = "Say why, by a choice or in a few words: whoever reads this later will ask."
        return recommendation_page(
            request, workspace, row, now=now, status=400, reject_error=error
        )
    try:
        reject(recommendation=row, user=workspace.membership.user, reason=reason, now=now)
    except DecisionRefused as error:
        return _refused(request, workspace, row, error, now=now)
    messages.success(request, "Rejected. Nothing on any host was changed.")
    return redirect("recommendation", row.pk)
