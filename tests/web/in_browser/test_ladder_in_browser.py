"""A rule of the ladder set, removed and brought back by keys alone, in a real Chromium."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from advisor.models import LadderRule
from tests.web.fleet import Fleet
from tests.web.in_browser.visit import visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey, pytest.mark.usefixtures("fleet")]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_rule_is_set_removed_and_brought_back_by_keys(
    chromium: Browser, server: str, tmp_path: Path, scheme: str
) -> None:
    # While a window is open nothing is held back.
    window = f"{datetime.now(UTC) + timedelta(days=3):%a} 22:00 6h"
    with visit(chromium, server, scheme=scheme) as tab:
        tab.log_in("owner")
        tab.go("/settings/ladder/")
        keys = tab.page.keyboard
        tab.page.get_by_label("Name").focus()
        keys.type("nights")
        tab.page.get_by_label("Changes only").focus()
        keys.type(window)
        tab.page.get_by_role("button", name="Set the rule").focus()
        keys.press("Enter")
        expect(tab.page.get_by_text("Rule nights holds.")).to_be_visible()
        held = tab.page.locator("#scopes tbody tr").first
        expect(held).to_contain_text(f"changes are made {window} (UTC)")
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
    assert LadderRule.objects.get().windows == [window]
    assert tab.complaints == []


def test_what_the_form_is_answered_with_has_the_focus(chromium: Browser, server: str) -> None:
    with visit(chromium, server) as tab:
        tab.log_in("owner")
        tab.go("/settings/ladder/")
        name, level = tab.page.locator("#rule-name"), tab.page.locator("#rule-level")
        name.fill("free")
        level.select_option("act")
        name.press("Enter")
        answered = tab.page.locator("#rule-answer")
        expect(answered).to_contain_text("a cool-down and a cap")
        expect(answered).to_be_focused()
        expect(answered).to_be_in_viewport()
        heading, head = (tab.page.locator(one).bounding_box() for one in ("#set-title", "header"))
        assert heading
        assert head
        # The head of the page stays in sight and covers neither.
        assert heading["y"] >= head["y"] + head["height"]

        tab.page.locator("#rule-cool-down").fill("6h")
        tab.page.locator("#rule-most").fill("3")
        name.press("Enter")
        expect(answered).to_contain_text("Let Sluice approve by itself?")
        expect(answered).to_be_focused()
        expect(answered).to_be_in_viewport()
        # Enter in a field asks again, and confirms nothing.
        name.press("Enter")
        expect(answered).to_be_focused()
        assert not LadderRule.objects.exists()
        name.fill("freely")
        name.press("Enter")
        expect(answered).to_contain_text("Rule freely is not set yet.")
        assert not LadderRule.objects.exists()

        tab.page.keyboard.press("Tab")
        tab.page.keyboard.press("Enter")
        told = tab.page.get_by_text("Rule freely holds.")
        expect(told).to_be_in_viewport()

    assert LadderRule.objects.get().level == "act"
    # The refusal is an answer of its own status.
    assert [one for one in tab.complaints if "400" not in one] == []


def test_removal_that_lets_sluice_act_is_asked_for_in_its_dialog(
    chromium: Browser, server: str, fleet: Fleet
) -> None:
    LadderRule.objects.create(
        organisation=fleet.organisation, name="free", level="act", cooldown_s=60.0,
        most_changes_per_day=9,
    )  # fmt: skip
    LadderRule.objects.create(organisation=fleet.organisation, name="calm", level="tell")
    with visit(chromium, server) as tab:
        tab.log_in("owner")
        tab.go("/settings/ladder/")
        tab.page.get_by_role("button", name="Remove… calm").click()
        dialog = tab.page.get_by_role("dialog")
        expect(dialog).to_contain_text("Sluice will then approve by itself (rule free)")
        # Enter where the focus is when the dialog opens removes nothing.
        tab.page.keyboard.press("Enter")
        expect(dialog).to_be_hidden()
        assert LadderRule.objects.filter(name="calm").exists()
        tab.page.keyboard.press("Enter")
        dialog.get_by_role("button", name="Yes, remove the rule").click()
        expect(tab.page.get_by_text("Rule calm is removed.")).to_be_visible()

    assert LadderRule.objects.get().name == "free"
    assert tab.complaints == []
