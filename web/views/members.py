"""Who is in the organisation, as what, and who is invited."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.errors import AccountsError, NotFound
from accounts.models import Membership
from accounts.roles import Action, Role
from accounts.services.invitations import invite, pending, withdraw
from accounts.services.members import change_role, remove_member
from web.access import Workspace, workspace_view
from web.changing import changing
from web.invitation_mail import checked_mail, invitation_link, mailed
from web.page import render_page


@require_safe
@workspace_view
def members(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    return _page(request, workspace)


def _page(request: HttpRequest, workspace: Workspace, **context: Any) -> HttpResponseBase:
    now = timezone.now()
    organisation = workspace.membership.organisation
    people = Membership.objects.filter(organisation=organisation).select_related("user")
    invitations = pending(organisation, now=now) if workspace.may_manage_members else ()
    return render_page(
        request,
        workspace,
        "web/members.html",
        now=now,
        people=people.order_by("user__username"),
        invitations=invitations,
        roles=_roles(workspace),
        **context,
    )


def _roles(workspace: Workspace) -> list[Role]:
    """The roles that this person may give."""
    may_all = workspace.membership.may(Action.MANAGE_OWNERS)
    return [role for role in Role if may_all or role != Role.OWNER]


@never_cache
@changing("members")
def invite_somebody(request: HttpRequest, workspace: Workspace) -> HttpResponseBase:
    workspace.actor.require(Action.MANAGE_MEMBERS)
    organisation, mail = workspace.membership.organisation, request.POST.get("mail", "").strip()
    invitation, secret = invite(
        organisation=organisation,
        role=_role(request),
        mail=checked_mail(mail),
        by=workspace.actor,
        now=timezone.now(),
    )
    link = invitation_link(request, secret)
    sent = mailed(organisation, mail, link)
    return _page(request, workspace, link=link, invitation=invitation, sent=sent)


def _role(request: HttpRequest) -> Role:
    try:
        return Role(request.POST.get("role", ""))
    except ValueError as error:
        raise AccountsError("Choose a role") from error


@changing("members")
def withdraw_invitation(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    withdraw(
        organisation=workspace.membership.organisation, pk=pk, by=workspace.actor,
        now=timezone.now(),
    )  # fmt: skip
    messages.success(request, "The invitation is withdrawn; its link opens nothing.")
    return redirect("members")


@changing("members")
def give_role(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    changed = change_role(
        username=_username(workspace, pk), role=_role(request), by=workspace.actor,
        organisation=workspace.membership.organisation, now=timezone.now(),
    )  # fmt: skip
    messages.success(request, f"{changed.user.get_username()} is {changed.role} from now on.")
    return redirect("members")


@changing("members")
def remove(request: HttpRequest, workspace: Workspace, pk: int) -> HttpResponseBase:
    username = _username(workspace, pk)
    remove_member(
        username=username, by=workspace.actor,
        organisation=workspace.membership.organisation, now=timezone.now(),
    )  # fmt: skip
    messages.success(request, f"{username} is no member any more.")
    return redirect("members")


def _username(workspace: Workspace, pk: int) -> str:
    found = Membership.objects.filter(organisation=workspace.membership.organisation, pk=pk)
    membership = found.select_related("user").first()
    if membership is None:
        raise NotFound(f"no member {pk}")
    return membership.user.get_username()
