"""A person goes through the tour of a sample by keyboard, in a real Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from accounts.models import Organisation
from advisor.models import Incident, Recommendation, RecommendationState
from tests.web.in_browser.visit import DESKTOP, Visit

pytestmark = [pytest.mark.browser]

PHONE: ViewportSize = {"width": 375, "height": 667}


@pytest.fixture
def sample(tab: Visit) -> Visit:
    """The tab of an operator of a sample, at the first step."""
    Organisation.objects.filter(slug="northgate").update(is_sample=True)
    tab.go("/")
    return tab


def choose(page: Page, name: str) -> None:
    """Walk by Tab from where the focus is to the button, and press it."""
    button = page.locator("#tour").get_by_role("button", name=name, exact=True)
    for _ in range(6):
        if button.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_six_steps_are_walked_by_keyboard(sample: Visit, size: ViewportSize) -> None:
    page = sample.page
    page.set_viewport_size(size)
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    incident = Incident.objects.get().pk
    title = page.locator("#tour-title")
    expect(title).to_contain_text("step 1 of 6")
    page.locator("#tour").focus()

    for number, address in enumerate(
        [f"/incidents/{incident}/", *[f"/recommendations/{advice.pk}/"] * 2], start=2
    ):
        choose(page, "Next")
        page.wait_for_url(f"**{address}#tour")
        expect(title).to_contain_text(f"step {number} of 6")
        # The keyboard goes on from the step, and not from the top of the page.
        expect(page.locator("#tour")).to_be_focused()

    page.get_by_role("button", name="Approve…").click()
    page.get_by_role("button", name="Approve and publish").click()
    expect(page.get_by_text("Approved. Version")).to_be_visible()
    page.locator("#tour").focus()
    choose(page, "Next")
    expect(title).to_contain_text("step 5 of 6")
    expect(page.get_by_role("heading", name="Predicted against measured")).to_be_attached()
    choose(page, "Next")
    page.wait_for_url("**/reports/?period=days&*#tour")
    expect(title).to_contain_text("step 6 of 6")
    choose(page, "Finish the tour")
    expect(page.locator("#tour")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_closed_tour_is_taken_up_from_the_menu(sample: Visit) -> None:
    page = sample.page
    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_role("button", name="Close the tour").click()
    expect(page.locator("#tour")).to_have_count(0)

    page.locator(".site-tools .menu summary").click()
    page.get_by_role("button", name="Go on with the tour").click()

    expect(page.locator("#tour-title")).to_contain_text("step 2 of 6")


def test_nothing_stays_hidden_behind_the_step(sample: Visit) -> None:
    page = sample.page
    # A page that does not grow by itself, and is longer than the window.
    sample.go("/settings/organisation/")
    page.set_viewport_size({"width": 1000, "height": 420})
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")

    footer = page.locator(".site-foot").bounding_box()
    step = page.locator("#tour").bounding_box()

    assert footer is not None
    assert step is not None
    assert footer["y"] + footer["height"] <= step["y"] + 1
