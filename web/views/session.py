"""Changing the organisation that is looked at."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from web.access import SESSION_KEY, Workspace, workspace_view


@require_POST
@workspace_view
def choose_organisation(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Look at another of one's organisations from now on."""
    chosen = request.POST.get("organisation", "")
    target = workspace.at(int(chosen) if chosen.isdecimal() else 0)
    request.session[SESSION_KEY] = target.membership.organisation_id
    return redirect("overview")
