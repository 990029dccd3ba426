"""Lists, comparisons and times in a real Chromium; the console stays empty."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect

from advisor.models import Incident, MaintenanceWindow
from ingest.models import Host
from tests.web.fleet import PASSWORD, Fleet
from tests.web.in_browser.charts_on import plot, resource_path, wait_for_charts
from tests.web.in_browser.visit import DESKTOP, Visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_list_is_sorted_by_the_keyboard(tab: Visit) -> None:
    tab.go("/workloads/")

    tab.page.get_by_role("link", name="Rate", exact=True).focus()
    tab.page.keyboard.press("Enter")

    tab.page.wait_for_url("**/workloads/?sort=-rate")
    head = tab.page.get_by_role("columnheader", name="Rate")
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(tab.page.locator(".list tbody th").first).to_have_text("batch-3")


def test_filter_group_and_columns_stand_in_the_address(tab: Visit) -> None:
    tab.go("/workloads/")

    tab.page.locator("#table-resource").select_option("nfs-07")
    tab.page.get_by_label("Group by").select_option("tier")
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.get_by_text("Columns", exact=True).click()
    tab.page.locator("#column-sample").uncheck()
    tab.page.get_by_role("button", name="Show").click()

    tab.page.wait_for_url("**/workloads/?columns=*")
    for part in ("columns=state", "resource=nfs-07", "group=tier"):
        assert part in tab.page.url
    expect(tab.page.locator("tr.group")).to_have_count(3)
    expect(tab.page.get_by_role("columnheader", name="Newest sample")).to_have_count(0)


def test_lists_fit_the_screen(tab: Visit) -> None:
    too_wide = []
    for width in (360, 1280):
        tab.page.set_viewport_size({"width": width, "height": 800})
        for path in ("/workloads/?group=resource", "/storage/", "/networks/", "/hosts/"):
            tab.go(path)
            if tab.page.evaluate("document.documentElement.scrollWidth") > width:
                too_wide.append((path, width))

    assert too_wide == []


def test_list_works_without_scripts(chromium: Browser, server: str, fleet: Fleet) -> None:
    context = chromium.new_context(java_script_enabled=False, viewport=DESKTOP)
    page = context.new_page()
    page.goto(f"{server}/login/?next=/workloads/")
    page.get_by_label("Username").fill("viewer")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()

    page.get_by_label("Name contains").fill("web")
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("link", name="Rate", exact=True).click()

    expect(page.locator(".list tbody th")).to_have_text(["web-shop", "web-shop"])
    assert page.url.endswith("/workloads/?q=web&sort=-rate")
    context.close()


def test_chart_is_compared_by_one_choice_and_zoom_keeps_it(tab: Visit, fleet: Fleet) -> None:
    tab.go(resource_path(fleet, "nfs-07"))
    wait_for_charts(tab.page)

    tab.page.get_by_label("Compare with").select_option("day")

    tab.page.wait_for_url("**/?range=1h&compare=day")
    legend = tab.page.locator("[data-chart=iops] .chart-legend")
    expect(legend).to_contain_text("read, a day earlier")
    tab.page.get_by_role("link", name="6h").click()
    tab.page.wait_for_url("**/?range=6h&compare=day")
    wait_for_charts(tab.page)


def test_charts_of_a_host_and_a_workload_are_drawn(tab: Visit, fleet: Fleet) -> None:
    host = Host.objects.get(name="kvm-02")
    tab.go(f"/hosts/{host.pk}/")
    expect(plot(tab.page, "disk-rate")).to_be_visible()
    expect(plot(tab.page, "workloads-bits-per-s")).to_be_visible()

    tab.page.locator(".list").get_by_role("link", name="backup-7").click()

    tab.page.wait_for_url("**/workloads/*/")
    expect(plot(tab.page, f"rate-{fleet.resources['kvm-02/eno1'].pk}")).to_be_visible()


def test_colours_of_a_stack_are_all_different(tab: Visit, fleet: Fleet) -> None:
    tab.go(resource_path(fleet, "nfs-07"))
    wait_for_charts(tab.page)

    marks = tab.page.locator("[data-chart=workloads] .chart-legend .series-mark")
    expect(marks).to_have_count(6)
    drawn = marks.evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    rows = tab.page.locator("[data-series]")
    beside = rows.evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")

    assert len(set(drawn)) == 6
    # What belongs to no workload has no row.
    assert set(beside) == set(drawn[:-1])


@pytest.fixture
def berlin(chromium: Browser, server: str, fleet: Fleet) -> Iterator[Page]:
    """A tab whose clock is an hour ahead of UTC in winter, two in summer."""
    context = chromium.new_context(timezone_id="Europe/Berlin", viewport=DESKTOP)
    page = context.new_page()
    page.goto(f"{server}/login/")
    page.get_by_label("Username").fill("operator")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    yield page
    context.close()


def test_times_are_those_of_the_browser_with_utc_in_the_title(berlin: Page) -> None:
    updated: dict[str, Any] = berlin.locator(".site-foot time").evaluate(
        "one => ({at: one.dateTime, text: one.textContent, title: one.title})"
    )

    at = datetime.fromisoformat(updated["at"]).astimezone(UTC)
    hours = (int(updated["text"][:2]) - at.hour) % 24
    assert hours in (1, 2)
    assert updated["text"][2:] == f"{at:%H:%M:%S}"[2:]
    assert f"{at:%Y-%m-%d %H:%M:%S} UTC" in updated["title"]
    expect(berlin.locator(".site-foot")).to_contain_text("Europe/Berlin")


def test_range_is_typed_in_the_zone_of_the_browser(berlin: Page, fleet: Fleet) -> None:
    host = fleet.hosts["kvm-01"].pk
    berlin.goto(berlin.url.rstrip("/") + f"/hosts/{host}/")
    berlin.get_by_text("From, to").click()
    # In winter Berlin is an hour ahead of UTC.
    berlin.get_by_label("From, Europe/Berlin").fill("2026-01-15T10:30:00")
    berlin.get_by_label("To, Europe/Berlin").fill("2026-01-15T11:00:00")
    berlin.get_by_role("button", name="Show").click()

    berlin.wait_for_url("**from=2026-01-15T09%3A30%3A00Z&to=2026-01-15T10%3A00%3A00Z")

    expect(berlin.locator("#range-from")).to_have_value(re.compile("2026-01-15T10:30(:00)?"))


def test_maintenance_window_is_typed_in_the_zone_of_the_browser(
    berlin: Page, fleet: Fleet
) -> None:
    incident = Incident.objects.get(ended_at=None)
    berlin.goto(berlin.url.rstrip("/") + f"/incidents/{incident.pk}/")
    berlin.get_by_role("button", name="Mark as maintenance window…").click()
    start = berlin.get_by_role("dialog").get_by_label("From, Europe/Berlin")
    local = incident.started_at.astimezone(ZoneInfo("Europe/Berlin"))
    expect(start).to_have_value(f"{local:%Y-%m-%dT%H:%M}")

    # In winter Berlin is an hour ahead of UTC.
    start.fill("2026-01-15T22:30")
    berlin.get_by_label("Name").fill("nightly backup")
    berlin.get_by_role("button", name="Mute").click()

    expect(berlin.locator(".messages")).to_contain_text("nightly backup")
    stored = MaintenanceWindow.objects.get()
    assert stored.starts_at == datetime(2026, 1, 15, 21, 30, tzinfo=UTC)
    assert stored.zone == "Europe/Berlin"


def test_part_that_has_not_changed_is_answered_304(tab: Visit) -> None:
    tab.go("/?against=hour")

    # Nothing evaluates in the background of this test, but what is compared with an hour ago moves
    # with the minute. Of four updates, one each ten seconds, two follow each other within one.
    answered = tab.page.wait_for_event(
        "response", lambda one: one.url.endswith("/") and one.status == 304, timeout=45_000
    )

    assert answered.status == 304
