"""Roles that groups give: joined, changed, taken away, and never against a hand."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User

from accounts.actor import provider_actor
from accounts.models import AuditEntry, Membership, Role, Scope, Token
from accounts.services.audit import verify
from accounts.services.group_roles import apply_groups, roles_by_organisation
from accounts.services.tokens import create_token
from tests.accounts.people import join, role_of
from tests.ingest.scenario import Tenant, now

TABLE: Mapping[str, Mapping[str, str]] = {
    "readers": {"northgate": "viewer"},
    "storage": {"northgate": "operator", "lakeside": "viewer"},
    "founders": {"northgate": "owner"},
}


@pytest.fixture
def alice(db: None) -> User:
    return get_user_model().objects.create_user(username="alice")


def say(alice: User, *groups: str, table: Mapping[str, Mapping[str, str]] = TABLE) -> None:
    apply_groups(
        user=alice, groups=groups, table=table, by=provider_actor("groups at Corp"), now=now()
    )


def test_highest_role_of_all_groups_counts() -> None:
    assert roles_by_organisation(TABLE, ["storage", "readers", "unknown"]) == {
        "northgate": Role.OPERATOR, "lakeside": Role.VIEWER,
    }  # fmt: skip


def test_groups_give_change_and_take_away(tenant: Tenant, stranger: Tenant, alice: User) -> None:
    found = []
    for groups in (["readers"], ["storage"], ["readers"], []):
        say(alice, *groups)
        found.append(
            (role_of(tenant.organisation, "alice"), role_of(stranger.organisation, "alice"))
        )

    assert found == [("viewer", None), ("operator", "viewer"), ("viewer", None), (None, None)]


def test_each_change_is_in_the_chain(tenant: Tenant, alice: User) -> None:
    for groups in (["readers"], ["readers"], ["founders", "readers"]):
        say(alice, *groups)
    join(tenant.organisation, "olga", Role.OWNER)
    say(alice)

    entries = AuditEntry.objects.filter(organisation=tenant.organisation).order_by("number")
    assert [(one.actor, one.action, one.subject) for one in entries] == [
        ("groups at Corp", "join by group", "alice"),
        ("groups at Corp", "change role", "alice"),
        ("groups at Corp", "remove member", "alice"),
    ]
    assert verify(tenant.organisation).broken is None


def test_table_that_no_longer_names_an_organisation_takes_the_role_away(
    tenant: Tenant, alice: User
) -> None:
    say(alice, "readers")

    say(alice, "readers", table={})

    assert role_of(tenant.organisation, "alice") is None


def test_who_was_invited_by_hand_is_left_alone(tenant: Tenant) -> None:
    join(tenant.organisation, "alice", Role.ADMIN)
    alice = get_user_model().objects.get(username="alice")

    say(alice, "readers")
    say(alice)

    assert role_of(tenant.organisation, "alice") == Role.ADMIN


def test_last_owner_is_kept_and_loses_the_role_once_there_is_another(
    tenant: Tenant, alice: User
) -> None:
    say(alice, "founders")
    say(alice)
    alone = role_of(tenant.organisation, "alice")
    say(alice, "readers")
    still = role_of(tenant.organisation, "alice")
    join(tenant.organisation, "olga", Role.OWNER)

    say(alice, "readers")

    assert (alone, still, role_of(tenant.organisation, "alice")) == ("owner", "owner", "viewer")


def test_tokens_end_with_the_group(tenant: Tenant, alice: User) -> None:
    say(alice, "storage")
    create_token(
        organisation=tenant.organisation, name="laptop", scope=Scope.WRITE, username="alice"
    )

    say(alice)

    assert Token.objects.get(user=alice).revoked_at is not None


def test_organisation_that_is_not_there_is_told_in_the_log(
    tenant: Tenant, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        say(alice, "readers", table={"readers": {"nortgate": "viewer"}})

    assert "groups name no organisation" in caplog.messages
    assert not Membership.objects.filter(user=alice).exists()
