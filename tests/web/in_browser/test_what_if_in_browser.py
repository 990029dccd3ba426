"""What-if, cause and replay in a real Chromium: live answers, sliders, keys; an empty console."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from advisor.models import Incident, Recommendation, RecommendationState
from tests.web.fleet import Fleet
from tests.web.in_browser.charts_on import colours_in, resource_path
from tests.web.in_browser.visit import DESKTOP, Visit, visit
from tests.web.many_allocations import shared_datastore

pytestmark = [pytest.mark.browser, pytest.mark.slow]


PHONE: ViewportSize = {"width": 390, "height": 844}


def key_of(fleet: Fleet, resource: str, workload: str) -> int:
    return int(fleet.resources[resource].allocations.get(workload__name=workload).pk)


def control(page: Page, fleet: Fleet, name: str, workload: str) -> str:
    return f"#{name}-{key_of(fleet, 'nfs-07', workload)}"


def what_if(tab: Visit, fleet: Fleet) -> None:
    tab.go(f"/resources/{fleet.resources['nfs-07'].pk}/what-if/?hours=1")


def test_answer_follows_a_typed_number_and_the_address_holds_it(tab: Visit, fleet: Fleet) -> None:
    what_if(tab, fleet)
    limit = control(tab.page, fleet, "limit", "batch-3")

    tab.page.locator(limit).fill("500")

    expect(tab.page.locator("#what-if-answer")).to_contain_text("Limit of batch-3 none → 500 IOPS")
    expect(tab.page.locator(f"{limit}-slider")).to_have_js_property("value", "500")
    assert f"{limit.removeprefix('#')}=500" in tab.page.url
    tab.page.reload()
    expect(tab.page.locator(limit)).to_have_value("500")


def test_slider_is_moved_by_keys_and_writes_the_number(tab: Visit, fleet: Fleet) -> None:
    what_if(tab, fleet)
    shares = control(tab.page, fleet, "shares", "db-orders")

    tab.page.locator(f"{shares}-slider").focus()
    tab.page.keyboard.press("ArrowRight")

    expect(tab.page.locator(shares)).to_have_value("2050")
    expect(tab.page.locator("#what-if-answer")).to_contain_text("Shares of db-orders 1000 → 2050")


def test_slider_says_what_its_ends_mean(tab: Visit, fleet: Fleet) -> None:
    what_if(tab, fleet)
    slider = tab.page.locator(f"{control(tab.page, fleet, 'limit', 'batch-3')}-slider")
    expect(slider).to_have_attribute("aria-valuetext", "no limit")

    slider.press("PageDown")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^4\d\d0 IOPS$"))

    slider.press("End")
    expect(slider).to_have_attribute("aria-valuetext", "no limit")


def test_refused_number_is_marked_until_it_is_mended(tab: Visit, fleet: Fleet) -> None:
    what_if(tab, fleet)
    limit = tab.page.locator(control(tab.page, fleet, "limit", "db-orders"))

    limit.fill("100")
    expect(tab.page.get_by_role("alert")).to_contain_text("Limit of db-orders is below")
    expect(limit).to_have_attribute("aria-invalid", "true")
    expect(limit).to_have_attribute("aria-describedby", "what-if-errors")

    limit.fill("2000")
    expect(tab.page.get_by_role("alert")).to_have_count(0)
    expect(limit).not_to_have_attribute("aria-invalid", "true")


def test_slider_of_a_tier_moves_its_workloads_and_the_address_names_it_alone(
    chromium: Browser, server: str, fleet: Fleet
) -> None:
    with visit(chromium, server) as tab:
        tab.log_in("operator")
        tab.go(f"{resource_path(fleet, 'nfs-07')}what-if/?hours=1")

        slider = tab.page.locator("#tier-low-slider")
        slider.focus()
        slider.press("ArrowRight")

        # One step of 50 above 500.
        own = f"#shares-{key_of(fleet, 'nfs-07', 'batch-3')}"
        expect(tab.page.locator(own)).to_have_value("550")
        tab.page.wait_for_url("**?hours=1&tier-low=550")
    assert tab.complaints == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_answer_for_a_hundred_workloads_is_seen_with_the_row_that_is_changed(
    chromium: Browser, server: str, fleet: Fleet, size: ViewportSize
) -> None:
    fleet.resources["pool"] = shared_datastore(fleet, "pool", allocations=100)
    with visit(chromium, server, size=size) as tab:
        tab.log_in("operator")
        tab.go(f"{resource_path(fleet, 'pool')}what-if/?hours=1")
        rows = tab.page.locator("#what-if-rows tbody tr")
        filter_box = tab.page.get_by_label("Show workloads or hosts named")
        shares = f"#shares-{key_of(fleet, 'pool', 'pool-vm-077')}"

        filter_box.fill("VM-077")
        expect(rows.filter(visible=True)).to_have_count(1)
        expect(tab.page.locator(".row-filter")).to_contain_text("1 of 100")
        tab.page.locator(shares).fill("4000")

        verdict = tab.page.locator("#what-if-verdict")
        expect(verdict.locator(".lead")).to_contain_text("pool-vm-077 gains")
        expect(verdict.get_by_role("button", name="Save as policy draft…")).to_be_in_viewport()
        expect(verdict.locator(".lead")).to_be_in_viewport()
        expect(tab.page.locator(shares)).to_be_in_viewport()
        # The address holds what was changed, however many rows there are.
        assert tab.page.url.endswith(f"?hours=1&{shares.removeprefix('#')}=4000")
        tab.page.get_by_role("button", name="Compute").click()
        tab.page.wait_for_url(f"**?hours=1&{shares.removeprefix('#')}=4000")
        expect(tab.page.locator(shares)).to_have_value("4000")
        # All of it, tables folded up and boxed, is a few screens instead of a hundred rows.
        screens = tab.page.evaluate("document.documentElement.scrollHeight / innerHeight")
        assert screens < 6
        assert tab.complaints == []


def test_draft_is_saved_after_being_asked_once(tab: Visit, fleet: Fleet) -> None:
    what_if(tab, fleet)
    tab.page.locator(control(tab.page, fleet, "limit", "batch-3")).fill("1500")
    expect(tab.page.locator("#what-if-answer")).to_contain_text("none → 1500 IOPS")

    tab.page.get_by_role("button", name="Save as policy draft…").click()
    expect(tab.page.get_by_role("dialog")).to_contain_text("takes the place of the open")
    tab.page.get_by_role("button", name="Save draft").click()

    expect(tab.page.locator(".messages")).to_contain_text("Saved as a draft")
    draft = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    assert draft.kind == "what_if"


def test_cause_of_an_incident_comes_by_itself(tab: Visit, fleet: Fleet) -> None:
    incident = Incident.objects.get(ended_at=None)

    tab.go(f"/incidents/{incident.pk}/")

    expect(tab.page.locator("#cause")).to_contain_text("Confidence")
    expect(tab.page.locator("#cause tbody tr").first).to_contain_text("batch-3")


def test_replay_plays_pauses_and_is_moved_by_keys(tab: Visit) -> None:
    tab.go("/replay/netioc-traffic-classes/")
    play = tab.page.get_by_role("button", name="Play")
    expect(play).to_be_enabled()
    assert colours_in(tab.page.locator("[data-panel='0'] canvas")) > 10

    tab.page.get_by_label("The whole in").select_option("5")
    play.click()
    expect(tab.page.get_by_role("button", name="Pause")).to_be_visible()
    expect(tab.page.locator("[data-phase]")).to_contain_text("+ vMotion", timeout=15_000)
    expect(play).to_be_visible(timeout=15_000)
    expect(tab.page.locator("[data-played]")).to_have_text("120 s")

    tab.page.locator("#position").focus()
    tab.page.keyboard.press("Home")
    expect(tab.page.locator("[data-played]")).to_have_text("0 s")
    tab.page.keyboard.press("Space")
    expect(tab.page.get_by_role("button", name="Pause")).to_be_visible()


def test_figure_over_a_scale_is_drawn_without_a_player(tab: Visit) -> None:
    tab.go("/replay/vmfs-hosts-per-lun/")

    expect(tab.page.locator("[data-lines='0'] canvas")).to_be_visible()
    assert colours_in(tab.page.locator("[data-lines='0'] canvas")) > 10


@pytest.mark.parametrize("width", [360, 2560])
def test_pages_fit_small_and_large_screens(tab: Visit, fleet: Fleet, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 800})
    resource = fleet.resources["nfs-07"].pk
    too_wide = []
    for path in (f"/resources/{resource}/what-if/", "/replay/", "/replay/sioc-nfs-shares/",
                 "/replay/sioc-ssd-tiers/"):  # fmt: skip
        tab.go(path)
        if tab.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            too_wide.append(path)

    assert too_wide == []
