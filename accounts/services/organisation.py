"""Create organisations."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.errors import AccountsError, AlreadyExists
from accounts.models import Membership, Organisation, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOrganisation:
    """A new organisation; `password` is None if the administrator existed before."""

    organisation: Organisation
    admin_username: str
    password: str | None


def set_quotas(organisation: Organisation, quotas: Mapping[str, int | None]) -> None:
    """Change quotas by name, such as `series`; None is the installation's default, 0 none."""
    for name, quota in quotas.items():
        setattr(organisation, f"quota_{name}", quota)
    organisation.save(update_fields=[f"quota_{name}" for name in quotas])


@transaction.atomic
def create_organisation(*, slug: str, name: str, admin_username: str) -> NewOrganisation:
    """Create an organisation with an administrator: an existing user, or a new one."""
    if Organisation.objects.filter(slug=slug).exists():
        raise AlreadyExists(f'there is an organisation "{slug}" already')
    organisation = Organisation(slug=slug, name=name)
    try:
        organisation.full_clean()
    except ValidationError as error:
        raise AccountsError("; ".join(error.messages)) from error
    organisation.save()
    people = get_user_model().objects
    password = None
    user = people.filter(username=admin_username).first()
    if user is None:
        password = secrets.token_urlsafe(12)
        user = people.create_user(username=admin_username, password=password)
    Membership.objects.create(organisation=organisation, user=user, role=Role.OWNER)
    return NewOrganisation(
        organisation=organisation, admin_username=admin_username, password=password
    )
