"""Give people the roles that their groups at the login provider have here."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction

from accounts.actor import Actor
from accounts.errors import LastOwner
from accounts.models import Membership, Organisation
from accounts.roles import Role
from accounts.services.audit import hold_chain, record
from accounts.services.members import change_role, remove_member

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

log = logging.getLogger(__name__)

Table = Mapping[str, Mapping[str, str]]
"""By group the role in each organisation, which is named by its slug."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A person in an organisation, and who says what they are there."""

    user: AbstractBaseUser
    organisation: Organisation
    by: Actor
    now: datetime


def roles_by_organisation(table: Table, groups: Collection[str]) -> dict[str, Role]:
    """The highest role that these groups have in each organisation."""
    order = list(Role)
    found: dict[str, Role] = {}
    for group in sorted(set(groups) & table.keys()):
        for slug, role in table[group].items():
            found[slug] = max(found.get(slug, Role.VIEWER), Role(role), key=order.index)
    return found


def has_roles_by_groups(user: AbstractBaseUser) -> bool:
    """Whether this person is anywhere a member because of a group."""
    return Membership.objects.filter(user_id=user.pk, from_groups=True).exists()


@transaction.atomic
def apply_groups(
    *, user: AbstractBaseUser, groups: Collection[str], table: Table, by: Actor, now: datetime
) -> None:
    """Make memberships that come from groups what the groups say; leave those by hand alone.

    A group that was taken away takes the role away, but never that of the last owner.
    """
    wanted = roles_by_organisation(table, groups)
    named = Organisation.objects.filter(slug__in=wanted)
    former = Organisation.objects.filter(
        memberships__user_id=user.pk, memberships__from_groups=True
    )
    for unknown in sorted(wanted.keys() - set(named.values_list("slug", flat=True))):
        log.warning("groups name no organisation", extra={"organisation": unknown})
    # In one order, so that two logins do not wait for one another.
    for organisation in sorted({*named, *former}, key=lambda one: one.pk):
        hold_chain(organisation)
        place = Place(user=user, organisation=organisation, by=by, now=now)
        _settle(place, wanted.get(organisation.slug))


def _settle(place: Place, role: Role | None) -> None:
    found = Membership.objects.filter(organisation=place.organisation, user_id=place.user.pk)
    membership = found.first()
    if membership is None:
        if role is not None:
            _join(place, role)
    elif membership.from_groups:
        _change(place, role)


def _join(place: Place, role: Role) -> None:
    Membership.objects.create(
        organisation=place.organisation, user_id=place.user.pk, role=role, from_groups=True
    )
    record(
        organisation=place.organisation, actor=place.by, action="join by group",
        subject=place.user.get_username(), now=place.now, details={"role": role},
    )  # fmt: skip


def _change(place: Place, role: Role | None) -> None:
    username = place.user.get_username()
    try:
        if role is None:
            remove_member(
                organisation=place.organisation, username=username, by=place.by, now=place.now
            )
        else:
            change_role(
                organisation=place.organisation, username=username, role=role,
                by=place.by, now=place.now, from_groups=True,
            )  # fmt: skip
    except LastOwner as error:
        log.warning("the last owner keeps the role", extra={"reason": str(error)})
