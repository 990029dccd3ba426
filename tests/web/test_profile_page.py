"""A person's own page: name, time zone and theme, and that nobody changes those of others."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, Profile
from config.database_roles import DatabaseRole
from tests.config.roles import acting_as, make_roles
from tests.web.conftest import client_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

pytestmark = pytest.mark.any_database

FORM = {"name": "Vera Viewer", "time_zone": "Europe/Berlin", "theme": "dark"}


def change(client: Client, **fields: str) -> str:
    return client.post(reverse("profile"), FORM | fields, follow=True).content.decode()


@pytest.fixture
def vera(nothing_yet: Fleet) -> Client:
    return client_of(nothing_yet.people.viewer)


def test_profile_is_kept_and_shown(nothing_yet: Fleet, vera: Client) -> None:
    change(vera)

    page = page_of(vera.get(reverse("profile")))
    chosen = [one.all_text() for one in page.elements("option") if "selected" in one.attributes]
    assert page.find("input", name="name")["value"] == "Vera Viewer"
    assert chosen == ["Europe/Berlin", "dark"]
    assert "Vera Viewer" in vera.get(reverse("members")).content.decode()


def test_every_page_is_drawn_as_the_profile_says(nothing_yet: Fleet, vera: Client) -> None:
    change(vera)

    pages = [page_of(vera.get(place)) for place in ("/", "/hosts/", reverse("usersessions_list"))]

    for page in pages:
        assert page.elements("html")[0]["data-time-zone"] == "Europe/Berlin"
        assert page.find("meta", name="color-scheme")["content"] == "dark"


@pytest.mark.parametrize(
    ("theme", "dark", "scheme"),
    [
        ("system", ["(prefers-color-scheme: dark)"], "light dark"),
        ("light", [], "light"),
        ("dark", [""], "dark"),
    ],
)
def test_theme_is_told_to_the_browser(
    vera: Client, theme: str, dark: list[str], scheme: str
) -> None:
    change(vera, theme=theme)

    page = page_of(vera.get("/"))
    sheets = [one for one in page.elements("link") if "dark.css" in (one.get("href") or "")]
    assert [one.get("media") for one in sheets] == dark
    assert page.find("meta", name="color-scheme")["content"] == scheme


def test_without_a_profile_browser_and_system_decide(vera: Client) -> None:
    page = page_of(vera.get("/"))

    assert "data-time-zone" not in page.elements("html")[0].attributes
    assert page.find("meta", name="color-scheme")["content"] == "light dark"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"time_zone": "Mars/Base"}, "no time zone"),
        ({"time_zone": "../../etc/passwd"}, "no time zone"),
        ({"theme": "pink"}, "no such theme"),
        ({"name": "x" * 151}, "at most 150 letters"),
        ({"name": "a\x00b"}, "that can be printed"),
    ],
)
def test_wrong_input_is_told_and_changes_nothing(
    vera: Client, wrong: dict[str, str], words: str
) -> None:
    page = change(vera, **wrong)

    assert words in page
    assert not Profile.objects.exists()
    assert not User.objects.exclude(first_name="").exists()


def test_nobody_changes_the_profile_of_others(nothing_yet: Fleet, vera: Client) -> None:
    change(client_of(nothing_yet.people.owner), name="Olga")

    change(vera, user=str(nothing_yet.people.owner.pk), user_id=str(nothing_yet.people.owner.pk))

    names = dict(User.objects.values_list("username", "first_name"))
    assert (names["new-owner"], names["new-viewer"]) == ("Olga", "Vera Viewer")
    assert Client().post(reverse("profile"), FORM).status_code == 302


def test_page_works_with_the_database_keeping_organisations_apart(
    nothing_yet: Fleet, vera: Client, settings: Any
) -> None:
    make_roles()
    settings.HAS_ROW_WALLS = True
    with acting_as(DatabaseRole.WEB):
        change(vera)
        page = page_of(vera.get("/"))

    assert page.elements("html")[0]["data-time-zone"] == "Europe/Berlin"


def test_who_is_in_no_organisation_has_a_profile_too(db: None) -> None:
    loner = client_of(get_user_model().objects.create_user(username="loner"))
    assert not Membership.objects.exists()

    assert "Your profile is changed" in change(loner)


def test_page_leads_to_what_a_login_is_made_of(nothing_yet: Fleet, vera: Client) -> None:
    with_password = vera.get(reverse("profile")).content.decode()
    person = nothing_yet.people.viewer
    person.set_unusable_password()
    person.save()
    without = client_of(person).get(reverse("profile")).content.decode()

    for name in ("account_change_password", "account_email", "mfa_index", "usersessions_list"):
        assert reverse(name) in with_password
    assert reverse("account_set_password") in without
