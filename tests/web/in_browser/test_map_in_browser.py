"""The map of workloads by keyboard, in a real Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.web.in_browser.visit import Visit

pytestmark = [pytest.mark.browser]


def test_arrows_walk_through_a_group_and_the_page_is_two_keys_away(tab: Visit) -> None:
    tab.go("/")
    squares = tab.page.locator("#overview-map .square")
    expect(squares.first).to_be_visible()

    squares.first.focus()
    tab.page.keyboard.press("ArrowRight")

    expect(squares.nth(1)).to_be_focused()
    address = squares.nth(1).get_attribute("href")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_role("link", name="Open its page").press("Enter")
    tab.page.wait_for_url(f"**{address}")
