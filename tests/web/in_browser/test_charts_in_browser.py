"""Charts in a real Chromium: drawn, live, zoomed, taken away; the console stays empty."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from playwright.sync_api import Response, expect

from tests.web.fleet import Fleet
from tests.web.in_browser.charts_on import colours_in, plot, resource_path, wait_for_charts
from tests.web.in_browser.visit import Visit
from tests.web.many_allocations import shared_datastore

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_charts_of_a_datastore_are_drawn_and_live(tab: Visit, fleet: Fleet) -> None:
    tab.go(resource_path(fleet, "nfs-07"))

    wait_for_charts(tab.page)

    for key in ("level", "workloads", "outstanding", "iops", "throughput"):
        assert colours_in(plot(tab.page, key)) > 10
    expect(tab.page.locator("[data-live-mark]")).to_contain_text("Live, every 10 s")
    expect(tab.page.locator("[data-chart=workloads] .chart-legend")).to_contain_text("batch-3")
    described = tab.page.locator("[data-chart=level] .chart-plot").get_attribute("aria-label")
    assert described is not None
    assert "threshold 15.0 ms" in described


def test_open_page_fetches_what_is_new_alone(tab: Visit, fleet: Fleet) -> None:
    charts = f"/api/v1/resources/{fleet.resources['nfs-07'].pk}/charts?"

    def is_of_charts(answer: Response) -> bool:
        return charts in answer.url

    with tab.page.expect_response(is_of_charts) as at_first:
        tab.go(resource_path(fleet, "nfs-07"))
    first = at_first.value.json()
    with tab.page.expect_response(is_of_charts, timeout=60_000) as afterwards:
        pass
    later = afterwards.value.json()

    # An hour on a screen of this width. Three cells may still change, so it goes on after the
    # fourth from the end, and every step brings one more.
    assert len(first["t"]) > 100
    assert later["step_s"] == first["step_s"]
    assert later["t"][0] == first["t"][-3]
    passed = (later["t"][-1] - first["t"][-1]) // first["step_s"]
    assert len(later["t"]) == 3 + passed


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


def test_stack_of_many_workloads_shows_the_busiest(tab: Visit, fleet: Fleet) -> None:
    shared_datastore(fleet, "pool", allocations=20)
    tab.go(resource_path(fleet, "pool"))
    wait_for_charts(tab.page)
    chart = tab.page.locator("[data-chart=workloads]")

    legend = chart.locator(".chart-legend li").all_text_contents()
    chart.get_by_role("button", name="Table").click()

    # The time, the seven busiest, the others in sum, and what no allocation explains.
    assert len(legend) == 10
    assert legend[8].startswith("13 others, in the table")
    marks = chart.locator(".chart-legend .series-mark")
    drawn = marks.evaluate_all("all => all.map(one => getComputedStyle(one).backgroundColor)")
    assert len(set(drawn)) == len(drawn) == 9
    expect(chart.locator(".chart-table thead th")).to_have_count(1 + 20 + 1)


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
