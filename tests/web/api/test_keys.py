"""Tokens and invitations through the API: their secrets are told once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, Invitation, KeptAnswer, Membership, Scope, Token
from tests.web.api.asking import Program, program_of
from tests.web.api.test_door import problem
from tests.web.api.test_stated import done
from tests.web.fleet import Fleet


@pytest.fixture
def owner(fleet: Fleet) -> Program:
    return program_of(fleet.people.owner, fleet.organisation)


# --- Tokens


def test_token_opens_until_it_is_revoked(program: Program) -> None:
    made = done(program("POST", "tokens", {"name": "laptop", "scope": "read"}), 201)
    own = Program(made["secret"])
    path = f"tokens/{made['id']}"

    assert own.read("me")["username"] == "operator"
    tag = program("GET", path)["ETag"]
    revoked = program("DELETE", path, if_match=tag)
    stale = program("DELETE", path, if_match=tag)

    assert (made["username"], made["is_valid"], revoked.status_code) == ("operator", True, 204)
    assert problem(stale) == (412, "changed_meanwhile")
    assert problem(own("GET", "me")) == (401, "unauthorized")
    assert not program.read(path)["is_valid"]
    assert [one.action for one in AuditEntry.objects.order_by("number")] == [
        "create token", "revoke token",
    ]  # fmt: skip


def test_secret_is_told_once_and_kept_nowhere(program: Program) -> None:
    body = {"name": "laptop", "scope": "read"}

    first = done(program("POST", "tokens", body, idempotency_key="k"), 201)
    again = done(program("POST", "tokens", body, idempotency_key="k"), 201)

    assert again == first | {"secret": None}
    assert Token.objects.filter(name="laptop").count() == 1
    assert first["secret"] not in KeptAnswer.objects.get().body
    assert "secret" not in program.read("tokens")["items"][0]


def test_operator_sees_and_makes_those_that_act_as_them(fleet: Fleet, program: Program) -> None:
    program_of(fleet.people.viewer, fleet.organisation)
    other = Token.objects.get(user=fleet.people.viewer)

    refused = program("POST", "tokens", {"name": "telegraf", "scope": "ingest"})

    assert problem(refused) == (403, "not_allowed")
    assert {one["username"] for one in program.read("tokens")["items"]} == {"operator"}
    assert problem(program("DELETE", f"tokens/{other.pk}")) == (404, "not_found")
    other.refresh_from_db()
    assert other.revoked_at is None


def test_admin_makes_tokens_of_programs(owner: Program) -> None:
    host = {"name": "agent", "scope": "enforce", "host": "kvm-01"}

    made = done(owner("POST", "tokens", host), 201)
    without = owner("POST", "tokens", {"name": "agent", "scope": "enforce"})

    assert (made["host"], made["username"], made["expires_at"]) == ("kvm-01", None, None)
    assert problem(without) == (409, "refused")


def test_token_makes_none_that_outlives_it(fleet: Fleet, program: Program) -> None:
    last = timezone.now().replace(microsecond=0) + timedelta(days=7)
    Token.objects.filter(user=fleet.people.operator).update(expires_at=last)
    later = (last + timedelta(days=1)).isoformat()

    same = done(program("POST", "tokens", {"name": "a", "scope": "write"}), 201)
    longer = program("POST", "tokens", {"name": "b", "scope": "read", "expires_at": later})

    assert Token.objects.get(pk=same["id"]).expires_at == last
    assert problem(longer) == (409, "refused")
    assert not Token.objects.filter(name="b").exists()


def test_strangers_see_no_token(program: Program, foreign: Program, fleet: Fleet) -> None:
    own = Token.objects.get(user=fleet.people.operator)

    assert problem(foreign("GET", f"tokens/{own.pk}")) == (404, "not_found")
    assert problem(foreign("DELETE", f"tokens/{own.pk}")) == (404, "not_found")
    assert program.read("me")["scope"] == Scope.WRITE


# --- Join tokens


def test_join_token_is_told_once_and_lets_nobody_join_when_revoked(owner: Program) -> None:
    body = {"mode": "enforce", "most_hosts": 3}
    made = done(owner("POST", "join-tokens", body, idempotency_key="k"), 201)
    again = done(owner("POST", "join-tokens", body, idempotency_key="k"), 201)
    path = f"join-tokens/{made['id']}"

    read = owner.read(path)
    revoked = owner("DELETE", path)

    assert made["line"].startswith("curl -fsSL http://testserver/join/slj_")
    assert again == made | {"line": None}
    assert (read["state"], read["mode"], read["most_hosts"]) == ("open", "enforce", 3)
    assert (revoked.status_code, owner.read(path)["state"]) == (204, "revoked")
    assert [one["id"] for one in owner.read("join-tokens")["items"]] == [made["id"]]


# --- Invitations


def test_link_lets_one_person_in(fleet: Fleet, owner: Program, client: Client) -> None:
    made = done(owner("POST", "invitations", {"role": "operator", "days": 2}), 201)
    listed = owner.read("invitations")["items"]

    client.force_login(fleet.people.outsider)
    answer = client.post(made["link"])

    assert answer.status_code == 302
    assert (
        Membership.objects.get(user=fleet.people.outsider, organisation=fleet.organisation).role
        == "operator"
    )
    assert [one["id"] for one in listed] == [made["id"]]
    assert "link" not in listed[0]
    assert owner.read("invitations")["items"] == []


def test_link_is_told_once(owner: Program) -> None:
    first = done(owner("POST", "invitations", {"role": "viewer"}, idempotency_key="k"), 201)
    again = done(owner("POST", "invitations", {"role": "viewer"}, idempotency_key="k"), 201)

    assert again == first | {"link": None}
    assert Invitation.objects.count() == 1
    assert first["link"] not in KeptAnswer.objects.get().body


def test_invitation_is_mailed_where_there_is_mail(owner: Program, settings: object) -> None:
    settings.HAS_MAIL = True  # type: ignore[attr-defined]  # pytest-django's fixture
    body = {"role": "viewer", "mail": "ben@example.org"}

    made = done(owner("POST", "invitations", body), 201)
    wrong = owner("POST", "invitations", {"role": "viewer", "mail": "ben"})

    assert made["is_mailed"]
    assert [one.to for one in mail.outbox] == [["ben@example.org"]]
    assert made["link"] in mail.outbox[0].body
    assert problem(wrong) == (409, "refused")


def test_withdrawn_link_opens_nothing(owner: Program, client: Client) -> None:
    made = done(owner("POST", "invitations", {"role": "viewer"}), 201)

    gone = owner("DELETE", f"invitations/{made['id']}")
    again = owner("DELETE", f"invitations/{made['id']}")

    assert gone.status_code == 204
    assert problem(again) == (404, "not_found")
    assert client.get(made["link"]).status_code == 410


def test_only_who_may_invites(fleet: Fleet, owner: Program, program: Program) -> None:
    Membership.objects.filter(user=fleet.people.viewer).update(role="admin")
    admin = program_of(fleet.people.viewer, fleet.organisation)

    assert problem(program("GET", "invitations")) == (403, "not_allowed")
    assert problem(program("POST", "invitations", {"role": "viewer"})) == (403, "not_allowed")
    assert problem(admin("POST", "invitations", {"role": "owner"})) == (403, "not_allowed")
    done(admin("POST", "invitations", {"role": "admin"}), 201)
