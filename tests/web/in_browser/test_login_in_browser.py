"""The login page in a real Chromium: by keyboard alone, in both schemes."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.web.fleet import PASSWORD, Fleet
from tests.web.in_browser.visit import visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_person_logs_in_by_keyboard_alone(
    chromium: Browser, server: str, fleet: Fleet, tmp_path: Path, scheme: str
) -> None:
    with visit(chromium, server, scheme=scheme) as tab:
        tab.go("/login/")
        keys = tab.page.keyboard
        keys.type("operator")
        keys.press("Tab")
        keys.type("wrong")
        keys.press("Enter")
        expect(tab.page.get_by_role("alert")).to_contain_text("Incorrect username or password")
        tab.page.screenshot(path=tmp_path / f"login-{scheme}.png")
        tab.page.get_by_label("Password").focus()
        keys.type(PASSWORD)
        keys.press("Enter")
        tab.page.wait_for_url(f"{server}/")

    assert tab.complaints == []
