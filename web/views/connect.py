"""Connect hosts: a line to paste on them, and a checklist that fills while they join."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.errors import JoinRefused
from accounts.models import Collects, JoinMode, JoinToken, Runs
from accounts.services.join_tokens import (
    DEFAULT_MINUTES,
    MOST_HOSTS,
    Terms,
    join_state,
    join_tokens_of,
    make_join_token,
    revoke_join_token,
)
from advisor.queries.joins import followed_hosts
from ingest.core.lengths import LONGEST_HOST_NAME
from web.access import Workspace, open_row, workspace_view
from web.changing import changing
from web.page import render_page, render_part
from web.views.join import why_unsafe

LIFETIMES = ((30, "30 minutes"), (120, "2 hours"), (24 * 60, "a day"), (7 * 24 * 60, "a week"))
MOST_LISTED = 20
LONGEST_NUMBER = 4


def join_line(request: HttpRequest, secret: str) -> str:
    """What is pasted on a host."""
    return f"curl -fsSL {request.build_absolute_uri(reverse('join', args=[secret]))} | sudo sh"


@require_safe
@workspace_view
def connect(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    now = timezone.now()
    tokens = join_tokens_of(workspace.membership.organisation)[:MOST_LISTED]
    return render_page(
        request,
        workspace,
        "web/connect.html",
        now=now,
        section="hosts",
        lifetimes=LIFETIMES,
        default_minutes=DEFAULT_MINUTES,
        most_hosts=MOST_HOSTS,
        longest_name=LONGEST_HOST_NAME,
        host_name=request.GET.get("host", "")[:LONGEST_HOST_NAME],
        unsafe=why_unsafe(request),
        tokens=[(token, join_state(token, now=now)) for token in tokens],
    )


@never_cache
@changing("connect")
def make(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """The answer alone holds the secret."""
    token, secret = make_join_token(
        organisation=workspace.membership.organisation,
        terms=_terms(request),
        now=timezone.now(),
        by=workspace.actor,
    )
    return _followed(request, workspace, token, line=join_line(request, secret))


def _terms(request: HttpRequest) -> Terms:
    said = request.POST
    try:
        return Terms(
            runs=Runs(said.get("runs", "")),
            mode=JoinMode(said.get("mode", "")),
            collects=Collects(said.get("collects", "")),
            host_name=said.get("host", "").strip(),
            most_hosts=_number(said.get("hosts", "")),
            minutes=_number(said.get("minutes", "")),
        )
    except ValueError as error:
        raise JoinRefused("Choose each of them from what the form offers") from error


def _number(text: str) -> int:
    return int(text) if len(text) <= LONGEST_NUMBER + 1 else 0


@require_safe
@workspace_view
def follow(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    workspace, token = open_row(workspace, JoinToken, pk)
    return _followed(request, workspace, token)


def _followed(
    request: HttpRequest, workspace: Workspace, token: JoinToken, **context: Any
) -> HttpResponseBase:
    now = timezone.now()
    hosts = followed_hosts(workspace.scope, token, now=now)
    shown = {
        "token": token,
        "state": join_state(token, now=now),
        "hosts": hosts,
        "more_hosts": max(0, token.hosts_joined - len(hosts)),
        "section": "hosts",
        **context,
    }
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/joins.html", now=now, **shown)
    return render_page(request, workspace, "web/join.html", now=now, **shown)


@changing("connect")
def revoke(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    revoke_join_token(
        organisation=workspace.membership.organisation, pk=pk, now=timezone.now(),
        by=workspace.actor,
    )  # fmt: skip
    messages.success(request, "The line lets no host join any more; those that did stay.")
    return redirect("connect")
