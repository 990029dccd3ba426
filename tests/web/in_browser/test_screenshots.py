"""Pages of the README in both schemes, from a real Chromium, small enough to be shown there.

The README's own come from the sample: `make screenshots`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, expect

from advisor.models import Recommendation, RecommendationState
from tests.web.in_browser.charts_on import resource_path, wait_for_charts
from tests.web.in_browser.visit import DESKTOP, Visit, visit
from tests.web.scenario import noisy_neighbour

# `make test-long` sees that they can be renewed; other tests open the pages that they show.
pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]

LARGEST_SCREENSHOT_BYTES = 250_000
SCREENSHOTS = os.environ.get("SLUICE_SCREENSHOT_DIR")
"""Where they are written; without it they go with the test."""


Take = Callable[[Visit, str], None]


@pytest.fixture
def take(tmp_path: Path) -> Take:
    """Writes a screenshot and refuses one that is too large for a README."""
    folder = Path(SCREENSHOTS) if SCREENSHOTS else tmp_path

    def taken(tab: Visit, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        tab.page.mouse.move(0, 0)
        tab.page.screenshot(path=folder / f"{name}.png", animations="disabled")
        assert (folder / f"{name}.png").stat().st_size < LARGEST_SCREENSHOT_BYTES

    return taken


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots_show_the_pages_in_both_schemes(
    chromium: Browser, server: str, committed: None, take: Take, scheme: str
) -> None:
    fleet = noisy_neighbour(timezone.now())
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    ending = "-dark" if scheme == "dark" else ""
    with visit(chromium, server, scheme=scheme) as tab:
        tab.log_in("operator")
        ground = tab.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        # Without the message that one is signed in.
        tab.go("/")
        for part in (
            "#overview-map .squares",
            "#overview-promises table",
            "#overview-movers table",
        ):
            expect(tab.page.locator(part).first).to_be_visible()
        take(tab, f"overview{ending}")
        tab.go(resource_path(fleet, "nfs-07"))
        wait_for_charts(tab.page)
        tab.page.set_viewport_size({"width": 1280, "height": 950})
        take(tab, f"datastore{ending}")
        tab.page.set_viewport_size(DESKTOP)
        tab.go(f"/recommendations/{advice.pk}/")
        take(tab, f"recommendation{ending}")
        tab.go("/hosts/")
        take(tab, f"hosts{ending}")
        tab.go(f"{resource_path(fleet, 'nfs-07')}what-if/")
        tab.page.set_viewport_size({"width": 1280, "height": 1100})
        take(tab, f"what-if{ending}")
        tab.go("/replay/sioc-nfs-idle-vm/")
        expect(tab.page.get_by_role("button", name="Play")).to_be_enabled()
        tab.page.locator("#position").fill("600")
        take(tab, f"replay{ending}")

    assert tab.complaints == []
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 22, 28)"}[scheme]
