"""The sources that Sluice reads by itself: how each fares, and what is to be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_safe

from accounts.actor import Actor
from accounts.errors import NotAllowed
from accounts.roles import Action
from advisor.decisions.kubernetes import own_cluster
from advisor.decisions.kubernetes.own_cluster import may_use_own_account
from advisor.decisions.sources import stating as services
from advisor.errors import DecisionRefused
from advisor.models import ReadSource
from advisor.models.source import (
    LEAST_EVERY_MIN,
    LONGEST_ADDRESS,
    LONGEST_AUTHORITY,
    LONGEST_PASSWORD,
    LONGEST_RATES,
    LONGEST_TOKEN,
    LONGEST_USER,
    MOST_EVERY_MIN,
)
from ingest.core.kubernetes.cluster import LONGEST_LABEL
from ingest.imports.reachable import Addresses
from web.access import Workspace, open_row, workspace_view
from web.changing import changing
from web.page import render_page, render_part
from web.source_form import empty_form, form_of, sent_form, source_of_form

LONGEST_READ = timedelta(minutes=6)
"""One that began longer ago was ended from outside."""
ADDRESS_WORDS = {
    "": "Private networks are reached while the installation has one organisation.",
    Addresses.PUBLIC: "Private networks are not reached from here.",
    Addresses.PRIVATE: "Private networks are reached, the server itself is not.",
    Addresses.ANY: "All addresses are reached, the server itself too.",
}
"""By the setting of the installation."""

Change = Callable[..., None]


@require_safe
@workspace_view
def sources(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """All of them, for admins; `?source=` fills the form, `?kind=` says of what it is."""
    try:
        workspace.actor.require(Action.MANAGE_SOURCES)
    except NotAllowed as error:
        raise PermissionDenied(f"{error}.") from error
    now = timezone.now()
    if "HX-Request" in request.headers:
        return render_part(
            request, workspace, "web/parts/sources.html", now=now, **_rows(workspace, now)
        )
    asked = request.GET.get("source", "").replace("\x00", "")
    kind = request.GET.get("kind", "")
    row = services.sources_of(workspace.membership.organisation).filter(name=asked).first()
    return _page(request, workspace, now, form=form_of(row) if row else empty_form(kind))


def _page(
    request: HttpRequest,
    workspace: Workspace,
    now: datetime,
    *,
    form: Mapping[str, str],
    status: int = 200,
    **context: Any,
) -> HttpResponseBase:
    return render_page(
        request,
        workspace,
        "web/sources.html",
        now=now,
        status=status,
        form=form,
        address_words=ADDRESS_WORDS[settings.SOURCE_ADDRESSES],
        least_every_min=LEAST_EVERY_MIN,
        most_every_min=MOST_EVERY_MIN,
        longest_address=LONGEST_ADDRESS,
        longest_user=LONGEST_USER,
        longest_password=LONGEST_PASSWORD,
        longest_authority=LONGEST_AUTHORITY,
        longest_token=LONGEST_TOKEN,
        longest_label=LONGEST_LABEL,
        longest_rates=LONGEST_RATES,
        may_use_own_account=may_use_own_account(workspace.membership.organisation),
        own_address=own_cluster.ADDRESS,
        **_rows(workspace, now),
        **context,
    )


def _rows(workspace: Workspace, now: datetime) -> dict[str, Any]:
    organisation = workspace.membership.organisation
    rows = list(services.sources_of(organisation))
    return {
        "sources": [
            (row, row.began_at is not None and row.began_at > now - LONGEST_READ) for row in rows
        ],
        "removed": services.removed_sources(organisation, now=now),
    }


@sensitive_post_parameters("password")
@changing("sources")
def state(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Set a source, in the place of one of the same name."""
    workspace.actor.require(Action.MANAGE_SOURCES)
    now, form = timezone.now(), sent_form(request.POST)
    try:
        row = services.state_source(
            organisation=workspace.membership.organisation,
            stated=source_of_form(form, request.POST.get("password", "")),
            actor=workspace.actor,
            now=now,
        )
    except DecisionRefused as error:
        rows = services.sources_of(workspace.membership.organisation)
        kept = {"is_kept": "yes"} if rows.filter(name=form["name"]).exists() else {}
        return _page(request, workspace, now, form={**form, **kept}, status=400, error=str(error))
    when = "when it is resumed" if row.paused_at else "within seconds"
    messages.success(request, f"Source {row.name} is set; it is read {when}.")
    return redirect(reverse("sources") + "#content")


@changing("sources")
def test(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Have a worker connect and log in; the page says what came of it."""
    return _change(request, workspace, pk, services.ask_trial, "{} is being tested.")


@changing("sources")
def pause(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    return _change(request, workspace, pk, services.pause_source, "{} is paused.")


@changing("sources")
def resume(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    return _change(
        request, workspace, pk, services.resume_source, "{} is read again, within seconds."
    )


@changing("sources")
def remove(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    said = "{} is removed; for a day it can be put back on this page."
    return _change(request, workspace, pk, services.remove_source, said)


@changing("sources")
def back(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Undo a removal."""
    return _change(request, workspace, pk, services.put_back, "{} is back, and read at once.")


def _change(
    request: HttpRequest, workspace: Workspace, pk: int, change: Change, said: str
) -> HttpResponseBase:
    workspace, row = open_row(workspace, ReadSource, pk)
    actor: Actor = workspace.actor
    try:
        change(row, actor=actor, now=timezone.now())
    except DecisionRefused as error:
        messages.error(request, f"Nothing was changed: {error}.")
    else:
        messages.success(request, said.format(row.name))
    return redirect(reverse("sources") + "#content")
