"""What people do in a real Chromium: log in, look, zoom, decide; the console stays empty."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import global_settings
from django.db import connection
from django.utils import timezone
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from pytest_django import DjangoDbBlocker, Settings

from advisor.models import Policy, Recommendation, RecommendationState
from ingest.partitions import TABLES
from tests.lanes import find_browser
from tests.web.browser import DESKTOP, Visit, visit, web_server
from tests.web.fleet import Fleet
from tests.web.scenario import noisy_neighbour

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LARGEST_SCREENSHOT_BYTES = 200_000
SCREENSHOTS = os.environ.get("SLUICE_SCREENSHOT_DIR")
"""Where the README's screenshots are written; without it they go with the test."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        program = find_browser()
        # As root Chromium runs without its sandbox only.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    log = tmp_path_factory.mktemp("web") / "server.log"
    with django_db_blocker.unblock(), web_server(log) as address:
        yield address


@pytest.fixture
def committed(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> Iterator[None]:
    """What a test writes is seen by the server; the sample tables are emptied after it."""
    # The server has the product's settings, so passwords are hashed as those say.
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    # Playwright keeps an event loop in this thread, which Django would take for async code.
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    yield
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"TRUNCATE {table}")


@pytest.fixture
def fleet(committed: None) -> Fleet:
    return noisy_neighbour(timezone.now(), hours=1.5)


@pytest.fixture
def tab(chromium: Browser, server: str, fleet: Fleet) -> Iterator[Visit]:
    """The operator's tab, logged in, with nothing to complain about at the end."""
    with visit(chromium, server) as opened:
        opened.log_in("operator")
        yield opened
    assert opened.complaints == []


def resource_path(fleet: Fleet, name: str) -> str:
    return f"/resources/{fleet.resources[name].pk}/"


def plot(page: Page, key: str) -> Locator:
    return page.locator(f"[data-chart={key}] canvas")


def colours_in(canvas: Locator) -> int:
    """How many different colours a canvas shows; one or two would be an empty chart."""
    return canvas.evaluate(
        """canvas => {
            const { width, height } = canvas;
            const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
            const seen = new Set();
            for (let at = 0; at < pixels.length; at += 4)
                seen.add((pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2]);
            return seen.size;
        }"""
    )


def wait_for_charts(page: Page) -> None:
    expect(page.locator("[data-live-mark]")).not_to_have_text("Loading")
    expect(plot(page, "level")).to_be_visible()


def test_login_opens_the_overview_with_what_is_congested(tab: Visit) -> None:
    expect(tab.page.get_by_role("heading", level=1)).to_have_text("nfs-07 is congested")


def test_charts_of_a_datastore_are_drawn_and_live(tab: Visit, fleet: Fleet) -> None:
    tab.go(resource_path(fleet, "nfs-07"))

    wait_for_charts(tab.page)

    for key in ("level", "workloads", "iops", "throughput"):
        assert colours_in(plot(tab.page, key)) > 10
    expect(tab.page.locator("[data-live-mark]")).to_contain_text("Live, every 10 s")
    expect(tab.page.locator("[data-chart=workloads] .chart-legend")).to_contain_text("batch-3")
    described = tab.page.locator("[data-chart=level] .chart-plot").get_attribute("aria-label")
    assert described is not None
    assert "threshold 15.0 ms" in described


def test_drag_zooms_all_charts_and_the_address_holds_it(tab: Visit, fleet: Fleet) -> None:
    tab.go(resource_path(fleet, "nfs-07"))
    wait_for_charts(tab.page)
    box = tab.page.locator("[data-chart=level] .u-over").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2

    tab.page.mouse.move(box["x"] + box["width"] * 0.25, middle)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + box["width"] * 0.5, middle, steps=5)
    tab.page.mouse.up()

    tab.page.wait_for_url("**/?from=*&to=*")
    expect(tab.page.locator("[data-live-mark]")).to_have_text("Fixed range")
    expect(tab.page.locator(".choices [aria-current]")).to_have_count(0)
    tab.page.locator("[data-chart=level] .u-over").dblclick()
    tab.page.wait_for_url("**/?range=1h")
    expect(tab.page.locator("[data-live-mark]")).to_contain_text("Live")


