"""Change what members are, and take them out."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from accounts.actor import Actor
from accounts.errors import LastOwner, NotFound
from accounts.models import Membership, Organisation, Token
from accounts.roles import Action, Role
from accounts.services.audit import hold_chain, record


@transaction.atomic
def change_role(
    *,
    organisation: Organisation,
    username: str,
    role: Role,
    by: Actor,
    now: datetime,
    from_groups: bool = False,
) -> Membership:
    """Give a member another role; only owners make owners, and one is always left.

    A role that came from groups is by hand from then on, unless groups change it.
    """
    by.require(Action.MANAGE_MEMBERS)
    membership = _held(organisation, username)
    before = Role(membership.role)
    if before == role:
        return membership
    if Role.OWNER in (before, role):
        by.require(Action.MANAGE_OWNERS)
    if before == Role.OWNER:
        _require_another_owner(membership)
    membership.role, membership.from_groups = role, from_groups
    membership.save(update_fields=["role", "from_groups"])
    record(
        organisation=organisation, actor=by, action="change role", subject=username, now=now,
        details={"before": before, "after": role},
    )  # fmt: skip
    return membership


@transaction.atomic
def remove_member(
    *, organisation: Organisation, username: str, by: Actor, now: datetime
) -> Membership:
    """Take a member out, with their tokens; everybody may leave, but the last owner."""
    membership = _held(organisation, username)
    if membership.user_id != by.user_id:
        by.require(Action.MANAGE_MEMBERS)
        if membership.role == Role.OWNER:
            by.require(Action.MANAGE_OWNERS)
    if membership.role == Role.OWNER:
        _require_another_owner(membership)
    record(
        organisation=organisation, actor=by, action="remove member", subject=username, now=now,
        details={"role": membership.role},
    )  # fmt: skip
    # Who is invited again later gets no former token back.
    Token.objects.filter(
        organisation=organisation, user_id=membership.user_id, revoked_at=None
    ).update(revoked_at=now)
    membership.delete()
    return membership


def _held(organisation: Organisation, username: str) -> Membership:
    """The membership; nobody else changes one of the organisation until the transaction ends."""
    hold_chain(organisation)
    found = Membership.objects.filter(organisation=organisation, user__username=username)
    membership = found.select_related("user", "organisation").first()
    if membership is None:
        raise NotFound(f"{organisation} has no member {username}; `sluice member list` shows them")
    return membership


def _require_another_owner(membership: Membership) -> None:
    owners = Membership.objects.filter(
        organisation_id=membership.organisation_id, role=Role.OWNER
    ).exclude(pk=membership.pk)
    if not owners.exists():
        raise LastOwner(
            f"{membership.user.get_username()} is the only owner of {membership.organisation}; "
            "make somebody else an owner first"
        )
