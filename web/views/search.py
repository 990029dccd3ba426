"""Finding a workload, host, datastore or uplink by its name."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor.queries.search import PER_PAGE, HitKind, search, search_page
from web.access import Workspace, workspace_view
from web.page import render_page, render_part

LONGEST_TEXT = 100
MOST_DIGITS = 6


@require_safe
@workspace_view
def find(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """The first results of each kind, or with `?kind=` all of one kind in pages."""
    text = request.GET.get("q", "").strip()[:LONGEST_TEXT]
    groups = search(workspace.scope, text)
    context: dict[str, Any] = {
        "search_text": text,
        "groups": groups,
        "hit_count": sum(group.count for group in groups),
        "now": timezone.now(),
    }
    if "HX-Request" in request.headers:
        return render_part(request, workspace, "web/parts/search_results.html", **context)
    wanted = request.GET.get("kind", "")
    if text and wanted in set(HitKind):
        page = _page_number(request)
        group = search_page(workspace.scope, text, HitKind(wanted), page=page)
        page = (group.first - 1) // PER_PAGE + 1
        context |= {
            "chosen": group,
            "previous_page": page - 1 if page > 1 else None,
            "next_page": page + 1 if group.last < group.count else None,
        }
    return render_page(request, workspace, "web/search.html", **context)


def _page_number(request: HttpRequest) -> int:
    text = request.GET.get("page", "1")
    return max(1, int(text)) if text.isdecimal() and len(text) <= MOST_DIGITS else 1
