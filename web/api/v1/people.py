"""Who is in the organisation, and who did what."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Query, Router, Schema, Status

from accounts.models import AuditEntry, Membership, Role, Scope
from accounts.roles import Action
from accounts.services.audit import hold_chain, verify
from accounts.services.members import change_role, remove_member
from web.api.v1.cursor import Page, Paged, page_of
from web.api.v1.door import acting, asker_of, token_of
from web.api.v1.fields import Asked, Pk
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["people"])


class Me(Schema):
    """As whom the token of the request acts, and where."""

    username: str
    role: Role
    organisation: str
    scope: Scope
    expires_at: datetime | None


class MemberRow(Schema):
    id: int
    username: str
    role: Role
    mail: str
    last_login_at: datetime | None


class MemberChange(Asked):
    role: Role


class MemberPage(Page):
    items: list[MemberRow]


class AuditRow(Schema):
    """An entry of the chain; `hash` is over everything before it too."""

    id: int
    number: int
    at: datetime
    actor: str
    address: str
    action: str
    subject: str
    details: dict[str, Any]
    hash: str


class BrokenAudit(Schema):
    """The first entry at which the chain does not hold."""

    number: int
    reason: str


class AuditVerification(Schema):
    """How many entries hold; `head` is the hash of the newest."""

    entries: int
    head: str
    broken: BrokenAudit | None


class AuditPage(Page):
    items: list[AuditRow]


@router.get("me", response=Me)
def get_me(request: HttpRequest) -> Any:
    """Read as whom the token acts."""
    membership, token = asker_of(request).membership, token_of(request)
    return {
        "username": membership.user.get_username(),
        "role": membership.role,
        "organisation": membership.organisation.slug,
        "scope": token.scope,
        "expires_at": token.expires_at,
    }


@router.get("members", response=MemberPage)
def list_members(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List the members of the organisation."""
    organisation = asker_of(request).membership.organisation
    rows = Membership.objects.filter(organisation=organisation).select_related("user")
    found, cursor = page_of(rows, asked)
    return {"items": [_member(row) for row in found], "next_cursor": cursor}


@router.get("members/{int:pk}", response=MemberRow)
def get_member(request: HttpRequest, pk: Pk, response: HttpResponse) -> Any:
    """Read a member of the organisation."""
    row = _one_member(request, pk)
    tagged(response, tag_of(row.pk, row.role))
    return _member(row)


@router.patch("members/{int:pk}", response=MemberRow)
def change_member(
    request: HttpRequest, pk: Pk, asked: MemberChange, response: HttpResponse
) -> Any:
    """Give a member another role; takes an admin, and for owners an owner."""
    row = _held_member(request, pk)
    workspace = acting(request, Action.MANAGE_MEMBERS)
    require_match(request, tag_of(row.pk, row.role))
    changed = change_role(
        organisation=row.organisation, username=row.user.get_username(), role=asked.role,
        by=workspace.actor, now=timezone.now(),
    )  # fmt: skip
    tagged(response, tag_of(changed.pk, changed.role))
    return _member(changed)


@router.delete("members/{int:pk}", response={204: None})
def remove_member_of_organisation(request: HttpRequest, pk: Pk) -> Any:
    """Take a member out, with their tokens; takes an admin, but everybody may leave."""
    row = _held_member(request, pk)
    require_match(request, tag_of(row.pk, row.role))
    remove_member(
        organisation=row.organisation, username=row.user.get_username(),
        by=asker_of(request).actor, now=timezone.now(),
    )  # fmt: skip
    return Status(204, None)


@router.get("audit", response=AuditPage)
def list_audit_entries(request: HttpRequest, asked: Query[Paged]) -> Any:
    """List who did what, newest first; takes an admin."""
    rows = acting(request, Action.MANAGE_MEMBERS).scope.rows(AuditEntry)
    found, cursor = page_of(rows, asked, newest_first=True)
    items = [{name: getattr(row, name) for name in AuditRow.model_fields} for row in found]
    return {"items": items, "next_cursor": cursor}


@router.get("audit/verification", response=AuditVerification)
def verify_audit(request: HttpRequest) -> Any:
    """Check the chain of hashes; takes an admin."""
    found = verify(acting(request, Action.MANAGE_MEMBERS).membership.organisation)
    broken = found.broken and {"number": found.broken.number, "reason": found.broken.reason}
    return {"entries": found.entries, "head": found.head, "broken": broken}


def _one_member(request: HttpRequest, pk: int) -> Membership:
    organisation = asker_of(request).membership.organisation
    rows = Membership.objects.filter(organisation=organisation)
    return get_object_or_404(rows.select_related("user", "organisation"), pk=pk)


def _held_member(request: HttpRequest, pk: int) -> Membership:
    """The member; nobody else changes one of the organisation until this ends."""
    hold_chain(asker_of(request).membership.organisation)
    return _one_member(request, pk)


def _member(row: Membership) -> dict[str, Any]:
    return {
        "id": row.pk,
        "username": row.user.get_username(),
        "role": row.role,
        "mail": row.user.email,
        "last_login_at": row.user.last_login,
    }
