"""Create organisations."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify

from accounts.actor import COMMAND_LINE, member_actor
from accounts.errors import AccountsError, AlreadyExists
from accounts.models import Membership, Organisation, Role
from accounts.services.audit import record

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

LONGEST_NAME = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOrganisation:
    """A new organisation; `password` is None if the administrator existed before."""

    organisation: Organisation
    admin_username: str
    password: str | None = field(repr=False)


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
    record(
        organisation=organisation, actor=COMMAND_LINE, action="open organisation",
        subject=slug, now=timezone.now(), details={"owner": admin_username},
    )  # fmt: skip
    return NewOrganisation(
        organisation=organisation, admin_username=admin_username, password=password
    )


@transaction.atomic
def open_organisation(*, name: str, user: AbstractBaseUser, now: datetime) -> Organisation:
    """An organisation of which somebody who is in none becomes the owner."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise AccountsError(f"a name has 1 to {LONGEST_NAME} letters that can be printed")
    # Of a form that was sent twice the second waits here, and finds the membership.
    get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
    if Membership.objects.filter(user_id=user.pk).exists():
        raise AlreadyExists("you are in an organisation already; its owner can invite others")
    try:
        with transaction.atomic():
            organisation = Organisation.objects.create(slug=_free_slug(name), name=name)
    except IntegrityError as error:
        raise AlreadyExists("somebody took that name just now; send it once more") from error
    owner = Membership.objects.create(organisation=organisation, user_id=user.pk, role=Role.OWNER)
    record(
        organisation=organisation, actor=member_actor(owner), action="open organisation",
        subject=organisation.slug, now=now,
    )  # fmt: skip
    return organisation


def _free_slug(name: str) -> str:
    first = slugify(name)[:40] or "organisation"
    numbered = (first if number == 1 else f"{first}-{number}" for number in count(1))
    return next(slug for slug in numbered if not Organisation.objects.filter(slug=slug).exists())
