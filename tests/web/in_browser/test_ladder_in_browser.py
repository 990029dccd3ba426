"""A rule of the ladder set, removed and brought back by keys alone, in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from advisor.models import LadderRule
from tests.web.in_browser.visit import visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey, pytest.mark.usefixtures("fleet")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rule_is_set_removed_and_brought_back_by_keys(
    chromium: Browser, server: str, tmp_path: Path, scheme: str
) -> None:
    with visit(chromium, server, scheme=scheme) as tab:
        tab.log_in("owner")
        tab.go("/settings/ladder/")
        keys = tab.page.keyboard
        tab.page.get_by_label("Name").focus()
        keys.type("nights")
        tab.page.get_by_label("Changes only").focus()
        keys.type("Sat 22:00 6h")
        tab.page.get_by_role("button", name="Set the rule").focus()
        keys.press("Enter")
        expect(tab.page.get_by_text("Rule nights holds.")).to_be_visible()
        held = tab.page.locator("#scopes tbody tr").first
        expect(held).to_contain_text("changes are made Sat 22:00 6h (UTC)")
        tab.page.screenshot(path=tmp_path / "ladder.png", full_page=True)

        tab.page.get_by_role("button", name="Remove… nights").focus()
        keys.press("Enter")
        expect(tab.page.get_by_role("dialog")).to_contain_text("Remove rule nights?")
        keys.press("Escape")
        expect(tab.page.get_by_role("dialog")).to_be_hidden()
        keys.press("Enter")
        tab.page.get_by_role("button", name="Remove the rule").focus()
        keys.press("Enter")
        expect(tab.page.get_by_text("Rule nights is removed.")).to_be_visible()
        assert not LadderRule.objects.exists()

        tab.page.get_by_role("button", name="Undo").focus()
        keys.press("Enter")
        expect(tab.page.get_by_text("Rule nights is as it was.")).to_be_visible()
        tab.page.set_viewport_size({"width": 360, "height": 780})
        tab.page.screenshot(path=tmp_path / "ladder-small.png", full_page=True)
        width = tab.page.evaluate("document.documentElement.scrollWidth")

    assert width == 360
    assert LadderRule.objects.get().windows == ["Sat 22:00 6h"]
    assert tab.complaints == []
