"""Which organisation a person looks at, and what they may do there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from accounts.actor import Actor, member_actor
from accounts.log_context import tell
from accounts.models import JoinToken, Membership
from accounts.models.organisation import OrganisationOwnedQuerySet
from accounts.roles import Action
from accounts.services.organisation import LONGEST_NAME
from advisor.models import (
    ClassChange,
    Incident,
    MaintenanceWindow,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
    ReadSource,
    Recommendation,
    ReportSubscription,
    Resource,
    SavedView,
    SharedReport,
    Team,
    Workload,
)
from advisor.queries.scope import Scope, owned
from ingest.models import Host

SESSION_KEY = "organisation"
Row = TypeVar(
    "Row", Host, Incident, JoinToken, MaintenanceWindow, NotificationChannel, NotificationRule,
    NotificationSilence, Recommendation, ReportSubscription, Resource, SavedView, SharedReport,
    Team, ReadSource, ClassChange, Workload,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A person's memberships, and the one through which they look right now."""

    membership: Membership
    memberships: tuple[Membership, ...]

    @property
    def scope(self) -> Scope:
        return Scope(user=self.membership.user, organisation=self.membership.organisation)

    @property
    def may_operate(self) -> bool:
        return self.membership.may_operate

    @property
    def may_manage_members(self) -> bool:
        return self.membership.may(Action.MANAGE_MEMBERS)

    @property
    def may_manage_tokens(self) -> bool:
        return self.membership.may(Action.MANAGE_TOKENS)

    @property
    def may_manage_ladder(self) -> bool:
        return self.membership.may(Action.MANAGE_LADDER)

    @property
    def may_manage_notifications(self) -> bool:
        return self.membership.may(Action.MANAGE_NOTIFICATIONS)

    @property
    def may_manage_sources(self) -> bool:
        return self.membership.may(Action.MANAGE_SOURCES)

    @property
    def actor(self) -> Actor:
        return member_actor(self.membership)

    def at(self, organisation_id: int) -> Workspace:
        """The same person in another of their organisations."""
        for membership in self.memberships:
            if membership.organisation_id == organisation_id:
                return Workspace(membership=membership, memberships=self.memberships)
        raise Http404


def workspace_view(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Call the view with the person's workspace after the request; others go to the login."""

    @wraps(view)
    def entered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        user = request.user
        if not user.is_authenticated:
            return _login_answer(request)
        workspace = current_workspace(request, user)
        if workspace is None:
            context = {"longest_name": LONGEST_NAME}
            return render(request, "web/no_organisation.html", context, status=403)
        tell(organisation=workspace.scope.organisation.pk)
        return view(request, workspace, *args, **kwargs)

    return entered


def current_workspace(request: HttpRequest, user: AbstractBaseUser) -> Workspace | None:
    """The workspace chosen last, else the first; None for somebody without any membership."""
    found = Membership.objects.filter(user_id=user.pk)
    memberships = tuple(found.select_related("organisation", "user"))
    if not memberships:
        return None
    chosen = request.session.get(SESSION_KEY)
    for membership in memberships:
        if membership.organisation_id == chosen:
            return Workspace(membership=membership, memberships=memberships)
    return Workspace(membership=memberships[0], memberships=memberships)


def open_row(
    workspace: Workspace,
    model: type[Row],
    pk: int,
    *related: str,
    among: OrganisationOwnedQuerySet[Row] | None = None,
) -> tuple[Workspace, Row]:
    """The row, if one of the person's organisations owns it, and the workspace it belongs to.

    A link from a colleague so works whichever organisation was looked at last. Raises Http404.
    `among` are the rows of the model that have a page, if not its usual ones.
    """
    rows = owned(model) if among is None else among
    visible = rows.visible_to(workspace.membership.user)
    row = visible.select_related("organisation", *related).filter(pk=pk).first()
    if row is None:
        raise Http404(f"no {model.__name__} {pk}")
    return workspace.at(row.organisation_id), row


def require_operator(workspace: Workspace) -> None:
    """Raise PermissionDenied for a viewer, with the words that the page shows."""
    if not workspace.may_operate:
        raise PermissionDenied(
            f"Your role in {workspace.membership.organisation.name} is "
            f"{workspace.membership.role}; deciding takes the operator role."
        )


def _login_answer(request: HttpRequest) -> HttpResponseBase:
    # A fragment or chart must not show the login form inside the page: the page says so instead.
    wants_part = "HX-Request" in request.headers or request.path.startswith("/api/")
    if wants_part:
        return HttpResponse("You are logged out.", status=401, content_type="text/plain")
    return redirect_to_login(request.get_full_path())
