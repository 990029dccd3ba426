"""Finding a workload, host, datastore or uplink by its name."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

from advisor.queries.search import HitKind, search
from web.access import Workspace, workspace_view
from web.page import render_page, render_part

LONGEST_TEXT = 100


@workspace_view
def find(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    text = request.GET.get("q", "").strip()[:LONGEST_TEXT]
    hits = search(workspace.scope, text)
    groups = [(kind, [hit for hit in hits if hit.kind == kind]) for kind in HitKind]
    context: dict[str, Any] = {
        "search_text": text,
        "groups": [(kind, found) for kind, found in groups if found],
        "hit_count": len(hits),
        "now": timezone.now(),
    }
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/search_results.html", **context)
    return render_page(request, workspace, "web/search.html", **context)
