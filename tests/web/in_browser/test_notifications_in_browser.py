"""A channel set, tried and removed, and a rule and a silence set, by keys alone, in Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from advisor.models import (
    Delivery,
    DeliveryState,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
)
from tests.web.fleet import Fleet
from tests.web.in_browser.visit import visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey, pytest.mark.usefixtures("fleet")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_channel_is_set_tried_and_removed_by_keys(
    chromium: Browser, server: str, tmp_path: Path, fleet: Fleet, scheme: str
) -> None:
    with visit(chromium, server, scheme=scheme) as tab:
        tab.log_in("owner")
        tab.go("/settings/notifications/")
        page, keys = tab.page, tab.page.keyboard
        page.locator("#channel-name").focus()
        keys.type("tickets")
        page.locator("#channel-kind").select_option("webhook")
        page.locator("#channel-address").focus()
        keys.type("https://tickets.example.org/very/secret")
        keys.press("Enter")
        secret = page.get_by_label("Secret of tickets; it is shown this once").input_value()
        assert secret == NotificationChannel.objects.get().secret

        page.locator("#rule-name").focus()
        keys.type("nights")
        page.locator("#rule-quiet").focus()
        keys.type("Mon-Sun 22:00 9h")
        page.get_by_role("button", name="Set the rule").focus()
        keys.press("Enter")
        expect(page.get_by_text("Rule nights tells by tickets.")).to_be_visible()

        page.get_by_role("button", name="Test tickets").focus()
        keys.press("Enter")
        expect(page.locator("#tried")).to_contain_text("is on its way")
        Delivery.objects.update(state=DeliveryState.GIVEN_UP, reason="it answers 404")
        expect(page.locator("#tried")).to_contain_text("was not taken: it answers 404")
        page.screenshot(path=tmp_path / "notifications.png", full_page=True)
        page.set_viewport_size({"width": 360, "height": 780})
        page.screenshot(path=tmp_path / "notifications-small.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") == 360

        page.get_by_role("button", name="Remove… tickets").focus()
        keys.press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text("Remove channel tickets?")
        page.get_by_role("button", name="Remove the channel").focus()
        keys.press("Enter")
        expect(page.get_by_text("tickets is removed.")).to_be_visible()

    assert not NotificationRule.objects.exists()
    assert tab.complaints == []


def test_resource_is_silenced_by_keys_where_one_looks(
    chromium: Browser, server: str, tmp_path: Path, fleet: Fleet
) -> None:
    with visit(chromium, server, scheme="light") as tab:
        tab.log_in("operator")
        tab.go(f"/resources/{fleet.resources['nfs-07'].pk}/")
        page, keys = tab.page, tab.page.keyboard
        page.get_by_role("button", name="Silence…").focus()
        keys.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("no rule of notifications is stated")
        dialog.get_by_label("8 hours").focus()
        keys.press("Space")
        dialog.get_by_role("button", name="Silence it").focus()
        keys.press("Enter")
        expect(page.locator("#silenced")).to_contain_text("Nobody is told of nfs-07 until")
        page.screenshot(path=tmp_path / "silenced.png")

    assert NotificationSilence.objects.get().resource == fleet.resources["nfs-07"]
    assert tab.complaints == []
