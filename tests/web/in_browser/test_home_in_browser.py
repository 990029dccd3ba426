"""The start page by pointer and by keyboard: a time is brushed, a workload is seen in a drawer."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.web.in_browser.visit import Visit

pytestmark = [pytest.mark.browser]


def chosen_min(tab: Visit) -> float:
    """How many minutes the address of the page asks for."""
    query = parse_qs(urlsplit(tab.page.url).query)
    since, until = (datetime.fromisoformat(query[name][0]) for name in ("from", "to"))
    return (until - since).total_seconds() / 60


def test_drag_over_a_strip_sets_the_time_of_the_page(tab: Visit) -> None:
    tab.go("/?group=tier")
    box = tab.page.locator("[data-heat]").first.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2

    # From a half to three quarters of a day.
    tab.page.mouse.move(box["x"] + box["width"] * 0.5, y)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] * 0.75, y, steps=5)
    expect(tab.page.locator(".brush")).to_be_visible()
    tab.page.mouse.up()

    tab.page.wait_for_url("**/?group=tier&from=*")
    # A pixel is more than a minute.
    assert chosen_min(tab) == pytest.approx(360, abs=5)
    expect(tab.page.locator("#overview-chosen")).to_be_visible()


def test_click_without_a_drag_still_opens_the_hour(tab: Visit) -> None:
    tab.go("/")
    box = tab.page.locator("[data-heat]").first.bounding_box()
    assert box is not None

    tab.page.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + 5)

    tab.page.wait_for_url("**/resources/*/?from=*")


def test_time_is_chosen_by_keyboard(tab: Visit) -> None:
    tab.go("/")
    button = tab.page.get_by_role("button", name="Choose a time")
    button.focus()
    tab.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(tab.page.locator(".brush")).to_be_visible()

    tab.page.keyboard.press("PageUp")
    tab.page.keyboard.press("Shift+ArrowLeft")
    tab.page.keyboard.press("Shift+ArrowLeft")
    tab.page.keyboard.press("Enter")

    tab.page.wait_for_url("**/?from=*")
    # An hour, shorter by two steps of five minutes.
    assert chosen_min(tab) == 50


def test_escape_leaves_the_choice(tab: Visit) -> None:
    tab.go("/")
    button = tab.page.get_by_role("button", name="Choose a time")
    button.press("Enter")

    tab.page.keyboard.press("Escape")

    expect(tab.page.locator(".brush")).to_be_hidden()
    expect(button).to_have_attribute("aria-pressed", "false")
    assert "from=" not in tab.page.url


def test_square_opens_a_drawer_that_escape_closes(tab: Visit) -> None:
    tab.go("/")
    square = tab.page.locator("#overview-map .square").first
    square.focus()
    name = (square.get_attribute("title") or "").partition(":")[0]
    address = tab.page.url

    tab.page.keyboard.press("Enter")

    drawer = tab.page.get_by_role("dialog", name=name)
    expect(drawer).to_be_visible()
    assert tab.page.url == address
    tab.page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    expect(square).to_be_focused()


def test_drawer_leads_to_the_page(tab: Visit) -> None:
    tab.go("/?range=1h")
    square = tab.page.locator("#overview-map .square").first
    path = (square.get_attribute("href") or "").partition("?")[0]
    square.click()

    tab.page.get_by_role("link", name="Open its page").click()

    tab.page.wait_for_url(f"**{path}?range=1h")


def test_view_is_saved_picked_and_removed_by_keyboard(tab: Visit) -> None:
    tab.go("/workloads/?q=db")
    summary = tab.page.locator(".views-menu summary")
    summary.press("Enter")
    tab.page.get_by_label("Save this view as").fill("Databases")
    tab.page.keyboard.press("Enter")
    expect(summary).to_have_text("View: Databases")

    tab.go("/workloads/")
    summary.press("Enter")
    tab.page.get_by_role("link", name="Databases").press("Enter")
    tab.page.wait_for_url("**/workloads/?q=db")
    summary.press("Enter")
    tab.page.get_by_role("button", name="Remove the view Databases").press("Enter")

    expect(tab.page.get_by_text("There is no view Databases any more.")).to_be_visible()
