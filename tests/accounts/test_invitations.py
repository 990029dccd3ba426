"""Invitations: who may make which, and that a link lets one person in, once, in time."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management import call_command

from accounts.actor import COMMAND_LINE
from accounts.errors import AlreadyExists, InvitationRefused, NotAllowed, NotFound
from accounts.models import AuditEntry, Invitation
from accounts.roles import Role
from accounts.services.invitations import accept, invite, pending, withdraw
from tests.accounts.people import join, role_of
from tests.ingest.scenario import Tenant, now


@pytest.fixture
def secret(tenant: Tenant) -> str:
    return invite(
        organisation=tenant.organisation, role=Role.OPERATOR, by=COMMAND_LINE, now=now()
    )[1]


@pytest.fixture
def alice(db: None) -> User:
    return get_user_model().objects.create_user(username="alice")


@pytest.mark.parametrize("by", Role)
@pytest.mark.parametrize("role", Role)
def test_invitation_is_made_by_who_may(tenant: Tenant, by: Role, role: Role) -> None:
    actor = join(tenant.organisation, "rita", by)
    may = by == Role.OWNER or (by == Role.ADMIN and role != Role.OWNER)

    with suppress(NotAllowed):
        invite(organisation=tenant.organisation, role=role, by=actor, now=now())

    assert Invitation.objects.exists() is may


def test_link_makes_who_comes_a_member_of_its_role(
    tenant: Tenant, secret: str, alice: User
) -> None:
    accept(secret=secret, user=alice, now=now())

    assert role_of(tenant.organisation, "alice") == Role.OPERATOR
    assert list(AuditEntry.objects.values_list("action", "actor")) == [
        ("invite", "command line"), ("accept invitation", "alice"),
    ]  # fmt: skip


def test_link_works_once(tenant: Tenant, secret: str, alice: User) -> None:
    accept(secret=secret, user=alice, now=now())
    mallory = get_user_model().objects.create_user(username="mallory")

    with pytest.raises(InvitationRefused, match="used already"):
        accept(secret=secret, user=mallory, now=now())

    assert role_of(tenant.organisation, "mallory") is None


def test_link_expires(tenant: Tenant, secret: str, alice: User) -> None:
    with pytest.raises(InvitationRefused, match="expired on"):
        accept(secret=secret, user=alice, now=now() + timedelta(days=7))

    assert role_of(tenant.organisation, "alice") is None


def test_withdrawn_link_opens_nothing(tenant: Tenant, secret: str, alice: User) -> None:
    (invitation,) = pending(tenant.organisation, now=now())
    withdraw(organisation=tenant.organisation, pk=invitation.pk, by=COMMAND_LINE, now=now())

    with pytest.raises(InvitationRefused, match="withdrawn"):
        accept(secret=secret, user=alice, now=now())


def test_link_that_is_not_known_opens_nothing(secret: str, alice: User) -> None:
    with pytest.raises(InvitationRefused, match="not known"):
        accept(secret=secret[:-1], user=alice, now=now())


def test_member_does_not_use_the_link_up_nor_become_more(
    tenant: Tenant, secret: str, alice: User
) -> None:
    viewer = join(tenant.organisation, "vera", Role.VIEWER)
    vera = get_user_model().objects.get(pk=viewer.user_id)

    with pytest.raises(AlreadyExists):
        accept(secret=secret, user=vera, now=now())

    assert role_of(tenant.organisation, "vera") == Role.VIEWER
    assert accept(secret=secret, user=alice, now=now()).role == Role.OPERATOR


def test_invitation_of_another_organisation_is_not_found(
    tenant: Tenant, stranger: Tenant, secret: str
) -> None:
    (invitation,) = Invitation.objects.all()

    with pytest.raises(NotFound):
        withdraw(organisation=stranger.organisation, pk=invitation.pk, by=COMMAND_LINE, now=now())

    assert pending(tenant.organisation, now=now()).exists()


def test_secret_is_not_stored(secret: str) -> None:
    (row,) = Invitation.objects.values()

    assert secret not in json.dumps(row, default=str)


def test_command_prints_a_link_that_works(tenant: Tenant, alice: User) -> None:
    output = StringIO()
    call_command(
        "member", "invite", "viewer", "--server", "https://s.example/", "--json", stdout=output
    )
    link = json.loads(output.getvalue())["link"]

    assert link.startswith("https://s.example/invitations/")
    accept(secret=link.rstrip("/").rpartition("/")[2], user=alice, now=now())
    assert role_of(tenant.organisation, "alice") == Role.VIEWER
