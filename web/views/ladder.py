"""The ladder: which rules hold where, and stating them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.roles import Action
from advisor.advice.registry import kind_words
from advisor.core.ladder.rule import Level
from advisor.core.resource import Tier
from advisor.decisions.ladder import LEVEL_WORDS
from advisor.decisions.ladder_rules import (
    Undo,
    check_rule,
    former_rule,
    remove_rule,
    rule_text,
    state_rule,
    undo,
)
from advisor.decisions.rollouts.begin import terms_of
from advisor.errors import DecisionRefused
from advisor.models import LadderRule, Resource
from advisor.queries.ladder import MOST_OPEN, ladder_view
from advisor.queries.ladder_change import Effect, effect_of_change
from web.access import Workspace, workspace_view
from web.changing import changing
from web.ladder_form import FIELDS, KIND_NAMES, form_of, rule_of_form, sent_form
from web.page import render_page

MOST_RESOURCES = 1000
UNDO_KEY = "ladder_undo"


@require_safe
@workspace_view
def ladder(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """The rules; `?rule=` fills the form with one of them."""
    rows = LadderRule.objects.filter(organisation=workspace.membership.organisation)
    asked = request.GET.get("rule", "").replace("\x00", "")
    row = rows.select_related("resource").filter(name=asked).first()
    return _page(request, workspace, form=form_of(row) if row else dict.fromkeys(FIELDS, ""))


def _page(
    request: HttpRequest,
    workspace: Workspace,
    *,
    form: Mapping[str, str],
    status: int = 200,
    **context: Any,
) -> HttpResponseBase:
    now, organisation = timezone.now(), workspace.membership.organisation
    waiting = workspace.scope.recommendations().waiting(now).select_related("resource")
    resources = Resource.objects.visible_to(workspace.membership.user)
    return render_page(
        request,
        workspace,
        "web/ladder.html",
        now=now,
        status=status,
        ladder=ladder_view(organisation, list(waiting[:MOST_OPEN]), now=now),
        rollout_terms=terms_of(organisation),
        resources=resources.filter(organisation=organisation).order_by("name")[:MOST_RESOURCES],
        tiers=tuple(Tier),
        kinds=[(name, kind_words(name)) for name in KIND_NAMES],
        levels=[(level, LEVEL_WORDS[level]) for level in Level],
        form=form,
        undo=_undo_of(request, workspace),
        undoing=_undoing(request, workspace),
        **context,
    )


@changing("ladder")
def state(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """State a rule, in the place of one of the same name."""
    workspace.actor.require(Action.MANAGE_LADDER)
    form = sent_form(request.POST)
    organisation = workspace.membership.organisation
    try:
        row = rule_of_form(form, organisation)
        check_rule(row)
        effect = effect_of_change(organisation, row.name, row)
        if (row.level == Level.ACT or effect.acts) and not _is_confirmed(request, effect):
            return _page(request, workspace, form=form, asks=effect)
        _change(
            request,
            workspace,
            row.name,
            lambda now: state_rule(row, actor=workspace.actor, now=now),
        )
    except DecisionRefused as error:
        return _page(request, workspace, form=form, status=400, error=str(error))
    messages.success(request, f"Rule {row.name} holds.")
    # A browser keeps the place of the form's address where none is given.
    return redirect(reverse("ladder") + "#content")


@changing("ladder")
def remove(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Remove a rule; where that lets Sluice act its dialog said so, or opens and asks now."""
    workspace.actor.require(Action.MANAGE_LADDER)
    name = request.POST.get("name", "").replace("\x00", "")
    organisation = workspace.membership.organisation
    effect = effect_of_change(organisation, name, None)
    if effect.acts and not _is_confirmed(request, effect):
        return _page(request, workspace, form=dict.fromkeys(FIELDS, ""), asks_removal_of=name)
    try:
        _change(
            request,
            workspace,
            name,
            lambda now: remove_rule(
                organisation=organisation, name=name, actor=workspace.actor, now=now
            ),
        )
    except DecisionRefused as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        messages.success(request, f"Rule {name} is removed.")
    return redirect("ladder")


@changing("ladder")
def take_back(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Undo the person's last change of a rule."""
    workspace.actor.require(Action.MANAGE_LADDER)
    change, effect = _undo_of(request, workspace), _undoing(request, workspace)
    if effect and effect.acts and not _is_confirmed(request, effect):
        messages.error(request, f"Nothing was changed: confirm it first. {effect.acts}")
        return redirect("ladder")
    request.session.pop(UNDO_KEY, None)
    if change is None:
        messages.error(request, "Nothing was changed: there is nothing to undo.")
        return redirect("ladder")
    try:
        undo(
            change,
            organisation=workspace.membership.organisation,
            actor=workspace.actor,
            now=timezone.now(),
        )
    except DecisionRefused as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        messages.success(request, f"Rule {change.name} is as it was.")
    return redirect("ladder")


def _is_confirmed(request: HttpRequest, effect: Effect) -> bool:
    """Whether just this was asked; another person may have changed a rule since."""
    return request.POST.get("confirmed") == (effect.acts or "yes")


def _change(
    request: HttpRequest, workspace: Workspace, name: str, do: Callable[[datetime], object]
) -> None:
    """Make a change of a rule, and keep how to undo it."""
    organisation = workspace.membership.organisation
    before = rule_text(organisation, name)
    do(timezone.now())
    change = Undo(name=name, before=before, after=rule_text(organisation, name))
    request.session[UNDO_KEY] = {"organisation": organisation.pk, **asdict(change)}


def _undo_of(request: HttpRequest, workspace: Workspace) -> Undo | None:
    """The person's last change of a rule in this organisation, if it can be undone."""
    kept = dict(request.session.get(UNDO_KEY, {}))
    if kept.pop("organisation", None) != workspace.membership.organisation_id:
        return None
    return Undo(**kept)


def _undoing(request: HttpRequest, workspace: Workspace) -> Effect | None:
    """What undoing the last change does; None where it cannot be undone."""
    change, organisation = _undo_of(request, workspace), workspace.membership.organisation
    if change is None:
        return None
    try:
        former = former_rule(change, organisation)
    except DecisionRefused:
        # Undoing says why.
        return None
    return effect_of_change(organisation, change.name, former)
