"""What the advisor's commands share: errors, resources, users."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import CommandError

from accounts.errors import AccountsError
from accounts.management import product_command
from accounts.models import Organisation
from advisor.core.enumeration import listed
from advisor.core.quantity import QuantityError
from advisor.errors import AdvisorError
from advisor.models import Resource
from advisor.resource_kinds.registry import traits_of


class ProductCommand(product_command.ProductCommand):
    """A command of the product that also reports errors of the advisor."""

    refusals = (AdvisorError, QuantityError, AccountsError)


def level_text(value: float | None, kind: str) -> str | None:
    """What is compared with a threshold, as its kind writes it: latency in ms, load in percent."""
    return None if value is None else traits_of(kind).level.text(value)


def find_resource(organisation: Organisation, name: str) -> Resource:
    """The organisation's resource of this name."""
    found = Resource.objects.filter(organisation=organisation, name=name).first()
    if found is None:
        names = list(
            Resource.objects.filter(organisation=organisation).values_list("name", flat=True)
        )
        raise CommandError(f'there is no resource "{name}"; there are: {listed(names) or "none"}')
    return found


def find_user(organisation: Organisation, username: str) -> AbstractBaseUser:
    """The member of the organisation with this name."""
    found = (
        get_user_model()
        .objects.filter(username=username, memberships__organisation=organisation)
        .first()
    )
    if found is None:
        raise CommandError(f'{organisation} has no member "{username}"')
    return found
