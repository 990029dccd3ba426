"""A token of the scopes read and write acts as a member, for as long as they are one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.db import IntegrityError

from accounts.actor import COMMAND_LINE
from accounts.authentication import (
    AuthenticationError,
    ForbiddenError,
    authenticate,
    authenticate_person,
)
from accounts.errors import AccountsError, NotFound, TokenRefused
from accounts.models import Membership, Role, Scope, Token
from accounts.services.members import change_role, remove_member
from accounts.services.tokens import create_token
from tests.accounts.people import join
from tests.accounts.test_commands import run, run_json
from tests.ingest.scenario import Tenant, now


@pytest.fixture
def secret(tenant: Tenant) -> str:
    """A token to write with, of the operator alice."""
    join(tenant.organisation, "alice", Role.OPERATOR)
    _, secret = create_token(
        organisation=tenant.organisation, name="laptop", scope=Scope.WRITE, username="alice"
    )
    return secret


def member(secret: str, scope: Scope = Scope.WRITE) -> Membership:
    return authenticate_person(f"Token {secret}", scope=scope, now=now())[1]


def test_token_acts_as_its_person_with_the_role_of_the_moment(tenant: Tenant, secret: str) -> None:
    before = member(secret)
    change_role(
        organisation=tenant.organisation, username="alice", role=Role.VIEWER,
        by=COMMAND_LINE, now=now(),
    )  # fmt: skip

    assert (before.user.get_username(), before.role) == ("alice", "operator")
    assert member(secret).role == "viewer"


@pytest.mark.parametrize(
    ("has", "asked", "opens"),
    [
        (Scope.READ, Scope.READ, True),
        (Scope.READ, Scope.WRITE, False),
        (Scope.WRITE, Scope.READ, True),
        (Scope.WRITE, Scope.WRITE, True),
        (Scope.WRITE, Scope.INGEST, False),
        (Scope.INGEST, Scope.READ, False),
    ],
)
def test_scope_opens_what_it_says_and_writing_includes_reading(
    tenant: Tenant, has: Scope, asked: Scope, opens: bool
) -> None:
    join(tenant.organisation, "alice", Role.OPERATOR)
    _, secret = create_token(
        organisation=tenant.organisation, name="t", scope=has,
        username=None if has is Scope.INGEST else "alice",
    )  # fmt: skip

    try:
        authenticate(f"Bearer {secret}", scope=asked, now=now())
    except ForbiddenError:
        found = False
    else:
        found = True

    assert found is opens


def test_token_ends_with_the_membership_and_stays_ended(tenant: Tenant, secret: str) -> None:
    remove_member(organisation=tenant.organisation, username="alice", by=COMMAND_LINE, now=now())
    alice = get_user_model().objects.get(username="alice")
    Membership.objects.create(organisation=tenant.organisation, user=alice, role=Role.OPERATOR)

    with pytest.raises(AuthenticationError, match="revoked"):
        member(secret)


def test_token_of_who_is_no_member_opens_nothing(tenant: Tenant, secret: str) -> None:
    Membership.objects.filter(user__username="alice").delete()

    with pytest.raises(AuthenticationError, match="no member any more"):
        member(secret)


def test_token_of_a_login_that_is_switched_off_opens_nothing(secret: str) -> None:
    get_user_model().objects.filter(username="alice").update(is_active=False)

    with pytest.raises(AuthenticationError, match="no member any more"):
        member(secret)


def test_token_expires(tenant: Tenant) -> None:
    join(tenant.organisation, "alice", Role.OPERATOR)
    _, secret = create_token(
        organisation=tenant.organisation, name="t", scope=Scope.READ, username="alice",
        expires_at=now() - timedelta(seconds=1),
    )  # fmt: skip

    with pytest.raises(AuthenticationError, match="expired"):
        member(secret, Scope.READ)


@pytest.mark.parametrize(
    ("scope", "bound_to", "error"),
    [
        (Scope.WRITE, {}, TokenRefused),
        (Scope.READ, {"username": "nobody"}, NotFound),
        (Scope.READ, {"username": "the-stranger"}, NotFound),
        (Scope.READ, {"username": "alice", "host_name": "h1"}, TokenRefused),
        (Scope.INGEST, {"username": "alice"}, TokenRefused),
    ],
)
def test_token_is_refused_where_scope_and_person_do_not_fit(
    tenant: Tenant, stranger: Tenant, scope: Scope, bound_to: dict[str, str], error: type
) -> None:
    join(tenant.organisation, "alice", Role.OPERATOR)
    join(stranger.organisation, "the-stranger", Role.OWNER)
    before = Token.objects.count()

    with pytest.raises(AccountsError) as raised:
        create_token(organisation=tenant.organisation, name="t", scope=scope, **bound_to)

    assert raised.type is error
    assert Token.objects.count() == before


def test_database_keeps_no_token_of_people_without_a_person(tenant: Tenant) -> None:
    with pytest.raises(IntegrityError, match="tokens_of_people_have_a_person"):
        Token.objects.issue(organisation=tenant.organisation, scope=Scope.READ, name="t")


def test_command_makes_tokens_of_members(tenant: Tenant) -> None:
    join(tenant.organisation, "alice", Role.OPERATOR)

    secret = run("token", "create", "laptop", "--scope", "write", "--user", "alice").strip()

    assert member(secret).user.get_username() == "alice"
    (row,) = [row for row in run_json("token", "list") if row["scope"] == "write"]
    assert row["user"] == "alice"
    with pytest.raises(CommandError, match="say as which member"):
        run("token", "create", "laptop", "--scope", "write")
