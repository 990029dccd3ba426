"""A second factor: switched on by its person, asked for at every login, and what replaces it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import hotp_value, yield_hotp_counters_from_time
from django.test import Client
from django.urls import reverse

from tests.web.fleet import PASSWORD, Fleet

pytestmark = pytest.mark.any_database


def log_in() -> Client:
    client = Client()
    client.post(reverse("login"), {"login": "new-viewer", "password": PASSWORD})
    return client


def sure() -> Client:
    """Logged in, and the password typed once more: what changing factors takes."""
    client = log_in()
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    return client


def code_of(secret: str) -> str:
    (counter,) = yield_hotp_counters_from_time()
    return f"{hotp_value(secret, counter):06}"


@pytest.fixture
def secret(nothing_yet: Fleet) -> str:
    """The secret of the viewer's app, which is switched on."""
    client = sure()
    page = client.get(reverse("mfa_activate_totp"))
    secret: str = page.context["form"].secret
    client.post(reverse("mfa_activate_totp"), {"code": code_of(secret)})
    return secret


def recovery_code() -> str:
    found = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES)
    code: str = found.wrap().get_unused_codes()[0]
    return code


def test_password_alone_no_longer_opens(secret: str) -> None:
    client = log_in()

    assert client.get("/").status_code == 302
    assert client.get(reverse("mfa_authenticate")).status_code == 200


@pytest.mark.parametrize(
    ("code", "opens"),
    [(code_of, True), (lambda _: "000000", False), (lambda _: recovery_code(), True)],
    ids=["right", "wrong", "recovery"],
)
def test_code_opens_if_it_is_right(secret: str, code: Callable[[str], str], opens: bool) -> None:
    client = log_in()

    client.post(reverse("mfa_authenticate"), {"code": code(secret)})

    assert (client.get("/").status_code == 200) is opens


def test_recovery_code_works_once(secret: str) -> None:
    code = recovery_code()
    first, second = log_in(), log_in()

    first.post(reverse("mfa_authenticate"), {"code": code})
    second.post(reverse("mfa_authenticate"), {"code": code})

    assert [one.get("/").status_code for one in (first, second)] == [200, 302]


def test_pages_of_factors_are_shown_and_ask_strangers_to_log_in(nothing_yet: Fleet) -> None:
    addresses = [
        reverse(name)
        for name in (
            "mfa_index", "mfa_activate_totp", "mfa_add_webauthn", "mfa_list_webauthn",
            "usersessions_list", "account_change_password", "account_email",
        )
    ]  # fmt: skip
    viewer = sure()

    assert {one: viewer.get(one).status_code for one in addresses} == dict.fromkeys(addresses, 200)
    assert {Client().get(one).status_code for one in addresses} == {302}


def test_factors_are_changed_only_by_who_types_the_password_again(nothing_yet: Fleet) -> None:
    asked = log_in().get(reverse("mfa_activate_totp"))

    assert asked.headers["Location"].startswith(reverse("account_reauthenticate"))
