"""Pages on a phone in a real Chromium: nothing is cut off, whatever workloads are called."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import Browser, ViewportSize

from advisor.advice.policy.recommend import recommend
from advisor.models import Incident, Recommendation, Resource, ResourceKind, Tier, Workload
from advisor.pipeline.detect import detect
from advisor.pipeline.look_outside import look_where_due
from ingest.models import Host
from tests.web.fleet import Fleet
from tests.web.in_browser.visit import DESKTOP, Visit, visit
from tests.web.load import Recorder, steady

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE: ViewportSize = {"width": 390, "height": 844}
SMALLEST: ViewportSize = {"width": 360, "height": 740}
LONG = "customer-portal-production-frankfurt-availability-zone-{:05}"
CUT_OFF = """[document.documentElement, ...document.querySelectorAll(".table-scroll")]
    .filter(one => one === document.documentElement || one.querySelector(".stacks"))
    .filter(one => one.scrollWidth > one.clientWidth + 1)
    .map(one => `${one.textContent.trim().slice(0, 30)}: ${one.scrollWidth} > ${one.clientWidth}`)
"""
# Fonts differ in how wide they are, and which are installed is not ours to say. A mean glyph of
# the page's font is measured, and 30 % of it is added after every glyph; what is answered is how
# much wider the text then is. The style sheet is made by script, as the pages allow no other.
WIDEN = """() => {
    const probe = document.createElement("span");
    probe.textContent = "The five boxing wizards jump quickly over 0123456789 hosts";
    probe.style.cssText = "position: absolute; white-space: pre; font-size: 100px";
    document.body.append(probe);
    const width = probe.getBoundingClientRect().width;
    const glyph_em = width / probe.textContent.length / 100;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`* { letter-spacing: ${0.3 * glyph_em}em !important; }`);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    const widened = probe.getBoundingClientRect().width;
    probe.remove();
    return widened / width;
}"""


@pytest.fixture
def long_names(fleet: Fleet) -> Resource:
    """A congested datastore on which hosts and workloads have names of 60 characters."""
    hosts = [fleet.add_host(LONG.format(one), last_sample_at=fleet.now) for one in (1, 2)]
    resource = fleet.add_resource(
        LONG.format(7), ResourceKind.DATASTORE, capacity=3000.0, threshold=15.0,
        attachments=tuple((host.name, "sdb") for host in hosts),
    )  # fmt: skip
    recorder = Recorder(since=fleet.now - timedelta(hours=1.2), until=fleet.now)
    loads = ((hosts[0], 900, Tier.HIGH, 1000.0), (hosts[1], 1900, Tier.LOW, 0.0))
    for number, (host, iops, tier, reservation) in enumerate(loads):
        allocation = fleet.add_allocation(
            resource, LONG.format(100 + number), host.name, tier, reservation=reservation
        )
        load = steady(iops, seed=number)
        recorder.cgroup(host, allocation.adapter, "sdb", iops=load)
        recorder.pressure(host, allocation.adapter, waiting=steady(0.5, seed=10 + number))
        recorder.disk(host, "sdb", iops=load, latency_ms=steady(30, seed=20))
    recorder.write()
    detect(resource=resource, now=fleet.now)
    look_where_due(resource=resource, now=fleet.now)
    assert isinstance(recommend(resource=resource, now=fleet.now), Recommendation)
    return resource


def paths(resource: Resource) -> list[str]:
    advice = Recommendation.objects.get(resource=resource)
    incident = Incident.objects.get(resource=resource)
    host = Host.objects.get(name=LONG.format(1))
    workload = Workload.objects.get(name=LONG.format(100))
    uplink = Resource.objects.filter(kind=ResourceKind.UPLINK).first()
    assert uplink is not None
    today = incident.started_at.date()
    return [
        "/",
        "/recommendations/",
        f"/recommendations/{advice.pk}/",
        "/incidents/",
        f"/incidents/{incident.pk}/",
        f"/incidents/{incident.pk}/cause/",
        f"/incidents/{incident.pk}/layers/",
        f"/incidents/{incident.pk}/timeline/",
        "/calibration/",
        "/enforcement/",
        "/hosts/",
        f"/hosts/{host.pk}/",
        f"/workloads/{workload.pk}/",
        f"/resources/{resource.pk}/",
        f"/resources/{resource.pk}/what-if/?hours=1",
        f"/resources/{uplink.pk}/",
        f"/resources/{uplink.pk}/what-if/?hours=1",
        "/health-of-sluice/",
        f"/reports/?period=days&first={today}&last={today}",
        "/reports/sent/",
        "/hosts/connect/",
        "/settings/members/",
        "/settings/profile/",
        "/settings/tokens/",
        "/settings/ladder/",
        "/settings/maintenance/",
        "/settings/rules/",
        "/settings/audit/",
        "/settings/notifications/",
        "/settings/sources/",
        "/replay/",
        "/replay/sioc-nfs-shares/",
        "/search/?q=customer",
        "/search/?q=nothing-of-this-name",
        "/no-such-page/",
        "/docs/",
        "/docs/settings/",
        "/docs/troubleshooting/",
        "/docs/search?q=lease",
    ]


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(DESKTOP, marks=pytest.mark.long),
        pytest.param(PHONE, marks=pytest.mark.long),
        SMALLEST,
    ],
    ids=lambda size: f"{size['width']} px",
)
def test_long_names_push_nothing_off_the_screen(
    chromium: Browser, server: str, long_names: Resource, size: ViewportSize
) -> None:
    cut_off = {}
    with visit(chromium, server, size=size) as tab:
        for path in ["/login/", *paths(long_names)]:
            if path == "/":
                tab.log_in("owner")
            tab.go(path)
            tab.page.wait_for_load_state("networkidle")
            cut_off[path, "as installed"] = tab.page.evaluate(CUT_OFF)
            widened = tab.page.evaluate(WIDEN)
            cut_off[path, "widened"] = tab.page.evaluate(CUT_OFF)

            assert widened == pytest.approx(1.3, abs=0.005), path

    assert {place: found for place, found in cut_off.items() if found} == {}
    assert [
        said for said in tab.complaints if "no-such-page" not in said and "404" not in said
    ] == []


def test_rows_of_a_phone_are_a_table_to_a_screen_reader(tab: Visit, fleet: Fleet) -> None:
    tab.page.set_viewport_size(PHONE)
    tab.go(f"/resources/{fleet.resources['nfs-07'].pk}/")

    tree = tab.page.context.new_cdp_session(tab.page).send("Accessibility.getFullAXTree")
    said = {
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree["nodes"]
        if not node["ignored"]
    }

    assert {("columnheader", "Reservation IOPS"), ("rowheader", "db-orders")} <= said
    assert ("cell", "1500") in said


def test_long_dialog_begins_with_what_it_says(tab: Visit, fleet: Fleet) -> None:
    advice = Recommendation.objects.get(state="proposed")
    tab.page.set_viewport_size(PHONE)
    tab.go(f"/recommendations/{advice.pk}/")

    tab.page.get_by_role("button", name="Approve…").click()

    dialog = tab.page.get_by_role("dialog")
    assert dialog.evaluate("one => one.scrollHeight > one.clientHeight")
    assert dialog.evaluate("one => one.scrollTop") == 0
