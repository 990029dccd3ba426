"""Invitations into the organisation."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status
from pydantic import Field

from accounts.models import Invitation, Role
from accounts.roles import Action
from accounts.services.invitations import DAYS, invite, pending, withdraw
from web.access import Workspace
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, keep_instead
from web.api.v1.fields import NO_NUL, WHOLE, Asked, Pk
from web.api.v1.version_tag import require_match, tag_of, tagged
from web.invitation_mail import LONGEST_MAIL, checked_mail, invitation_link, mailed

router = Router(tags=["invitations"])
MOST_DAYS = 90
Days = Annotated[int, Field(ge=1, le=MOST_DAYS), WHOLE]


class InvitationRow(Schema):
    """An invitation whose link still works, without the link, which is stored nowhere."""

    id: int
    role: Role
    mail: str
    invited_by: str
    created_at: datetime
    expires_at: datetime


class MadeInvitation(InvitationRow):
    """`link` lets one person in; it is told this once, and null where the answer is told again."""

    link: str | None
    is_mailed: bool


class InvitationPage(Page):
    items: list[InvitationRow]


class NewInvitation(Asked):
    """Only owners invite owners."""

    role: Role
    mail: Annotated[str, Field(max_length=LONGEST_MAIL, pattern=NO_NUL)] = Field(
        "", description="the link is sent there where the installation sends mail"
    )
    days: Days = DAYS


@router.get("", response=InvitationPage)
def list_invitations(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List invitations whose link still works; takes an admin."""
    found, cursor = page_of(_rows(_admin(request)), asked)
    return {"items": [_plain(row) for row in found], "next_cursor": cursor}


@router.get("/{int:pk}", response=InvitationRow)
def get_invitation(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read an invitation whose link still works; takes an admin."""
    row = get_object_or_404(_rows(_admin(request)), pk=pk)
    tagged(response, tag_of(row.pk))
    return _plain(row)


@router.post("", response={201: MadeInvitation})
def invite_somebody(request: HttpRequest, asked: NewInvitation, response: HttpResponse) -> Any:
    """Invite somebody; takes an admin."""
    workspace = _admin(request)
    organisation = workspace.membership.organisation
    made, secret = invite(
        organisation=organisation,
        role=asked.role,
        mail=checked_mail(asked.mail.strip()),
        by=workspace.actor,
        now=timezone.now(),
        days=asked.days,
    )
    link = invitation_link(request, secret)
    plain = {**_plain(made), "is_mailed": mailed(organisation, made.mail, link)}
    keep_instead(request, {**plain, "link": None})
    response.headers["Location"] = f"/api/v1/invitations/{made.pk}"
    tagged(response, tag_of(made.pk))
    return Status(201, {**plain, "link": link})


@router.delete("/{int:pk}", response={204: None})
def withdraw_invitation(request: HttpRequest, pk: Pk) -> Any:
    """Withdraw an invitation; its link opens nothing. Takes an admin."""
    workspace = _admin(request)
    row = get_object_or_404(_rows(workspace), pk=pk)
    require_match(request, tag_of(row.pk))
    withdraw(
        organisation=workspace.membership.organisation, pk=row.pk, by=workspace.actor,
        now=timezone.now(),
    )  # fmt: skip
    return Status(204, None)


def _admin(request: HttpRequest) -> Workspace:
    return acting(request, Action.MANAGE_MEMBERS)


def _rows(workspace: Workspace) -> Any:
    return pending(workspace.membership.organisation, now=timezone.now())


def _plain(row: Invitation) -> dict[str, Any]:
    return {name: getattr(row, name) for name in InvitationRow.model_fields if name != "id"} | {
        "id": row.pk
    }
