"""A second factor: switched on by its person, asked for at every login, and what replaces it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth
from allauth.mfa.totp.internal.auth import hotp_value
from django.conf import settings as product
from django.test import Client
from django.urls import reverse

from tests.web.fleet import PASSWORD, Fleet

pytestmark = pytest.mark.any_database

NOW_S = 1_795_000_000
PERIOD_S = 30


class Clock:
    """The server's, which codes are compared with; it stands still."""

    @staticmethod
    def time() -> float:
        return NOW_S


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "time", Clock)


def log_in() -> Client:
    client = Client()
    client.post(reverse("login"), {"login": "new-viewer", "password": PASSWORD})
    return client


def sure() -> Client:
    """Logged in, and the password typed once more: what changing factors takes."""
    client = log_in()
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    return client


def code_of(secret: str, ahead_s: int = 0) -> str:
    """What an app shows whose clock is so far ahead of the server's; RFC 6238, section 4."""
    return f"{hotp_value(secret, (NOW_S + ahead_s) // PERIOD_S):06}"


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


@pytest.mark.parametrize(
    ("ahead_s", "opens"), [(-PERIOD_S, True), (PERIOD_S, True), (-90, False), (90, False)]
)
def test_clock_of_the_app_may_be_half_a_minute_off(secret: str, ahead_s: int, opens: bool) -> None:
    client = log_in()

    client.post(reverse("mfa_authenticate"), {"code": code_of(secret, ahead_s)})

    assert (client.get("/").status_code == 200) is opens


@pytest.mark.valkey
def test_code_that_was_used_opens_nothing_more(
    secret: str, valkey_url: str, settings: Any
) -> None:
    redis.Redis.from_url(valkey_url).flushall()
    together = {**product.CACHE_IN_VALKEY, "LOCATION": valkey_url}
    settings.CACHES = {**product.CACHES, "together": together}
    code = code_of(secret, PERIOD_S)
    first, second = log_in(), log_in()

    first.post(reverse("mfa_authenticate"), {"code": code})
    second.post(reverse("mfa_authenticate"), {"code": code})

    assert [one.get("/").status_code for one in (first, second)] == [200, 302]


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
