"""An invitation from making to joining, in a real Chromium, in both schemes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.web.fleet import PASSWORD, Fleet
from tests.web.in_browser.visit import visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_owner_invites_and_a_new_person_joins(
    chromium: Browser, server: str, fleet: Fleet, tmp_path: Path, scheme: str
) -> None:
    with visit(chromium, server, scheme=scheme) as owner:
        owner.log_in("owner")
        owner.go("/settings/members/")
        owner.page.get_by_label("Role", exact=True).select_option("operator")
        owner.page.get_by_label("Mail address").fill("bob@example.org")
        owner.page.get_by_role("button", name="Make a link").click()
        link = owner.page.get_by_label("Link for one operator").input_value()
        owner.page.screenshot(path=tmp_path / "members.png", full_page=True)
    with visit(chromium, server, scheme=scheme) as bob:
        bob.go(urlsplit(link).path)
        bob.page.screenshot(path=tmp_path / "invitation.png")
        bob.page.get_by_role("link", name="I am new here").click()
        bob.page.get_by_label("Username").fill("bob")
        bob.page.get_by_label("Email").fill("bob@example.org")
        bob.page.get_by_label("Password", exact=True).fill(PASSWORD)
        bob.page.get_by_label("Password (again)").fill(PASSWORD)
        bob.page.screenshot(path=tmp_path / "sign-up.png", full_page=True)
        bob.page.get_by_role("button").click()
        bob.page.get_by_role("button", name="Join as bob").click()
        expect(bob.page.get_by_text("You are operator of")).to_be_visible()

    assert owner.complaints == bob.complaints == []
