"""What every page has: the workspace, the time, and the numbers in the navigation."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import get_conditional_response

from web.access import Workspace
from web.saved_views import views_menu
from web.tour import tour_of


def render_page(
    request: HttpRequest,
    workspace: Workspace,
    template: str,
    *,
    now: datetime,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """The whole page, inside the frame with navigation."""
    proposed = workspace.scope.recommendations().waiting(now)
    frame = {
        "workspace": workspace,
        "now": now,
        "proposed_count": proposed.count(),
        "tour": tour_of(workspace),
        "views": views_menu(request, workspace),
    }
    return render(request, template, {**frame, **context}, status=status)


def render_part(
    request: HttpRequest, workspace: Workspace, template: str, *, now: datetime, **context: Any
) -> HttpResponse:
    """One part of a page, for an update in place; 304 if the asker has it already.

    Two parts are the same if they differ only in times told from now: those the browser tells.
    """
    response = render(request, template, {"workspace": workspace, "now": now, **context})
    digest = hashlib.sha256(_TOLD_FROM_NOW.sub(rb"\1", response.content)).hexdigest()
    etag = f'"{digest[:ETAG_LENGTH]}"'
    response["ETag"] = etag
    # The page keeps it in memory; nothing of it is left on the disk of a shared machine.
    response["Cache-Control"] = "no-store"
    answer = get_conditional_response(request, etag=etag, response=response)
    assert isinstance(answer, HttpResponse)
    return answer


ETAG_LENGTH = 32
_TOLD_FROM_NOW = re.compile(rb"(<time data-ago [^>]*>)[^<]*")
