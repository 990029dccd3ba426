"""Logging in, the wait after wrong passwords, sign-up by a switch, and a forgotten password."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
import redis
from allauth.core.internal import ratelimit
from django.conf import settings as product
from django.contrib.auth import get_user_model
from django.core import mail
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import Membership
from tests.web.fleet import PASSWORD, Fleet

pytestmark = pytest.mark.any_database

ATTEMPTS = 5  # wrong passwords for one name in five minutes (config/settings.py)
WAIT_S = 5 * 60


class Clock:
    """The time as attempts are counted by; the cache keeps its own."""

    ahead_s = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def time(self) -> float:
        return time.time() + self.ahead_s


@pytest.fixture
def attempts(valkey_url: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Attempts are counted in a valkey that knows of none yet."""
    redis.Redis.from_url(valkey_url).flushall()
    together = {**product.CACHE_IN_VALKEY, "LOCATION": valkey_url}
    settings.CACHES = {**product.CACHES, "together": together}
    clock = Clock()
    monkeypatch.setattr(ratelimit, "time", clock)
    return clock


def log_in(
    name: str, password: str, *, address: str = "192.0.2.7", client: Client | None = None
) -> HttpResponse:
    form = {"login": name, "password": password}
    return (client or Client()).post(reverse("login"), form, REMOTE_ADDR=address)


@pytest.mark.valkey
def test_after_many_wrong_passwords_the_right_one_has_to_wait(
    nothing_yet: Fleet, attempts: Clock
) -> None:
    for number in range(ATTEMPTS):
        answer = log_in("new-viewer", f"wrong {number}")
        assert b"Incorrect username or password" in answer.content

    refused = log_in("new-viewer", PASSWORD)
    attempts.ahead_s = WAIT_S + 1
    after = log_in("new-viewer", PASSWORD)

    assert refused.status_code == 200
    assert b"Too many wrong passwords. Wait five minutes" in refused.content
    assert after.status_code == 302


@pytest.mark.valkey
def test_one_address_cannot_try_many_names(nothing_yet: Fleet, attempts: Clock) -> None:
    for number in range(20):
        log_in(f"person-{number}", "wrong")

    assert b"Too many" in log_in("new-viewer", PASSWORD).content
    assert log_in("new-viewer", PASSWORD, address="192.0.2.8").status_code == 302


@pytest.mark.valkey
def test_who_logs_in_rightly_is_not_counted(nothing_yet: Fleet, attempts: Clock) -> None:
    answers = [log_in("new-viewer", PASSWORD).status_code for _ in range(ATTEMPTS + 2)]

    assert answers == [302] * (ATTEMPTS + 2)


def test_sign_up_is_closed_unless_switched_on(db: None) -> None:
    form = {
        "username": "mallory", "email": "m@example.org",
        "password1": PASSWORD, "password2": PASSWORD,
    }  # fmt: skip

    page = Client().get(reverse("account_signup"))
    Client().post(reverse("account_signup"), form)

    assert b"Here people come in by invitation" in page.content
    assert b"Sign up" not in Client().get(reverse("login")).content
    assert not get_user_model().objects.filter(username="mallory").exists()


def test_who_signs_up_belongs_to_no_organisation(db: None, settings: Any) -> None:
    settings.SIGN_UP_OPEN = True
    client = Client()
    form = {
        "username": "mallory", "email": "m@example.org",
        "password1": PASSWORD, "password2": PASSWORD,
    }  # fmt: skip

    client.post(reverse("account_signup"), form)

    assert get_user_model().objects.filter(username="mallory").exists()
    assert not Membership.objects.exists()
    assert b"You are not a member of an organisation yet" in client.get("/").content


def test_forgotten_password_is_set_anew_by_the_link_once(
    nothing_yet: Fleet, settings: Any
) -> None:
    settings.HAS_MAIL = True
    person = nothing_yet.people.viewer
    person.email = "viewer@example.org"
    person.save()
    client = Client()

    client.post(reverse("account_reset_password"), {"email": "viewer@example.org"})
    (letter,) = mail.outbox
    link = re.search(r"http://testserver(/\S+)", str(letter.body))
    assert link is not None
    form_page = client.get(link[1], follow=True)
    new = "another long password"
    client.post(form_page.request["PATH_INFO"], {"password1": new, "password2": new})

    assert log_in("new-viewer", new).status_code == 302
    assert log_in("new-viewer", PASSWORD).status_code == 200
    assert b"password1" not in Client().get(link[1], follow=True).content


def test_reset_tells_nobody_which_addresses_are_known(nothing_yet: Fleet, settings: Any) -> None:
    settings.HAS_MAIL = True
    answers = [
        Client().post(reverse("account_reset_password"), {"email": email})
        for email in ("nobody@example.org", "viewer@example.org")
    ]

    assert len({(one.status_code, one.headers["Location"]) for one in answers}) == 1


def test_without_mail_the_reset_page_says_whom_to_ask(db: None) -> None:
    page = Client().get(reverse("account_reset_password")).content

    assert b"This installation sends no mail" in page
    assert b"Forgotten" not in Client().get(reverse("login")).content


@pytest.mark.parametrize(
    "name", ["login", "account_signup", "account_reset_password", "account_reset_password_done"]
)
def test_page_has_no_inline_script_or_style(db: None, settings: Any, name: str) -> None:
    settings.SIGN_UP_OPEN = settings.HAS_MAIL = True

    page = Client().get(reverse(name)).content.decode()

    assert not re.search(
        r"<script(?![^>]*(?:src=|application/json))|<style|\sstyle=|\son\w+=", page
    )
    assert page.count("<h1") == 1
