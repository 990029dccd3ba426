"""Who is in the organisation, as what, and who is invited."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.mail import send_mail
from django.core.validators import validate_email
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.errors import AccountsError, NotFound
from accounts.models import Membership, Organisation
from accounts.roles import Action, Role
from accounts.services.invitations import invite, pending, withdraw
from accounts.services.members import change_role, remove_member
from web.access import Workspace, workspace_view
from web.changing import changing
from web.page import render_page

LONGEST_MAIL = 254
log = logging.getLogger(__name__)


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
        mail=_checked(mail),
        by=workspace.actor,
        now=timezone.now(),
    )
    link = request.build_absolute_uri(reverse("invitation", args=[secret]))
    sent = bool(mail) and settings.HAS_MAIL and _sent(organisation, mail, link)
    return _page(request, workspace, link=link, invitation=invitation, sent=sent)


def _checked(mail: str) -> str:
    try:
        if mail:
            validate_email(mail[: LONGEST_MAIL + 1])
    except ValidationError as error:
        raise AccountsError(f"{mail} is no mail address") from error
    return mail


def _role(request: HttpRequest) -> Role:
    try:
        return Role(request.POST.get("role", ""))
    except ValueError as error:
        raise AccountsError("Choose a role") from error


def _sent(organisation: Organisation, mail: str, link: str) -> bool:
    """Whether the mail server took it; if not, the link on the page still works."""
    text = (
        f"You are invited to {organisation.name} on Sluice. This link lets you in, once:\n\n"
        f"{link}\n\nIf you do not know why you got this, throw it away.\n"
    )
    try:
        send_mail(f"[Sluice] Invitation to {organisation.name}", text, None, [mail])
    except OSError as error:
        log.warning("invitation not mailed", extra={"reason": str(error)})
        return False
    return True


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
