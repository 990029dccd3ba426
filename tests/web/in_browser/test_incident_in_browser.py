"""An operator takes care of an incident and says so, on a phone, by keyboard alone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import ViewportSize, expect

from advisor.models import Incident
from tests.web.fleet import Fleet
from tests.web.in_browser.visit import Visit

pytestmark = pytest.mark.browser

PHONE: ViewportSize = {"width": 390, "height": 844}


def test_note_and_duty_are_said_by_keyboard(tab: Visit, fleet: Fleet) -> None:
    incident = Incident.objects.get(ended_at=None)
    incident.aggressors = [{"workload": "batch-3", "part_ratio": 0.6}]
    incident.save()
    for days in (1, 2, 9):
        began = incident.started_at - timedelta(days=days, minutes=7)
        Incident.objects.create(
            organisation=fleet.organisation, resource=incident.resource, started_at=began,
            ended_at=began + timedelta(minutes=12), peak_value=38.0,
            aggressors=incident.aggressors,
        )  # fmt: skip
    tab.page.set_viewport_size(PHONE)
    tab.go(f"/incidents/{incident.pk}/")

    tab.page.get_by_label("Add a note").focus()
    tab.page.keyboard.type("The backup runs twice; I ask its owner.")
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator(".said")).to_contain_text("The backup runs twice; I ask its owner.")
    expect(tab.page.get_by_role("heading", name="Notes")).to_be_in_viewport()
    tab.page.get_by_label("Who takes care of it").focus()
    tab.page.keyboard.type("operator")
    tab.page.keyboard.press("Tab")
    tab.page.keyboard.press("Enter")

    expect(tab.page.get_by_text("operator takes care of it").first).to_be_visible()
    assert tab.complaints == []
