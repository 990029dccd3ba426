"""The groups that a provider names when somebody logs in, and what they change here."""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.models import SocialLogin
from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone

from accounts.actor import provider_actor
from accounts.row_wall import lifted
from accounts.services.group_roles import apply_groups, has_roles_by_groups
from web.company import company


def groups_of(login: SocialLogin) -> frozenset[str] | None:
    """The groups of the person; None if the provider says nothing that could be some."""
    said: Any = login.account.extra_data.get(company().groups_claim)
    if isinstance(said, str):
        return frozenset({said})
    if isinstance(said, list) and all(isinstance(group, str) for group in said):
        return frozenset(said)
    return None


def is_in_by_groups(user: AbstractBaseUser) -> bool:
    """Whether this person has a role somewhere because of a group."""
    # Who logs in is nobody yet, to whom the database would show no row.
    with lifted():
        return has_roles_by_groups(user)


def settle_roles(user: AbstractBaseUser, login: SocialLogin) -> None:
    """Make the person's roles what their groups say."""
    provider = company()
    with lifted():
        apply_groups(
            user=user,
            groups=groups_of(login) or frozenset(),
            table=provider.roles,
            by=provider_actor(f"groups at {provider.name}"),
            now=timezone.now(),
        )
