"""The page of tokens: who sees and makes which, and that a secret is shown once."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.authentication import authenticate, authenticate_person
from accounts.models import AuditEntry, Role, Scope, Token
from accounts.services.tokens import create_token
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

pytestmark = pytest.mark.any_database

OWN = {"name": "laptop", "scope": "write", "days": "90"}
PROGRAM = {"name": "telegraf h1", "scope": "ingest", "host": "h1", "days": "365"}
SECRET = re.compile(r'value="(slu_[^"]+)"')


def make(client: Client, form: dict[str, str]) -> str:
    """The secret that the page shows."""
    page = client.post(reverse("make-token"), form).content.decode()
    found = SECRET.search(page)
    assert found is not None, page
    return found[1]


@pytest.mark.parametrize(
    ("who", "form", "status"),
    [
        ("viewer", OWN, 200), ("operator", OWN, 200), ("owner", OWN, 200),
        ("viewer", PROGRAM, 403), ("operator", PROGRAM, 403), ("owner", PROGRAM, 200),
    ],
)  # fmt: skip
def test_form_is_taken_from_who_may(
    nothing_yet: Fleet, who: str, form: dict[str, str], status: int
) -> None:
    answer = client_of(getattr(nothing_yet.people, who)).post(reverse("make-token"), form)

    assert answer.status_code == status
    assert Token.objects.count() == (status == 200)


def test_own_token_acts_as_its_maker(nothing_yet: Fleet) -> None:
    secret = make(client_of(nothing_yet.people.viewer), OWN)

    token, member = authenticate_person(f"Token {secret}", scope=Scope.WRITE, now=nothing_yet.now)
    assert (member.user, member.role) == (nothing_yet.people.viewer, Role.VIEWER)
    assert token.expires_at == nothing_yet.now + timedelta(days=90)
    assert token.made_by == "new-viewer"


def test_token_of_a_program_is_bound_to_its_host(nothing_yet: Fleet) -> None:
    secret = make(client_of(nothing_yet.people.owner), PROGRAM)

    token = authenticate(f"Token {secret}", scope=Scope.INGEST, now=nothing_yet.now)
    assert token.host is not None
    assert (token.host.name, token.user) == ("h1", None)


def test_secret_is_shown_once_and_kept_by_nobody(nothing_yet: Fleet) -> None:
    owner = client_of(nothing_yet.people.owner)

    answer = owner.post(reverse("make-token"), OWN)
    again = owner.get(reverse("tokens")).content.decode()

    assert SECRET.search(answer.content.decode())
    assert "no-store" in answer.headers["Cache-Control"]
    assert "slu_" not in again
    assert "slu_" not in str(AuditEntry.objects.values())


def tokens_shown(client: Client) -> list[str]:
    page = page_of(client.get(reverse("tokens")))
    return [one.all_text() for one in page.elements("th") if one.get("scope") == "row"]


def test_operator_sees_own_tokens_and_an_owner_all(nothing_yet: Fleet) -> None:
    people = nothing_yet.people
    for who, form in (("viewer", OWN), ("operator", OWN | {"name": "script"}), ("owner", PROGRAM)):
        make(client_of(getattr(people, who)), form)

    assert tokens_shown(client_of(people.operator)) == ["script"]
    assert tokens_shown(client_of(people.owner)) == ["laptop", "script", "telegraf h1"]
    assert tokens_shown(client_of(people.outsider)) == []


@pytest.mark.parametrize(
    ("who", "status"), [("owner", 302), ("operator", 404), ("viewer", 404), ("outsider", 404)]
)
def test_token_of_a_program_is_revoked_by_who_may(
    nothing_yet: Fleet, who: str, status: int
) -> None:
    token, secret = create_token(
        organisation=nothing_yet.organisation, name="telegraf", scope=Scope.INGEST
    )

    answer = client_of(getattr(nothing_yet.people, who)).post(
        reverse("revoke-token", args=[token.pk])
    )

    assert answer.status_code == status
    assert (Token.objects.valid(secret, now=nothing_yet.now) is None) is (status == 302)


def test_revoked_and_expired_tokens_say_so(nothing_yet: Fleet) -> None:
    owner = client_of(nothing_yet.people.owner)
    make(owner, OWN | {"name": "ended"})
    make(owner, OWN | {"name": "revoked"})
    Token.objects.filter(name="ended").update(expires_at=nothing_yet.now)
    pk = Token.objects.get(name="revoked").pk

    page = owner.post(reverse("revoke-token", args=[pk]), follow=True).content.decode()

    assert "revoked opens nothing any more" in page
    cells = [one.all_text() for one in page_of(owner.get(reverse("tokens"))).elements("td")]
    assert [one.split()[0] for one in cells[7::8]] == ["expired", "revoked"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"scope": "king"}, {"scope": ""}, {"name": " "}, {"name": "x" * 101}, {"days": "0"},
        {"days": "-1"}, {"days": ""}, {"days": "9" * 30}, {"host": "h1"},
        {"scope": "enforce"}, {"scope": "ingest", "host": "x" * 10_000},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_input_is_told_and_makes_nothing(nothing_yet: Fleet, wrong: dict[str, str]) -> None:
    owner = client_of(nothing_yet.people.owner)

    page = owner.post(reverse("make-token"), OWN | wrong, follow=True).content.decode()

    assert 'class="error"' in page
    assert not Token.objects.exists()


@pytest.mark.parametrize("name", ["make-token", "revoke-token"])
def test_nothing_is_changed_by_following_a_link(nothing_yet: Fleet, name: str) -> None:
    place = reverse(name, args=[1] if name == "revoke-token" else [])

    assert client_of(nothing_yet.people.owner).get(place).status_code == 405


def test_page_works_with_the_database_keeping_organisations_apart(
    nothing_yet: Fleet, settings: Any
) -> None:
    make_roles()
    settings.HAS_ROW_WALLS = True
    owner = client_of(nothing_yet.people.owner)
    with acting_as(DatabaseRole.WEB):
        make(owner, PROGRAM)
        pk = Token.objects.get().pk
        answer = owner.post(reverse("revoke-token", args=[pk]))

    assert answer.status_code == 302
    assert AuditEntry.objects.count() == 2
