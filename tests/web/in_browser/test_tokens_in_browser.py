"""A token from making to revoking, in a real Chromium, in both schemes."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from accounts.models import Token
from tests.web.in_browser.visit import visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey, pytest.mark.usefixtures("fleet")]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_token_is_made_copied_and_revoked(
    chromium: Browser, server: str, tmp_path: Path, scheme: str
) -> None:
    with visit(chromium, server, scheme=scheme) as tab:
        tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        tab.log_in("owner")
        tab.go("/settings/tokens/")
        tab.page.get_by_role("combobox", name="Host").fill("kvm-02")
        tab.page.locator("#program-name").fill("telegraf kvm-02")
        tab.page.get_by_role("button", name="Make a token of a program").click()
        secret = tab.page.get_by_label("Secret of telegraf kvm-02").input_value()
        tab.page.get_by_role("button", name="Copy").click()
        expect(tab.page.get_by_role("button", name="Copied")).to_be_visible()
        copied = tab.page.evaluate("navigator.clipboard.readText()")
        tab.page.screenshot(path=tmp_path / "tokens.png", full_page=True)
        tab.page.set_viewport_size({"width": 360, "height": 780})
        tab.page.screenshot(path=tmp_path / "tokens-small.png", full_page=True)
        width = tab.page.evaluate("document.documentElement.scrollWidth")
        tab.page.get_by_role("button", name="Revoke telegraf kvm-02").click()
        expect(tab.page.get_by_text("telegraf kvm-02 opens nothing any more")).to_be_visible()

    assert (copied, width) == (secret, 360)
    assert Token.objects.get(name="telegraf kvm-02").revoked_at is not None
    assert tab.complaints == []
