"""The page of each kind of advice in a real browser: drawn, within its width, no complaint."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, ViewportSize, expect

from advisor.advice.recommendation_store import keep
from advisor.advice.registry import answer, kind_named
from advisor.core.canonical import dumps
from advisor.models import Recommendation, RecommendationState
from tests.advisor.advice.test_kinds import STORED
from tests.web.fleet import Fleet
from tests.web.in_browser.visit import DESKTOP, visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE: ViewportSize = {"width": 390, "height": 844}
PICTURED = [topic for topic in STORED if topic != "queue_depth"]
"""The stored queue depths come without a measured window."""


def advised(fleet: Fleet) -> dict[str, int]:
    """One open recommendation of each topic; its number."""
    numbers = {}
    for topic in PICTURED:
        inputs = dumps(STORED[topic])
        numbers[topic] = keep(
            resource=fleet.resources["nfs-07"],
            kind=kind_named(topic),
            incident=None,
            inputs=inputs,
            found=answer(topic, inputs),
            now=fleet.now,
        ).pk
    return numbers


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_evidence_is_drawn_within_the_page(
    chromium: Browser, server: str, fleet: Fleet, scheme: str, size: ViewportSize
) -> None:
    numbers = advised(fleet)

    with visit(chromium, server, scheme=scheme, size=size) as tab:
        tab.log_in("operator")
        for topic, number in numbers.items():
            tab.go(f"/recommendations/{number}/")
            drawn = tab.page.locator(".picture-field").bounding_box()
            too_wide = tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")

            assert drawn is not None, topic
            assert drawn["height"] > 100, topic
            assert drawn["x"] + drawn["width"] <= size["width"], topic
            assert too_wide <= 0, topic
        assert tab.complaints == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_buttons_of_a_long_dialog_are_seen_without_scrolling(
    chromium: Browser, server: str, fleet: Fleet, size: ViewportSize
) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)

    with visit(chromium, server, size={"width": size["width"], "height": 420}) as tab:
        tab.log_in("operator")
        tab.go(f"/recommendations/{advice.pk}/")
        tab.page.get_by_role("button", name="Approve…").click()

        dialog = tab.page.get_by_role("dialog")
        assert dialog.evaluate("one => one.scrollHeight > one.clientHeight")
        expect(dialog.get_by_role("heading")).to_be_in_viewport(ratio=1)
        for name in ("Cancel", "Approve and publish"):
            expect(dialog.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
        assert tab.complaints == []
