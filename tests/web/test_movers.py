"""Which workloads changed most against an earlier time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from advisor.history.stored.seal import seal
from advisor.models import Workload
from advisor.pipeline.groups import judge_all
from advisor.queries.likely_movers import likely_movers
from advisor.queries.movers import PER_KIND, Mover, largest
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of
from tests.web.many_allocations import shared_datastore

ONE = Mover(
    pk=1, name="a", resource_pk=1, resource="r", kind="datastore", unit="iops", now=1.0, then=0.0
)
MOVERS = st.lists(
    st.builds(
        lambda name, unit, now, then: replace(ONE, name=name, unit=unit, now=now, then=then),
        st.text("abc", min_size=1, max_size=3),
        st.sampled_from(["iops", "bits_per_s"]),
        st.floats(0, 1e9),
        st.floats(0, 1e9),
    ),
    max_size=30,
)


@given(movers=MOVERS)
def test_no_left_out_mover_changed_more_than_a_chosen_one_of_its_unit(movers: list[Mover]) -> None:
    chosen = largest(movers)

    for unit in ("iops", "bits_per_s"):
        own = [abs(one.change) for one in chosen if one.unit == unit]
        every = sorted((abs(one.change) for one in movers if one.unit == unit), reverse=True)
        assert own == [change for change in every if change][:PER_KIND]


@given(movers=MOVERS, order=st.randoms(use_true_random=False))
def test_order_of_the_rows_changes_no_figure(movers: list[Mover], order: object) -> None:
    mixed = list(movers)
    order.shuffle(mixed)  # type: ignore[attr-defined]  # hypothesis gives a Random

    def figures(found: list[Mover]) -> list[tuple[str, float]]:
        return [(one.unit, abs(one.change)) for one in found]

    assert figures(largest(mixed)) == figures(largest(movers))


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    cache.clear()


def movers_of(viewer: Client, against: str = "hour") -> Page:
    """The part of the overview that its page asks for once it is shown."""
    asked = {"part": "movers", "against": against}
    return page_of(viewer.get("/", asked, headers={"HX-Request": "true"}))


def test_overview_does_not_wait_for_movers_and_asks_for_them(viewer: Client, fleet: Fleet) -> None:
    first = page_of(viewer.get("/")).find("div", id="overview-movers")
    movers_of(viewer)
    second = page_of(viewer.get("/")).find("div", id="overview-movers")

    assert first["hx-trigger"] == "load, every 60s"
    assert "Comparing the rates of all workloads…" in first.all_text()
    # Remembered for the minute: unless a new one has just begun, they are there at once.
    assert second["hx-trigger"] in {"every 60s", "load, every 60s"}
    assert ("batch-3" in second.all_text()) == (second["hx-trigger"] == "every 60s")


def test_browser_without_scripts_gets_the_movers_by_a_link(viewer: Client, fleet: Fleet) -> None:
    link = "/?movers=1&amp;against=hour#overview-movers"
    assert link in viewer.get("/").content.decode()

    shown = viewer.get("/?movers=1").content.decode()

    assert "batch-3" in shown[shown.index('id="overview-movers"') :].partition("</table>")[0]


def test_noisy_neighbour_is_the_top_mover_of_the_hour(viewer: Client, fleet: Fleet) -> None:
    page = movers_of(viewer)

    # It began 42 minutes ago: 4 % of 3300 IOPS then, all of it now; beside it 4 % of the 3050 of
    # the backup, whose time is the night.
    resource, then, now, change = page.row("table", "batch-3")
    assert resource == "nfs-07"
    assert float(then.removesuffix(" IOPS")) == pytest.approx(254, rel=0.1)
    assert float(now.removesuffix(" IOPS")) == pytest.approx(3422, rel=0.1)
    assert change.startswith("+3")
    rows = [one.all_text().strip() for one in page.elements("th")]
    storage = rows.index("batch-3")
    # All others on it are squeezed, so each of them has fallen by less.
    assert set(rows[storage + 1 : storage + 5]) == {"db-orders", "web-shop", "mail-1", "report-2"}


def test_yesterday_without_samples_says_so(viewer: Client, fleet: Fleet) -> None:
    page = page_of(viewer.get("/", {"against": "day"}))

    part = movers_of(viewer, "day").all_text()
    assert "No workload was measured both now and this time yesterday" in part
    (link,) = [one for one in page.elements("a") if one.all_text() == "this time yesterday"]
    assert (link["href"], link["aria-current"]) == ("?against=day", "true")


def test_movers_are_the_same_where_only_the_likely_ones_are_read(
    viewer: Client, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("advisor.queries.likely_movers.LIKELY", PER_KIND)
    shared_datastore(fleet, "calm", allocations=40)
    then = fleet.now - timedelta(hours=1)
    every = movers_of(viewer).all_text()
    assert likely_movers(fleet.organisation, now=fleet.now, then=then) is None

    seal(organisation=fleet.organisation, now=fleet.now, limit_s=60.0)
    judge_all(organisation=fleet.organisation, now=fleet.now)
    cache.clear()

    likely = likely_movers(fleet.organisation, now=fleet.now, then=then)
    assert likely is not None
    assert PER_KIND <= len(likely) < 40
    assert movers_of(viewer).all_text() == every


def test_another_organisation_sees_no_mover(outsider: Client, fleet: Fleet) -> None:
    part = outsider.get("/", {"part": "movers"}, headers={"HX-Request": "true"})

    assert "batch-3" not in part.content.decode()


def test_movers_take_no_more_statements_for_more_workloads(viewer: Client, fleet: Fleet) -> None:
    def asked() -> int:
        cache.clear()
        with CaptureQueriesContext(connection) as captured:
            viewer.get("/", {"part": "movers"}, headers={"HX-Request": "true"})
        return len(captured)

    before = asked()
    shared_datastore(fleet, "big", allocations=40)

    assert asked() <= before
    assert Workload.objects.filter(name__startswith="big").count() == 40


def test_hour_before_is_left_out_where_it_was_not_measured(viewer: Client, fleet: Fleet) -> None:
    later = fleet.now - timedelta(minutes=50)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_cgroup_sample WHERE time < %s", [later])

    page = movers_of(viewer)

    assert page.elements("th")
    assert "batch-3" not in [one.all_text().strip() for one in page.elements("th")]
