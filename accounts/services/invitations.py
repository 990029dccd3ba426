"""Invite people by a link, and let them in once."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import QuerySet

from accounts.actor import Actor, member_actor
from accounts.errors import AlreadyExists, InvitationRefused, NotFound
from accounts.models import Invitation, Membership, Organisation
from accounts.models.token import token_digest
from accounts.roles import Action, Role
from accounts.services.audit import record

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

DAYS = 7


@transaction.atomic
def invite(
    *,
    organisation: Organisation,
    role: Role,
    by: Actor,
    now: datetime,
    mail: str = "",
    days: int = DAYS,
) -> tuple[Invitation, str]:
    """A new invitation and the secret of its link, which is in the result and nowhere else."""
    by.require(Action.MANAGE_MEMBERS)
    if role == Role.OWNER:
        by.require(Action.MANAGE_OWNERS)
    secret = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        organisation=organisation,
        role=role,
        mail=mail,
        digest=token_digest(secret),
        invited_by=by.name,
        created_at=now,
        expires_at=now + timedelta(days=days),
    )
    record(
        organisation=organisation, actor=by, action="invite",
        subject=mail or "whoever has the link", now=now,
        details={"invitation": invitation.pk, "role": role},
    )  # fmt: skip
    return invitation, secret


def pending(organisation: Organisation, *, now: datetime) -> QuerySet[Invitation]:
    """Invitations whose link still works."""
    return Invitation.objects.filter(
        organisation=organisation, accepted_at=None, withdrawn_at=None, expires_at__gt=now
    )


@transaction.atomic
def withdraw(*, organisation: Organisation, pk: int, by: Actor, now: datetime) -> None:
    """Make a link worthless."""
    by.require(Action.MANAGE_MEMBERS)
    if pending(organisation, now=now).filter(pk=pk).update(withdrawn_at=now) == 0:
        raise NotFound(f"{organisation} has no open invitation {pk}")
    record(
        organisation=organisation, actor=by, action="withdraw invitation",
        subject=f"invitation {pk}", now=now,
    )  # fmt: skip


def open_invitation(secret: str, *, now: datetime) -> Invitation:
    """The invitation of a link; InvitationRefused says why it opens nothing."""
    found = Invitation.objects.filter(digest=token_digest(secret))
    invitation = found.select_related("organisation").first()
    if invitation is None:
        raise InvitationRefused("This link is not known. Was it copied whole?")
    if invitation.accepted_at is not None:
        raise InvitationRefused("This link was used already; each lets one person in.")
    if invitation.withdrawn_at is not None:
        raise InvitationRefused("This invitation was withdrawn.")
    if invitation.expires_at <= now:
        raise InvitationRefused(f"This link expired on {invitation.expires_at:%Y-%m-%d}.")
    return invitation


@transaction.atomic
def accept(*, secret: str, user: AbstractBaseUser, now: datetime) -> Membership:
    """Make the person a member; of two who come at once, one is let in."""
    invitation = open_invitation(secret, now=now)
    organisation = invitation.organisation
    if Membership.objects.filter(organisation=organisation, user_id=user.pk).exists():
        raise AlreadyExists(f"You are a member of {organisation.name} already.")
    if pending(organisation, now=now).filter(pk=invitation.pk).update(accepted_at=now) == 0:
        raise InvitationRefused("This link was used already; each lets one person in.")
    membership = Membership.objects.create(
        organisation=organisation, user_id=user.pk, role=invitation.role
    )
    record(
        organisation=organisation, actor=member_actor(membership), action="accept invitation",
        subject=f"invitation {invitation.pk}", now=now,
        details={"role": invitation.role, "invited_by": invitation.invited_by},
    )  # fmt: skip
    return membership
