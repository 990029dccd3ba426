"""`sluice token` and `sluice organisation`, as people and programs use them."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.management.product_command import ProductCommand
from accounts.models import JoinToken, Membership, Role, Token
from tests.accounts.people import join, role_of
from tests.ingest.scenario import Tenant, disk_line, make_tenant, now, post


def run(*words: str) -> str:
    output = StringIO()
    call_command(*words, stdout=output, stderr=StringIO())
    return output.getvalue()


def run_json(*words: str) -> Any:
    return json.loads(run(*words, "--json"))


class Nothing(ProductCommand):
    """A command that does not say what it does."""


def test_command_that_does_nothing_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="abstract method run"):
        Nothing()


def test_created_token_is_printed_once_and_opens_the_door(client: Client, tenant: Tenant) -> None:
    secret = run("token", "create", "telegraf h1", "--scope", "ingest").strip()

    assert post(client, disk_line(now()), secret=secret).status_code == 204
    assert secret not in run("token", "list")
    assert not Token.objects.filter(digest=secret).exists()


def test_created_token_as_json_has_its_secret_and_its_limits(tenant: Tenant) -> None:
    made = run_json(
        "token", "create", "t", "--scope", "ingest", "--host", "h9", "--days", "2",
        "--organisation", "northgate",
    )  # fmt: skip

    assert made["token"].startswith("slu_")
    assert (made["scope"], made["host"], made["state"]) == ("ingest", "h9", "valid")
    assert made["expires_at"] is not None


def test_revoked_token_is_worthless_at_once(client: Client, tenant: Tenant) -> None:
    run("token", "revoke", str(tenant.token.pk))

    assert post(client, disk_line(now()), secret=tenant.secret).status_code == 401
    (row,) = run_json("token", "list")
    assert (row["id"], row["state"]) == (tenant.token.pk, "revoked")


def test_token_of_another_organisation_cannot_be_revoked(
    client: Client, tenant: Tenant, stranger: Tenant
) -> None:
    with pytest.raises(CommandError, match=rf"lakeside has no token {tenant.token.pk}"):
        run("token", "revoke", str(tenant.token.pk), "--organisation", "lakeside")

    assert post(client, disk_line(now()), secret=tenant.secret).status_code == 204


def test_tokens_are_listed_for_one_organisation(tenant: Tenant, stranger: Tenant) -> None:
    rows = run_json("token", "list", "--organisation", "lakeside")

    assert [row["name"] for row in rows] == ["telegraf of lakeside"]


def test_several_organisations_must_be_told_apart(tenant: Tenant, stranger: Tenant) -> None:
    with pytest.raises(CommandError, match="choose one with --organisation: lakeside, northgate"):
        run("token", "list")


def test_new_organisation_comes_with_an_owner(db: None) -> None:
    made = run_json("organisation", "create", "acme", "--name", "Acme", "--admin", "rita")

    membership = Membership.objects.get()
    assert (membership.organisation.slug, membership.role) == ("acme", Role.OWNER)
    assert membership.user.check_password(made["password"])
    assert not membership.user.is_superuser


def test_existing_person_keeps_the_password(db: None) -> None:
    rita = get_user_model().objects.create_user(username="rita", password="correct horse")

    made = run_json("organisation", "create", "acme", "--name", "Acme", "--admin", "rita")

    rita.refresh_from_db()
    assert made["password"] is None
    assert rita.check_password("correct horse")


@pytest.mark.parametrize(
    ("slug", "message"),
    [("northgate", 'there is an organisation "northgate" already'), ("a b", "slug")],
)
def test_organisation_with_an_impossible_name_is_refused(
    db: None, slug: str, message: str
) -> None:
    make_tenant("northgate")

    with pytest.raises(CommandError, match=message):
        run("organisation", "create", slug, "--name", "X", "--admin", "rita")

    assert not get_user_model().objects.filter(username="rita").exists()


def test_members_are_listed_changed_and_removed(tenant: Tenant) -> None:
    join(tenant.organisation, "rita", Role.OWNER)
    join(tenant.organisation, "alice", Role.VIEWER)

    changed = run_json("member", "role", "alice", "operator")
    listed = run_json("member", "list")
    run("member", "remove", "alice")

    assert [(row["user"], row["role"]) for row in changed] == [("alice", "operator")]
    assert {row["user"]: row["role"] for row in listed} == {"rita": "owner", "alice": "operator"}
    assert role_of(tenant.organisation, "alice") is None
    assert [row["action"] for row in run_json("audit")] == ["remove member", "change role"]


def test_join_token_prints_a_line_once_and_is_revoked(tenant: Tenant) -> None:
    line = run("join-token", "create", "--url", "https://sluice.example.com/", "--hosts", "3")
    token = JoinToken.objects.get()

    listed = run_json("join-token", "list")
    run("join-token", "revoke", str(token.pk))

    assert line.startswith("curl -fsSL https://sluice.example.com/join/slj_")
    assert line.endswith(" | sudo sh\n")
    assert [(one["state"], one["most_hosts"], "line" in one) for one in listed] == [
        ("open", 3, False)
    ]
    assert run_json("join-token", "list")[0]["state"] == "revoked"


def test_join_token_tells_a_program_its_line_and_what_it_is(tenant: Tenant) -> None:
    made = run_json("join-token", "create", "--url", "https://sluice.example.com")

    (listed,) = run_json("join-token", "list")
    assert made.pop("line").startswith("curl -fsSL https://sluice.example.com/join/slj_")
    assert made == listed
