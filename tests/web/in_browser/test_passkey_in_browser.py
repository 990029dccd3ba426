"""A passkey in a real Chromium, whose authenticator is a virtual one."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.web.fleet import PASSWORD, Fleet
from tests.web.in_browser.visit import visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey]

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def test_person_adds_a_passkey_and_logs_in_with_it(
    chromium: Browser, server: str, fleet: Fleet, tmp_path: Path
) -> None:
    # A passkey belongs to a name, and an address is none.
    with visit(chromium, server.replace("127.0.0.1", "localhost")) as tab:
        tools = tab.page.context.new_cdp_session(tab.page)
        tools.send("WebAuthn.enable")
        tools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
        tab.log_in("operator")
        tab.go("/second-factor/")
        tab.page.screenshot(path=tmp_path / "factors.png", full_page=True)
        tab.go("/second-factor/webauthn/add/")
        tab.page.get_by_label("Password").fill(PASSWORD)
        tab.page.get_by_role("button", name="Confirm").click()
        tab.page.get_by_label("Name").fill("laptop")
        tab.page.get_by_label("Passwordless").check()
        tab.page.screenshot(path=tmp_path / "add.png", full_page=True)
        tab.page.get_by_role("button", name="Add").click()
        tab.page.wait_for_url("**/second-factor/**")
        expect(tab.page.get_by_role("button", name="Add")).to_have_count(0)
        tab.page.context.clear_cookies()
        tab.go("/login/")
        tab.page.screenshot(path=tmp_path / "login.png", full_page=True)
        tab.page.get_by_role("button", name="Log in with a passkey").click()
        tab.page.wait_for_url(f"{tab.address}/")

    assert tab.complaints == []
