"""The views that are saved of a page, as its menu shows them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse

from advisor.core.saved_views import ViewedPage, saved_query
from advisor.models import SavedView
from web.access import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewLink:
    """One of them; `is_present` tells that the page shows it, `may_remove` who looks at it."""

    pk: int
    name: str
    address: str
    is_shared: bool
    is_present: bool
    may_remove: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewsMenu:
    """The menu of a page that is shown by this query."""

    page: ViewedPage
    query: str
    links: tuple[ViewLink, ...]
    may_share: bool

    @property
    def present(self) -> ViewLink | None:
        return next((one for one in self.links if one.is_present), None)


def views_menu(request: HttpRequest, workspace: Workspace) -> ViewsMenu | None:
    """None on a page of which no views are saved."""
    match = request.resolver_match
    if match is None or match.view_name not in list(ViewedPage):
        return None
    page = ViewedPage(match.view_name)
    try:
        query = saved_query(request.META.get("QUERY_STRING", ""))
    except ValueError:
        query = ""
    rows = workspace.scope.rows(SavedView).filter(
        Q(member=None) | Q(member=workspace.membership), page=page
    )
    return ViewsMenu(
        page=page,
        query=query,
        links=tuple(_link(row, page, query, workspace) for row in rows),
        may_share=workspace.may_operate,
    )


def _link(row: SavedView, page: ViewedPage, query: str, workspace: Workspace) -> ViewLink:
    address = reverse(page)
    return ViewLink(
        pk=row.pk,
        name=row.name,
        address=f"{address}?{row.query}" if row.query else address,
        is_shared=row.member_id is None,
        is_present=row.query == query,
        may_remove=row.member_id is not None or workspace.may_operate,
    )
