"""A recommendation is weighed and decided without scrolling, at a desk and on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import ViewportSize, expect

from advisor.models import Recommendation, RecommendationState
from tests.web.in_browser.visit import Visit

pytestmark = pytest.mark.browser

DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}


def test_review_is_on_one_screen_and_leads_into_the_simulator(tab: Visit) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    tab.page.set_viewport_size(DESK)
    tab.go(f"/recommendations/{advice.pk}/")

    for name in ("What and why", "Before and after", "Risk and rollout"):
        heading = tab.page.get_by_role("heading", name=name)
        expect(heading).to_be_in_viewport(ratio=1)
    for name in ("Approve…", "Reject…"):
        expect(tab.page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    below = tab.page.locator(".review").evaluate("one => one.getBoundingClientRect().bottom")
    assert below <= DESK["height"]

    tab.page.get_by_role("link", name="Edit in the simulator").click()

    expect(tab.page.get_by_role("heading", name="Simulate changes")).to_be_visible()
    assert "recommendation=" not in tab.page.url
    assert tab.complaints == []


def test_decision_is_under_the_thumb_wherever_a_phone_scrolls(tab: Visit) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    tab.page.set_viewport_size(PHONE)
    tab.go(f"/recommendations/{advice.pk}/")

    for scroll in ("0", "document.body.scrollHeight / 2", "document.body.scrollHeight"):
        tab.page.evaluate(f"scrollTo(0, {scroll})")
        expect(tab.page.get_by_role("button", name="Approve…")).to_be_in_viewport(ratio=1)
    tab.page.get_by_role("button", name="Approve…").click()

    expect(tab.page.get_by_role("button", name="Approve and publish")).to_be_in_viewport(ratio=1)
    assert tab.complaints == []
