"""Tokens of programs, and of people for their programs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib import messages
from django.db.models import F
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.errors import TokenRefused
from accounts.models import Scope
from accounts.models.token import OF_PEOPLE
from accounts.services.tokens import LONGEST_NAME, create_token, revoke_token, tokens_for
from ingest.models import Host
from web.access import Workspace, workspace_view
from web.changing import changing
from web.page import render_page

OF_PROGRAMS = tuple(scope for scope in Scope if scope not in OF_PEOPLE)
LIFETIMES_DAYS = (7, 30, 90, 365)
DAYS_OF_PEOPLE, DAYS_OF_PROGRAMS = 90, 365
"""A collector whose token ends is silent, so those of programs last longer."""
MOST_HOSTS = 1000


@require_safe
@workspace_view
def tokens(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    return _page(request, workspace)


def _page(request: HttpRequest, workspace: Workspace, **context: Any) -> HttpResponseBase:
    now = timezone.now()
    organisation = workspace.membership.organisation
    found = tokens_for(organisation, workspace.actor)
    hosts = Host.objects.visible_to(workspace.membership.user).filter(organisation=organisation)
    return render_page(
        request,
        workspace,
        "web/tokens.html",
        now=now,
        tokens=found.order_by(F("revoked_at").asc(nulls_first=True), "name", "pk"),
        hosts=hosts[:MOST_HOSTS] if workspace.may_manage_tokens else (),
        scopes_of_people=OF_PEOPLE,
        scopes_of_programs=OF_PROGRAMS,
        lifetimes_days=LIFETIMES_DAYS,
        days_of_people=DAYS_OF_PEOPLE,
        days_of_programs=DAYS_OF_PROGRAMS,
        longest_name=LONGEST_NAME,
        **context,
    )


@never_cache
@changing("tokens")
def make(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """The answer alone holds the secret."""
    scope = _scope(request)
    token, secret = create_token(
        organisation=workspace.membership.organisation,
        name=request.POST.get("name", "").strip(),
        scope=scope,
        host_name=request.POST.get("host", "").strip() or None,
        username=workspace.membership.user.get_username() if scope in OF_PEOPLE else None,
        expires_at=_end(request, timezone.now()),
        by=workspace.actor,
    )
    return _page(request, workspace, made=token, secret=secret)


def _scope(request: HttpRequest) -> Scope:
    try:
        return Scope(request.POST.get("scope", ""))
    except ValueError as error:
        raise TokenRefused("Choose what the token is for") from error


def _end(request: HttpRequest, now: datetime) -> datetime | None:
    """When the token ends; None for never, which is said as no days."""
    days = request.POST.get("days", "")
    if days == "never":
        return None
    if days not in map(str, LIFETIMES_DAYS):
        raise TokenRefused("Choose how long the token is valid")
    return now + timedelta(days=int(days))


@changing("tokens")
def revoke(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    token = revoke_token(
        organisation=workspace.membership.organisation, pk=pk, now=timezone.now(),
        by=workspace.actor,
    )  # fmt: skip
    messages.success(request, f"{token.name} opens nothing any more.")
    return redirect("tokens")