def test_pointer_is_shared_by_all_charts(tab: Visit, fleet: Fleet) -> None:
    tab.go(resource_path(fleet, "nfs-07"))
    wait_for_charts(tab.page)
    newest = tab.page.locator("[data-chart=iops] .chart-legend li").first
    expect(newest).to_contain_text("newest")

    tab.page.locator("[data-chart=level] .u-over").hover(position={"x": 200, "y": 50})

    expect(newest).not_to_contain_text("newest")


def test_chart_is_had_as_table_csv_and_picture(tab: Visit, fleet: Fleet, tmp_path: Path) -> None:
    tab.go(resource_path(fleet, "nfs-07"))
    wait_for_charts(tab.page)
    chart = tab.page.locator("[data-chart=iops]")

    chart.get_by_role("button", name="Table").click()
    with tab.page.expect_download() as table:
        chart.get_by_role("link", name="CSV").click()
    with tab.page.expect_download() as picture:
        chart.get_by_role("button", name="PNG").click()

    expect(chart.locator("tbody tr").first.locator("th")).to_contain_text("20")
    rows = list(csv.reader(Path(table.value.path()).read_text().splitlines()))
    assert rows[0] == ["time", "read (iops)", "written (iops)"]
    assert picture.value.suggested_filename == "nfs-07-iops.png"
    assert Path(picture.value.path()).read_bytes().startswith(b"\x89PNG")


def test_operator_approves_after_being_asked_once(tab: Visit, fleet: Fleet) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    tab.go("/")
    tab.page.get_by_role("link", name="See the recommendation").click()

    tab.page.get_by_role("button", name="Approve…").click()
    expect(tab.page.get_by_role("dialog")).to_contain_text("will change on 3 hosts")
    tab.page.get_by_role("button", name="Approve and publish").click()

    expect(tab.page.locator(".messages")).to_contain_text("Approved: version 1")
    advice.refresh_from_db()
    assert advice.state == RecommendationState.APPROVED
    assert Policy.objects.filter(resource=fleet.resources["nfs-07"]).count() == 1


def test_rejection_without_a_reason_is_held_back_by_the_form(tab: Visit) -> None:
    advice = Recommendation.objects.get(state=RecommendationState.PROPOSED)
    tab.go(f"/recommendations/{advice.pk}/")

    tab.page.get_by_role("button", name="Reject…").click()
    tab.page.get_by_role("button", name="Reject", exact=True).click()
    expect(tab.page.get_by_role("dialog")).to_be_visible()
    tab.page.get_by_label("Reason").fill("batch-3 moves on Monday")
    tab.page.get_by_role("button", name="Reject", exact=True).click()

    expect(tab.page.locator(".lead")).to_contain_text("“batch-3 moves on Monday”")


def test_policy_is_rolled_back_after_being_asked_once(tab: Visit, fleet: Fleet) -> None:
    tab.go(resource_path(fleet, "kvm-02/eno1"))

    tab.page.get_by_role("button", name="Roll back to none").click()
    expect(tab.page.get_by_role("dialog")).to_contain_text("on 1 host with an agent")
    tab.page.get_by_role("button", name="Roll back", exact=True).click()

    expect(tab.page.locator(".messages")).to_contain_text("Version 2 is in force")


def test_keys_lead_to_pages_search_and_help(tab: Visit, fleet: Fleet) -> None:
    for keys, path in (
        ("gr", "recommendations/"),
        ("gh", "hosts/"),
        ("ge", "episodes/"),
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
    paths = ["/", resource_path(fleet, "nfs-07"), f"/recommendations/{advice.pk}/", "/episodes/",
             "/hosts/", f"/hosts/{fleet.hosts['kvm-02'].pk}/"]  # fmt: skip
    too_wide = []
    with visit(chromium, server, size={"width": width, "height": 800}) as tab:
        tab.log_in("operator")
        for path in paths:
            tab.go(path)
            if tab.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                too_wide.append(path)

    assert too_wide == []


def test_charts_do_not_move_the_page_when_their_data_comes(tab: Visit, fleet: Fleet) -> None:
    tab.page.add_init_script(
        """window.shift = 0; new PerformanceObserver(list => list.getEntries().forEach(entry => {
            if (!entry.hadRecentInput) window.shift += entry.value;
        })).observe({ type: "layout-shift", buffered: true });"""
    )
    tab.go(resource_path(fleet, "nfs-07"))
    wait_for_charts(tab.page)

    # Below 0.1 counts as good; legends below a chart are the only thing that may grow.
    assert tab.page.evaluate("window.shift") < 0.02


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

    assert tab.complaints == []
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(17, 22, 28)"}[scheme]
