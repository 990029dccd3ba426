"""The documentation on the server: for everybody, under the policy of all pages."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models.profile import Profile, Theme
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of
from web.documentation import sources

pytestmark = pytest.mark.any_database

ADDRESSES = (
    "/docs/",
    "/docs/tutorial/",
    "/docs/settings/",
    "/docs/decisions/",
    "/docs/search?q=lease",
)


@pytest.fixture(params=ADDRESSES)
def page(request: pytest.FixtureRequest, db: None, client: Client) -> Page:
    return page_of(client.get(request.param))


@pytest.mark.slow
def test_every_page_is_shown_to_who_is_not_logged_in(db: None, client: Client) -> None:
    statuses = {
        slug: client.get(f"/docs/{slug}/" if slug else "/docs/").status_code
        for slug in sources.path_of_slug()
    }

    assert set(statuses.values()) == {200}
    assert len(statuses) > 100


def test_page_loads_nothing_that_its_policy_forbids(page: Page) -> None:
    assert page.elements("script") == []
    assert page.elements("style") == []
    assert [one.attributes for one in page.root.walk() if "style" in one.attributes] == []
    assert {one["href"].split("?")[0] for one in page.elements("link")} == {
        "/static/favicon.svg", "/static/sluice.css", "/static/docs.css", "/static/dark.css",
    }  # fmt: skip


def test_strict_policy_stays(db: None, client: Client) -> None:
    policy = client.get("/docs/tutorial/")["Content-Security-Policy"]

    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy


def test_page_has_one_main_one_title_and_a_skip_link(page: Page) -> None:
    assert page.elements("html")[0]["lang"] == "en"
    assert re.fullmatch(r".+ · Sluice documentation", page.text("title"))
    assert len(page.elements("main")) == 1
    first = next(one for one in page.elements("body")[0].walk() if one.tag == "a")
    assert first["href"] == "#content"
    assert page.find("main", id="content")["tabindex"] == "-1"
    levels = [int(one.tag[1]) for one in page.root.walk() if re.fullmatch(r"h[1-6]", one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1


def test_navigation_has_all_groups_and_marks_the_page(db: None, client: Client) -> None:
    shown = page_of(client.get("/docs/backup/"))

    groups = [one.all_text() for one in shown.elements(".docs-group")]
    current = [one["href"] for one in shown.elements("a") if one.get("aria-current") == "page"]
    assert groups == ["Tutorial", "How-to", "Reference", "Explanation"]
    assert current == ["/docs/backup/"]


def test_search_answers_with_links_to_sections(db: None, client: Client) -> None:
    shown = page_of(client.get("/docs/search", {"q": "taken by another program"}))

    first = shown.elements(".docs-hit a")[0]
    assert first["href"].startswith("/docs/troubleshooting/#port--on--is-taken")
    assert {one.all_text().lower() for one in shown.elements("mark")} >= {"another", "program"}
    assert shown.find("input", id="docs-search-box")["value"] == "taken by another program"


@pytest.mark.parametrize(
    ("asked", "said"),
    [("", "Search the documentation"), ("zzyzx", "No results for “zzyzx”")],
)
def test_search_without_an_answer_says_so(db: None, client: Client, asked: str, said: str) -> None:
    shown = page_of(client.get("/docs/search", {"q": asked}))

    assert said in shown.text("h1")


def test_what_was_searched_is_text(db: None, client: Client) -> None:
    answer = client.get("/docs/search", {"q": "<script>alert(1)</script>"})

    assert b"<script" not in answer.content


def test_files_of_pages_are_there_and_no_others(db: None, client: Client) -> None:
    drawing = client.get("/docs/files/docs/flow.svg")

    assert drawing["Content-Type"] == "image/svg+xml"
    assert b"".join(drawing).lstrip().startswith(b"<")  # type: ignore[arg-type]
    for name in ("docs/README.md", "../pyproject.toml", "config/settings.py", "docs/../README.md"):
        assert client.get(f"/docs/files/{name}").status_code == 404


def test_unknown_page_is_not_found(db: None, client: Client) -> None:
    assert client.get("/docs/no-such-page/").status_code == 404


def test_theme_is_that_of_the_person(viewer: Client, fleet: Fleet) -> None:
    assert b"prefers-color-scheme: dark" in viewer.get("/docs/").content
    Profile.objects.create(user=fleet.people.viewer, theme=Theme.LIGHT)

    assert b"dark.css" not in viewer.get("/docs/").content


def test_every_page_of_the_product_and_the_login_lead_there(viewer: Client) -> None:
    assert page_of(viewer.get("/")).find("footer a", href=reverse("docs"))
    assert page_of(Client().get("/login/")).find("a", href=reverse("docs"))
