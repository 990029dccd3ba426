"""Rules that give workloads their tier and say which devices are one."""

from __future__ import annotations

from collections import Counter

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.roles import Action
from advisor.core.resource import Tier
from advisor.decisions.found.pods import BY_LABEL
from advisor.decisions.found.rules import RulesError, set_rules, stated_rules
from advisor.errors import InventoryError
from advisor.models import Workload
from web.access import Workspace, workspace_view
from web.api.v1.noted import noted
from web.changing import changing
from web.page import render_page

LONGEST_TEXT = 100_000


@require_safe
@workspace_view
def rules(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    return _page(request, workspace, stated_rules(workspace.membership.organisation))


@changing("rules")
def state(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Take these rules instead of those before; a text with an error stays in the form."""
    workspace.actor.require(Action.DECIDE)
    if "text" not in request.POST:
        raise InventoryError("nothing was changed: the form has no rules")
    text = request.POST["text"].replace("\r\n", "\n")
    if len(text) > LONGEST_TEXT:
        said = f"the rules have more than {LONGEST_TEXT} letters"
        return _page(request, workspace, text[:LONGEST_TEXT], errors=[said])
    try:
        with transaction.atomic():
            set_rules(workspace.membership.organisation, text, now=timezone.now())
            noted(workspace, "state rules", "in the browser")
    except RulesError as error:
        return _page(request, workspace, text, errors=str(error).splitlines())
    messages.success(request, "The rules act when workloads are looked at next, within a minute.")
    return redirect("rules")


def _page(
    request: HttpRequest, workspace: Workspace, text: str, *, errors: list[str] | None = None
) -> HttpResponse:
    rows = workspace.scope.rows(Workload).filter(vanished_at=None)
    found = list(rows.values_list("tier", "tier_stated", "found", "tier_reason"))
    of_tier: dict[str, Counter[str]] = {str(tier): Counter() for tier in Tier}
    for tier, stated, is_found, reason in found:
        of_tier[tier][_given_by(reason, is_stated=stated or not is_found)] += 1
    return render_page(
        request,
        workspace,
        "web/rules.html",
        now=timezone.now(),
        status=400 if errors else 200,
        text=text,
        errors=errors or [],
        tiers=[(tier, counts.total(), counts) for tier, counts in of_tier.items()],
        longest_text=LONGEST_TEXT,
    )


def _given_by(reason: str, *, is_stated: bool) -> str:
    """Where a workload's tier is from."""
    if is_stated:
        return "stated"
    if reason.startswith(BY_LABEL):
        return "label"
    return "rule" if reason else "default"
