"""Pages in a real Chromium: log in, look, search, decide; the console stays empty."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from advisor.models import Policy, Recommendation, RecommendationState
from tests.web.fleet import Fleet
from tests.web.in_browser.charts_on import resource_path
from tests.web.in_browser.visit import Visit, visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_login_opens_the_overview_with_what_is_congested(tab: Visit) -> None:
    expect(tab.page.get_by_role("heading", level=1)).to_have_text("nfs-07 is congested")


def test_operator_approves_after_being_asked_once(tab: Visit, fleet: Fleet) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    tab.go("/")
    tab.page.get_by_role("link", name="Review").click()

    tab.page.get_by_role("button", name="Approve…").click()
    expect(tab.page.get_by_role("dialog")).to_contain_text("will change on 3 hosts")
    expect(tab.page.get_by_role("dialog")).to_contain_text("One of them gets it first")
    tab.page.get_by_role("button", name="Approve and publish").click()

    expect(tab.page.locator(".messages")).to_contain_text(
        "Approved. Version 1 of the policy of nfs-07 is approved, not published: "
        "kvm-01 gets it in a later stage"
    )
    advice.refresh_from_db()
    assert advice.state == RecommendationState.APPROVED
    assert Policy.objects.filter(resource=fleet.resources["nfs-07"]).count() == 1


@pytest.mark.parametrize("organisation", ["Northgate", "Northgate Hosting and Cloud Services"])
def test_header_is_one_line_on_a_laptop(tab: Visit, fleet: Fleet, organisation: str) -> None:
    fleet.organisation.name = organisation
    fleet.organisation.save()
    # The widest font that is common on Linux.
    tab.go("/")
    tab.page.evaluate(
        """() => {
            const sheet = new CSSStyleSheet();
            sheet.replaceSync("* { font-family: 'DejaVu Sans' !important; }");
            document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
        }"""
    )

    middles = tab.page.evaluate(
        """() => [".brand", ".site-nav", ".search", ".site-tools .menu"]
            .map(one => document.querySelector(one).getBoundingClientRect())
            .map(box => (box.top + box.bottom) / 2)"""
    )
    ends = tab.page.evaluate(
        """() => [document.documentElement.scrollWidth,
            document.querySelector(".site-nav ul").getBoundingClientRect().right,
            document.querySelector(".search").getBoundingClientRect().left]"""
    )

    assert max(middles) - min(middles) < 4
    assert ends[0] <= 1280
    assert ends[1] < ends[2]


def test_escape_closes_a_menu_and_returns_the_focus(tab: Visit) -> None:
    summary = tab.page.locator(".site-tools .menu > summary")
    summary.press("Enter")
    tab.page.keyboard.press("Tab")
    expect(tab.page.get_by_role("link", name="Members")).to_be_focused()

    tab.page.keyboard.press("Escape")

    expect(tab.page.get_by_role("button", name="Shortcuts and help")).to_be_hidden()
    expect(summary).to_be_focused()


def test_rejection_without_a_reason_is_held_back_by_the_form(tab: Visit) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    tab.go(f"/recommendations/{advice.pk}/")

    tab.page.get_by_role("button", name="Reject…").click()
    tab.page.get_by_role("button", name="Reject", exact=True).click()
    expect(tab.page.get_by_role("dialog")).to_be_visible()
    tab.page.get_by_label("In your words").fill("batch-3 moves on Monday")
    tab.page.get_by_role("button", name="Reject", exact=True).click()

    expect(tab.page.locator(".lead").first).to_contain_text("“batch-3 moves on Monday”")


def test_policy_is_rolled_back_after_being_asked_once(tab: Visit, fleet: Fleet) -> None:
    tab.go(resource_path(fleet, "kvm-02/eno1"))

    tab.page.get_by_role("button", name="Roll back to none").click()
    expect(tab.page.get_by_role("dialog")).to_contain_text("on 1 host with an agent")
    tab.page.get_by_role("button", name="Roll back", exact=True).click()

    expect(tab.page.locator(".messages")).to_contain_text("Version 2 repeats version 0")


def test_devices_of_a_resource_are_read_when_they_come_into_view(tab: Visit, fleet: Fleet) -> None:
    at = fleet.resources["nfs-07"].attachments.order_by("host__name").first()
    assert at is not None

    tab.go(resource_path(fleet, "nfs-07"))

    devices = tab.page.locator("#resource-devices")
    devices.scroll_into_view_if_needed()
    expect(devices.get_by_role("rowheader").first).to_have_text(f"{at.host.name}:{at.device}")
    expect(devices).not_to_contain_text("Reading the last day")


def test_keys_lead_to_pages_search_and_help(tab: Visit, fleet: Fleet) -> None:
    for keys, path in (
        ("gr", "recommendations/"),
        ("gh", "hosts/"),
        ("gi", "incidents/"),
        ("go", ""),
    ):
        tab.page.keyboard.press(keys[0])
        tab.page.keyboard.press(keys[1])
        tab.page.wait_for_url(f"{tab.address}/{path}")

    tab.page.keyboard.press("?")
    expect(tab.page.get_by_role("dialog")).to_contain_text("Go to the overview")
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("/")
    expect(tab.page.get_by_role("searchbox")).to_be_focused()
    tab.page.keyboard.type("nfs")
    expect(tab.page.locator("#search-results a").first).to_contain_text("nfs-07")
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Enter")

    tab.page.wait_for_url(f"{tab.address}{resource_path(fleet, 'nfs-07')}")


def test_letters_typed_into_a_field_are_no_keys(tab: Visit) -> None:
    tab.page.get_by_role("searchbox").click()

    tab.page.keyboard.type("gh?")

    expect(tab.page.get_by_role("searchbox")).to_have_value("gh?")
    assert tab.page.url == f"{tab.address}/"


def test_overview_renews_itself_in_place(tab: Visit, fleet: Fleet) -> None:
    table = tab.page.locator("#heat-table")
    table.locator("summary").click()
    fleet.resources["nfs-07"].name = "nfs-07-renamed"
    fleet.resources["nfs-07"].save()

    # The page asks every ten seconds; what was opened stays open.
    heading = tab.page.get_by_role("heading", level=1)
    expect(heading).to_have_text("nfs-07-renamed is congested", timeout=20_000)

    expect(table).to_have_attribute("open", "")


def test_page_says_since_when_it_is_not_renewed(
    chromium: Browser, server: str, fleet: Fleet
) -> None:
    with visit(chromium, server) as tab:
        tab.log_in("viewer")
        tab.page.route("**/*", lambda route: route.abort())

        expect(tab.page.locator("#live-note")).to_contain_text("Not updated since", timeout=20_000)

        tab.page.unroute("**/*")
        expect(tab.page.locator("#live-note")).to_be_hidden(timeout=20_000)


@pytest.mark.parametrize("width", [360, 2560])
def test_pages_fit_small_and_large_screens(
    chromium: Browser, server: str, fleet: Fleet, width: int
) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    paths = ["/", resource_path(fleet, "nfs-07"), f"/recommendations/{advice.pk}/", "/incidents/",
             "/hosts/", f"/hosts/{fleet.hosts['kvm-02'].pk}/"]  # fmt: skip
    too_wide = []
    with visit(chromium, server, size={"width": width, "height": 800}) as tab:
        tab.log_in("operator")
        for path in paths:
            tab.go(path)
            if tab.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                too_wide.append(path)

    assert too_wide == []
