"""A channel set, tried and removed, and a rule and a silence set, by keys alone, in Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from advisor.models import (
    Delivery,
    DeliveryState,
    Incident,
    NotificationChannel,
    NotificationRule,
    NotificationSilence,
)
from tests.web.fleet import Fleet
from tests.web.in_browser.visit import visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey, pytest.mark.usefixtures("fleet")]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
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


def test_channel_is_made_a_digest_without_its_address(
    chromium: Browser, server: str, tmp_path: Path, fleet: Fleet
) -> None:
    NotificationChannel.objects.create(
        organisation=fleet.organisation, name="tickets", kind="webhook",
        address="https://tickets.example.org/very/secret", secret="s3cret",
    )  # fmt: skip
    with visit(chromium, server, scheme="light") as tab:
        tab.log_in("owner")
        tab.go("/settings/notifications/")
        page, keys = tab.page, tab.page.keyboard
        page.get_by_role("link", name="Edit tickets").focus()
        keys.press("Enter")
        page.locator("#channel-rhythm").select_option("day")
        page.locator("#channel-hour").focus()
        keys.press("Control+A")
        keys.type("6")
        keys.press("Enter")
        expect(page.get_by_text("Channel tickets is set.")).to_be_visible()
        expect(page.get_by_text("each day at 06:00 (UTC)")).to_be_visible()
        page.screenshot(path=tmp_path / "digest.png", full_page=True)

    row = NotificationChannel.objects.get()
    assert (row.rhythm, row.hour, row.address[-6:]) == ("day", 6, "secret")
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


def test_link_of_a_message_leads_to_the_dialog_and_does_nothing_by_itself(
    chromium: Browser, server: str, fleet: Fleet
) -> None:
    incident = Incident.objects.get(resource=fleet.resources["nfs-07"])
    with visit(chromium, server, scheme="light") as tab:
        tab.log_in("operator")
        tab.go(f"/incidents/{incident.pk}/#silence-dialog")
        expect(tab.page.get_by_role("dialog")).to_contain_text("Silence nfs-07?")
        assert not NotificationSilence.objects.exists()
        # What names no dialog opens none.
        for other in ("#main", "#no-such", "#%"):
            tab.go("/incidents/")
            tab.go(f"/incidents/{incident.pk}/{other}")
            expect(tab.page.get_by_role("dialog")).to_have_count(0)

    assert tab.complaints == []
