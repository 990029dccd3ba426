"""Saving a view of a page under a name, and removing it."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from advisor.core.saved_views import ViewedPage
from advisor.decisions.saved_views import remove_view, save_view
from advisor.errors import DecisionRefused
from advisor.models import SavedView
from web.access import Workspace, open_row
from web.changing import changing

LONGEST_FIELD = 2000


@changing("overview")
def save(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    """Save what the page shows, and show it on."""
    page = request.POST.get("page", "")
    if page not in list(ViewedPage):
        raise Http404(f'there are no views of a page "{page[:20]}"')
    query = request.POST.get("query", "")[:LONGEST_FIELD]
    try:
        view = save_view(
            membership=workspace.membership,
            page=page,
            name=request.POST.get("name", "").strip()[:LONGEST_FIELD],
            query=query,
            shared="shared" in request.POST,
        )
    except DecisionRefused as error:
        messages.error(request, f"The view was not saved: {error}.")
        return redirect(_address(page, query))
    messages.success(request, f"The view {view.name} is saved.")
    return redirect(_address(page, view.query))


@changing("overview")
def remove(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    """Remove it, and show the page as usual."""
    workspace, row = open_row(workspace, SavedView, pk)
    if row.member_id not in (None, workspace.membership.pk):
        raise Http404(f"no view {pk}")
    page, name = row.page, row.name
    remove_view(row, membership=workspace.membership)
    messages.success(request, f"There is no view {name} any more.")
    return redirect(_address(page, ""))


def _address(page: str, query: str) -> str:
    return f"{reverse(page)}?{query}" if query else reverse(page)
