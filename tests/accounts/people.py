"""People of an organisation, one of each role."""

from __future__ import annotations

from django.contrib.auth import get_user_model

from accounts.actor import Actor, acting_from, member_actor
from accounts.models import Membership, Organisation
from accounts.roles import Role

ADDRESS = "192.0.2.7"


def join(organisation: Organisation, name: str, role: Role) -> Actor:
    """A new person of this role, as the one who acts."""
    user = get_user_model().objects.create_user(username=name)
    membership = Membership.objects.create(organisation=organisation, user=user, role=role)
    with acting_from(ADDRESS):
        return member_actor(membership)


def role_of(organisation: Organisation, name: str) -> str | None:
    """The role of a member; None for who is none."""
    found = Membership.objects.filter(organisation=organisation, user__username=name).first()
    return found and found.role
