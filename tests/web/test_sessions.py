"""Sessions: listed, ended by their person alone, and ended when nobody is there."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client
from django.urls import reverse

from tests.web.fleet import PASSWORD, Fleet
from web import idle_sessions

pytestmark = pytest.mark.any_database

HOUR_S = 3600


def log_in(name: str, browser: str = "Firefox") -> Client:
    client = Client(headers={"User-Agent": browser})
    client.post(reverse("login"), {"login": name, "password": PASSWORD})
    return client


def is_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def test_own_sessions_are_listed_and_no_others(nothing_yet: Fleet) -> None:
    log_in("new-operator", "Lynx")
    log_in("new-viewer", "Konqueror")

    page = log_in("new-viewer").get(reverse("usersessions_list")).content.decode()

    assert "Konqueror" in page
    assert "Lynx" not in page


def test_one_session_is_ended_from_another(nothing_yet: Fleet) -> None:
    lost, other, mine = (log_in("new-viewer", name) for name in ("lost", "other", "mine"))
    row = UserSession.objects.get(user_agent="lost")

    mine.post(reverse("end-session", args=[row.pk]))

    assert [is_in(one) for one in (lost, other, mine)] == [False, True, True]


def test_session_of_somebody_else_cannot_be_ended(nothing_yet: Fleet) -> None:
    viewer = log_in("new-viewer", "lost")
    row = UserSession.objects.get(user_agent="lost")

    answer = log_in("new-owner").post(reverse("end-session", args=[row.pk]))

    assert answer.status_code == 404
    assert is_in(viewer)


def test_all_others_are_ended_at_once(nothing_yet: Fleet) -> None:
    lost, mine = log_in("new-viewer"), log_in("new-viewer")

    mine.post(reverse("usersessions_list"))

    assert [is_in(lost), is_in(mine)] == [False, True]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Any:
    """Let hours pass; the limit is two."""
    settings.SESSION_IDLE_HOURS = 2
    clock = {"now_s": 1_000_000.0}
    monkeypatch.setattr(idle_sessions, "time", type("Clock", (), {"time": lambda: clock["now_s"]}))

    def wait(hours: float) -> None:
        clock["now_s"] += hours * HOUR_S

    return wait


def test_idle_session_ends(nothing_yet: Fleet, later: Any) -> None:
    client = log_in("new-viewer")
    assert is_in(client)

    later(2)

    assert not is_in(client)


def test_session_goes_on_while_its_person_is_there(nothing_yet: Fleet, later: Any) -> None:
    client = log_in("new-viewer")
    for _ in range(4):
        assert is_in(client)
        later(1.5)

    assert is_in(client)


def test_page_that_updates_itself_keeps_no_session_open(nothing_yet: Fleet, later: Any) -> None:
    client = log_in("new-viewer")
    assert is_in(client)
    for _ in range(4):
        later(0.5)
        client.get("/hosts/", headers={"HX-Request": "true"})

    assert not is_in(client)
