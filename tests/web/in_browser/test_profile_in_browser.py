"""The profile in a real Chromium: its time zone and theme are those of every page."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, expect

from accounts.models import Profile
from advisor.models import Incident
from tests.web.fleet import Fleet
from tests.web.in_browser.charts_on import resource_path, wait_for_charts
from tests.web.in_browser.visit import Visit, visit

pytestmark = [pytest.mark.browser, pytest.mark.valkey]

GROUND = "getComputedStyle(document.documentElement).backgroundColor"
BEHIND_BY_HALF_AN_HOUR = "America/St_Johns"


def choose(tab: Visit, *, zone: str = "", theme: str = "system") -> None:
    tab.go("/settings/profile/")
    tab.page.get_by_label("Time zone").select_option(zone)
    tab.page.get_by_label("Theme").select_option(theme)
    tab.page.get_by_role("button", name="Save").click()
    expect(tab.page.get_by_text("Your profile is changed")).to_be_visible()


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_wins_over_that_of_the_system(
    chromium: Browser, server: str, tmp_path: Path, scheme: str
) -> None:
    theme = {"light": "dark", "dark": "light"}[scheme]
    with visit(chromium, server, scheme=scheme) as tab:
        tab.log_in("operator")
        before = tab.page.evaluate(GROUND)
        choose(tab, theme=theme)
        tab.page.screenshot(path=tmp_path / "profile.png", full_page=True)
        tab.go("/hosts/")
        after = tab.page.evaluate(GROUND)

    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 22, 28)"}
    assert (before, after) == (colours[scheme], colours[theme])
    assert tab.complaints == []


def test_times_are_those_of_the_chosen_zone(tab: Visit, fleet: Fleet) -> None:
    """The browser of the test is in UTC."""
    incident = Incident.objects.get()
    choose(tab, zone=BEHIND_BY_HALF_AN_HOUR)

    tab.go(f"/incidents/{incident.pk}/")
    began = incident.started_at.astimezone(ZoneInfo(BEHIND_BY_HALF_AN_HOUR))
    shown = tab.page.locator("main time[data-clock]").all_text_contents()
    assert any(f"{began:%H:%M}" in one for one in shown), shown
    expect(tab.page.locator(".site-foot")).to_contain_text(BEHIND_BY_HALF_AN_HOUR)


def test_typed_times_are_those_of_the_chosen_zone(tab: Visit, fleet: Fleet) -> None:
    choose(tab, zone=BEHIND_BY_HALF_AN_HOUR)
    end = fleet.now.replace(microsecond=0)
    ends = [end - timedelta(hours=1), end]
    asked = dict(zip(("from", "to"), (f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in ends), strict=True))

    tab.go(f"{resource_path(fleet, 'nfs-07')}?{urlencode(asked)}")
    wait_for_charts(tab.page)
    fields = tab.page.locator("[data-range-form] [type=datetime-local]")
    shown = [field.input_value() for field in fields.all()]
    with tab.page.expect_navigation():
        tab.page.evaluate("document.querySelector('[data-range-form]').requestSubmit()")

    zone = ZoneInfo(BEHIND_BY_HALF_AN_HOUR)
    written = [f"{at.astimezone(zone):%Y-%m-%dT%H:%M:%S}" for at in ends]
    # A browser leaves out seconds that are none.
    assert shown == [one.removesuffix(":00") if one.endswith(":00") else one for one in written]
    assert dict(parse_qsl(urlsplit(tab.page.url).query)) == asked


def test_time_that_clocks_skip_or_repeat_is_read_as_one(tab: Visit) -> None:
    """In Berlin clocks go on at 02:00 on 2026-03-29, and back at 03:00 on 2026-10-25."""
    choose(tab, zone="Europe/Berlin")

    found = tab.page.evaluate(
        """async () => {
          const { read, written } = await import("/static/times.js");
          return ["2026-03-29T01:59", "2026-03-29T03:00", "2026-10-25T01:59", "2026-10-25T03:00"]
            .map((typed) => [read(typed).toISOString(), written(read(typed), "%Y-%m-%dT%H:%M")]);
        }"""
    )

    assert found == [
        ["2026-03-29T00:59:00.000Z", "2026-03-29T01:59"],
        ["2026-03-29T01:00:00.000Z", "2026-03-29T03:00"],
        ["2026-10-24T23:59:00.000Z", "2026-10-25T01:59"],
        ["2026-10-25T02:00:00.000Z", "2026-10-25T03:00"],
    ]


def test_zone_that_the_browser_does_not_know_harms_nothing(tab: Visit, fleet: Fleet) -> None:
    Profile.objects.create(user=fleet.people.operator, time_zone="Mars/Base")

    tab.go("/hosts/")

    expect(tab.page.locator(".site-foot")).to_contain_text("UTC")
