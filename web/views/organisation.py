"""What an organisation may send and have, and its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.errors import AccountsError, NotAllowed
from accounts.models import AuditEntry, Organisation
from accounts.roles import Action
from accounts.services.deletion import GRACE, keep_organisation, plan_deletion
from advisor.errors import InventoryError
from advisor.history.stored.retention import LONGEST_DAYS, keep_for, kept_by
from ingest.core.quota.limits import WORDS
from ingest.quotas.figures import QuotaFigures, quota_figures
from web.access import Workspace, workspace_view
from web.api.v1.noted import noted
from web.changing import changing
from web.organisation_export import ENDED, export_answer
from web.page import render_page
from web.views.stating import Form

NEARLY_FULL = 0.8
"""From this part of a quota on it is said that it is nearly used up."""


@require_safe
@workspace_view
def organisation(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    return render_page(
        request,
        workspace,
        "web/organisation.html",
        now=now,
        quotas=[_row(one) for one in quota_figures(workspace.membership.organisation, now=now)],
        may_export=workspace.membership.may(Action.EXPORT_ORGANISATION),
        last_export=_last_export(workspace.membership.organisation),
        may_delete=workspace.membership.may(Action.DELETE_ORGANISATION),
        grace_days=GRACE.days,
        kept=kept_by(workspace.membership.organisation),
        most_days=LONGEST_DAYS,
        samples_days=settings.SAMPLE_RETENTION_DAYS,
    )


@changing("organisation")
def keep_history(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """State how long history is kept; what is older goes within an hour."""
    # To shorten it deletes what is older.
    workspace.actor.require(Action.DELETE_ORGANISATION)
    own, form = workspace.membership.organisation, Form(request)
    days = {name: form.read(name, int) for name in ("exact_days", "quarter_days", "day_days")}
    stated = {name: value for name, value in days.items() if value is not None}
    if not stated:
        raise InventoryError("nothing was changed: the form states nothing")
    with transaction.atomic():
        keep_for(own, replace(kept_by(own), **stated))
        noted(workspace, "state retention", "stored history")
    messages.success(request, "History is kept so long from now on; what is older goes.")
    return redirect("organisation")


def _row(figures: QuotaFigures) -> Mapping[str, object]:
    part = None
    if figures.limit and figures.used is not None:
        part = figures.used / figures.limit
    return {
        "what": WORDS[figures.quota],
        "figures": figures,
        "percent": None if part is None else round(100 * part),
        "is_nearly_full": part is not None and part >= NEARLY_FULL,
    }


def _last_export(own: Organisation) -> Mapping[str, object] | None:
    """When all of it was exported last in a browser or by the API, how large, how long it took."""
    found = AuditEntry.objects.filter(organisation=own, action=ENDED).order_by("-number").first()
    if found is None:
        return None
    return {
        "at": found.at,
        "size_bytes": found.details["size_bytes"],
        "took_s": found.details["took_ms"] / 1000,
    }


@require_POST
@workspace_view
def export(_request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """All that is stored of it as a ZIP file, while it is made."""
    try:
        return export_answer(workspace.membership.organisation, workspace.actor)
    except NotAllowed as error:
        raise PermissionDenied(f"{error}.") from error


@require_POST
@workspace_view
def delete(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Plan the deletion, with its short name typed to confirm it."""
    try:
        plan_deletion(
            organisation=workspace.membership.organisation,
            slug=request.POST.get("slug", "").strip(),
            actor=workspace.actor,
            now=timezone.now(),
        )
    except NotAllowed as error:
        raise PermissionDenied(f"{error}.") from error
    except AccountsError as error:
        messages.error(request, f"{error}.")
    return redirect("organisation")


@require_POST
@workspace_view
def keep(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Take the deletion back."""
    try:
        keep_organisation(
            organisation=workspace.membership.organisation,
            actor=workspace.actor,
            now=timezone.now(),
        )
    except NotAllowed as error:
        raise PermissionDenied(f"{error}.") from error
    except AccountsError as error:
        messages.error(request, f"{error}.")
    return redirect("organisation")
