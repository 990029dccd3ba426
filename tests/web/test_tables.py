"""Lists of workloads, storage, networks and hosts: sorted, filtered, grouped, shared, exported."""

from __future__ import annotations

import csv
from datetime import timedelta
from io import StringIO

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import Membership, Role
from advisor.models import ResourceKind, ResourceStatus, Tier
from tests.web.conftest import client_of
from tests.web.fleet import Fleet, empty_fleet
from tests.web.html import Element, Page, page_of
from tests.web.many_allocations import shared_datastore, shared_uplink

LISTS = ("/workloads/", "/storage/", "/networks/", "/hosts/", "/enforcement/")


def names(page: Page) -> list[str]:
    """The names of the rows, in the order of the page."""
    heads = [one for one in page.elements(".list th") if one.get("scope") == "row"]
    return [head.all_text().strip() for head in heads]


def head(page: Page, title: str) -> Element:
    return next(one for one in page.elements("thead th") if one.all_text().strip() == title)


def column(page: Page, title: str) -> list[str]:
    """The cells below a head, as text."""
    titles = [one.all_text().strip() for one in page.elements("thead th")]
    place = titles.index(title)
    rows = [
        [child for child in row.children if isinstance(child, Element)]
        for row in page.elements("tbody tr")
        if "group" not in row.classes
    ]
    return [row[place].all_text().strip().replace("\N{NO-BREAK SPACE}", " ") for row in rows]


def exported(client: Client, address: str, **query: str) -> list[dict[str, str]]:
    answer = client.get(address, {**query, "format": "csv"})
    assert answer.headers["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(StringIO(answer.content.decode())))


# --- What a row says


def test_row_of_a_workload_says_where_it_runs_and_what_it_does(viewer: Client) -> None:
    page = page_of(viewer.get("/workloads/", {"q": "db-orders"}))

    resource, host, tier, rate, day, state, sample = page.row("table", "db-orders")
    assert (resource, host, tier, state, sample) == (
        "nfs-07", "kvm-01", "high", "congested", "6 s ago",
    )  # fmt: skip
    # The story squeezes 1650 IOPS to 58 % while the neighbour is there.
    assert 800 < float(rate.removesuffix(" IOPS")) < 1200
    assert day.startswith("Rate of db-orders in the last 24 hours, between ")


def test_workload_on_two_resources_has_a_row_on_each(viewer: Client) -> None:
    page = page_of(viewer.get("/workloads/", {"q": "mail-1"}))

    assert names(page) == ["mail-1", "mail-1"]
    assert column(page, "Resource") == ["kvm-02/eno1", "nfs-07"]
    assert [value.split()[-1] for value in column(page, "Rate")] == ["Gbit/s", "IOPS"]


def test_workloads_are_counted_once_and_their_rows_apart(viewer: Client, fleet: Fleet) -> None:
    workloads = fleet.organisation.workloads.exclude(allocations=None).distinct().count()

    page = page_of(viewer.get("/workloads/"))

    # mail-1 has a row on its datastore and one on its uplink.
    rows = len(names(page))
    assert rows > workloads
    assert page.text("h1") == f"{workloads} workloads"
    assert page.text("caption").startswith(f"Workloads: {rows} rows in all.")


def test_row_of_a_datastore_compares_its_level_with_the_threshold(viewer: Client) -> None:
    row = page_of(viewer.get("/storage/")).row("table", "nfs-07")

    state, level, threshold, day, load, workloads, hosts, evaluated = row
    assert (state, threshold, evaluated) == ("congested", "15.0 ms", "now")
    assert workloads == "5 workloads of nfs-07"
    assert float(level.removesuffix(" ms")) > 15
    assert load.endswith("IOPS")
    assert day.startswith("latency of the last 24 hours, between ")
    assert hosts == "kvm-01, kvm-02, kvm-03"


def test_networks_are_the_uplinks_alone(viewer: Client) -> None:
    page = page_of(viewer.get("/networks/"))

    assert names(page) == ["kvm-02/eno1", "kvm-04/eno1"]
    assert page.text("h1") == "2 uplinks"


def test_stale_state_and_samples_say_their_age(viewer: Client, fleet: Fleet) -> None:
    nfs = fleet.resources["nfs-07"]
    ResourceStatus.objects.filter(resource=nfs).update(looked_at=fleet.now - timedelta(minutes=11))
    host = fleet.hosts["kvm-01"]
    host.last_sample_at = fleet.now - timedelta(minutes=7)
    host.save()

    state = page_of(viewer.get("/storage/")).row("table", "nfs-07")[0]
    *_, on_workload, sample = page_of(viewer.get("/workloads/")).row("table", "db-orders")

    gap = "unknown not evaluated for 11 min (background worker is behind)"
    assert (state, on_workload) == (gap, gap)
    assert sample == "7 min ago no samples for 7 min"


def test_rate_that_nobody_measured_says_why(viewer: Client, fleet: Fleet) -> None:
    fleet.add_allocation(fleet.resources["san-02"], "quiet", "kvm-02", Tier.LOW)

    rate = page_of(viewer.get("/workloads/")).row("table", "quiet")[3]

    assert rate.endswith("not measured in the last 2 minutes")


# --- Sorting


def test_list_is_sorted_by_name_at_first_and_says_so(viewer: Client, fleet: Fleet) -> None:
    for number in (2, 10, 9):
        fleet.add_allocation(fleet.resources["san-02"], f"vm-{number}", "kvm-02", Tier.LOW)

    page = page_of(viewer.get("/workloads/", {"q": "vm-"}))

    assert names(page) == ["vm-2", "vm-9", "vm-10"]
    assert head(page, "Workload")["aria-sort"] == "ascending"
    assert head(page, "Tier")["aria-sort"] == "none"


def test_head_leads_to_the_list_sorted_by_it_and_then_to_the_other_way(viewer: Client) -> None:
    page = page_of(viewer.get("/workloads/", {"resource": "nfs-07"}))

    first = head(page, "Rate").elements_of("a")[0]["href"]
    largest = page_of(viewer.get(f"/workloads/{first}"))
    again = head(largest, "Rate").elements_of("a")[0]["href"]
    smallest = page_of(viewer.get(f"/workloads/{again}"))

    # The batch job takes most; what is filtered stays so.
    assert names(largest)[0] == "batch-3"
    assert head(largest, "Rate")["aria-sort"] == "descending"
    assert names(smallest) == names(largest)[::-1]


def test_rows_without_a_value_stand_last_both_ways(viewer: Client, fleet: Fleet) -> None:
    fleet.add_allocation(fleet.resources["san-02"], "aaa-quiet", "kvm-02", Tier.LOW)

    for order in ("rate", "-rate"):
        assert names(page_of(viewer.get("/workloads/", {"sort": order})))[-1] == "aaa-quiet"


@pytest.mark.parametrize("address", ["/workloads/", "/hosts/"])
def test_list_is_sorted_by_rate_without_reading_samples(viewer: Client, address: str) -> None:
    with CaptureQueriesContext(connection) as asked:
        page = page_of(viewer.get(address, {"sort": "-rate", "columns": ["name", "rate"]}))

    assert names(page)
    # Whoever reads samples asks for their series first.
    assert not [one["sql"] for one in asked if "ingest_series" in one["sql"]]


def test_hosts_are_sorted_by_what_their_disks_do(viewer: Client) -> None:
    rates = {row["Host"]: row["Disk I/O"] for row in exported(viewer, "/hosts/", sort="-rate")}

    known = [float(rate) for rate in rates.values() if rate]
    assert known == sorted(known, reverse=True)
    assert all(rates[name] for name in ("kvm-01", "kvm-02", "kvm-03"))


def test_host_whose_disks_are_not_measured_says_so(viewer: Client) -> None:
    page = page_of(viewer.get("/hosts/", {"columns": ["name", "rate"]}))

    # It is silent.
    (rate,) = page.row("table", "kvm-05")
    assert rate.endswith("its disks were not measured in the last 2 minutes")


def test_workload_with_two_disks_on_a_datastore_counts_once(viewer: Client, fleet: Fleet) -> None:
    fleet.add_allocation(fleet.resources["nfs-07"], "db-orders", "kvm-02", Tier.HIGH)

    storage = page_of(viewer.get("/storage/", {"columns": ["workloads", "tier"]}))
    hosts = page_of(viewer.get("/hosts/", {"columns": ["workloads", "tier"]}))

    assert storage.row("table", "nfs-07") == ["5 workloads of nfs-07", "high, medium, low"]
    # web-shop and mail-1 have allocations on two resources there, backup-7 and now db-orders one.
    assert hosts.row("table", "kvm-02")[0] == "4 workloads of kvm-02"


def test_states_are_sorted_by_urgency(viewer: Client) -> None:
    states = column(page_of(viewer.get("/storage/", {"sort": "state"})), "State")

    assert states[0] == "congested"
    assert states[-1].startswith("unknown")


# --- Filters and groups


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"q": "WEB"}, ["web-shop", "web-shop"]),
        ({"q": "shop web"}, ["web-shop", "web-shop"]),
        ({"tier": "high"}, ["db-orders", "web-shop"]),
        ({"host": "kvm-03"}, ["batch-3"]),
        ({"host": "*-03"}, ["batch-3"]),
        ({"host": "kvm-0"}, []),
        ({"resource": "KVM-02/eno1", "tier": "low"}, ["backup-7"]),
    ],
    ids=["text", "words", "tier", "host", "pattern", "no part of a name", "two filters"],
)
def test_filters_keep_what_matches(
    viewer: Client, fleet: Fleet, query: dict[str, str], found: list[str]
) -> None:
    page = page_of(viewer.get("/workloads/", query))

    # The tier belongs to the workload: db-orders was made high, web-shop and mail-1 medium.
    if query == {"tier": "high"}:
        found = ["db-orders"]
    assert names(page) == found


def test_filter_offers_its_values_with_their_numbers(viewer: Client) -> None:
    page = page_of(viewer.get("/workloads/"))

    choices = [option.all_text() for option in page.find("select", name="resource").walk()][1:]
    assert choices == ["any", "kvm-02/eno1 (3)", "nfs-07 (5)"]


def test_groups_have_heads_with_their_numbers(viewer: Client) -> None:
    page = page_of(viewer.get("/workloads/", {"group": "resource", "sort": "-rate"}))

    groups = [one.all_text().strip() for one in page.elements(".group th")]
    assert groups == ["kvm-02/eno1 3", "nfs-07 5"]
    assert names(page)[3] == "batch-3"


def test_tiers_are_grouped_by_importance(viewer: Client) -> None:
    page = page_of(viewer.get("/workloads/", {"group": "tier"}))

    groups = [one.all_text().split()[0] for one in page.elements(".group th")]
    assert groups == ["high", "medium", "low"]


def test_nothing_that_matches_says_so_and_leads_back(viewer: Client) -> None:
    page = page_of(viewer.get("/workloads/", {"q": "nosuch", "sort": "-tier"}))

    assert "None of 6 workloads matches" in page.all_text()
    assert page.links()["Show all"] == "?sort=-tier"


def test_unknown_words_in_the_address_are_told_and_left_out(viewer: Client) -> None:
    page = page_of(viewer.get("/workloads/", {"sort": "colour", "group": "x", "columns": "y"}))

    assert len(names(page)) == 8
    for said in ('column to sort by "colour"', 'column to group by "x"', 'no column "y"'):
        assert said in page.all_text()


# --- Columns, pages, address


def test_columns_are_chosen_in_the_address(viewer: Client) -> None:
    page = page_of(viewer.get("/storage/", {"columns": ["capacity", "tier"], "q": "nfs"}))

    heads = [one.all_text().strip() for one in page.elements("thead th")]
    assert heads == ["Datastore", "Capacity", "Tiers"]
    assert page.row("table", "nfs-07") == ["5200 IOPS", "high, medium, low"]


def test_every_link_of_a_list_keeps_the_rest_of_the_address(viewer: Client) -> None:
    query = {"tier": "medium", "group": "resource", "columns": ["name", "rate"], "q": "m"}
    page = page_of(viewer.get("/workloads/", query))

    for wanted in ("q=m", "tier=medium", "group=resource", "columns=name&columns=rate"):
        assert wanted in head(page, "Rate").elements_of("a")[0]["href"]


def test_long_list_is_shown_in_pages(viewer: Client, fleet: Fleet) -> None:
    for number in range(120):
        fleet.add_allocation(fleet.resources["san-02"], f"vm-{number:03}", "kvm-02", Tier.LOW)

    first = page_of(viewer.get("/workloads/", {"q": "vm-"}))
    third = page_of(viewer.get("/workloads/", {"q": "vm-", "page": "3"}))
    beyond = page_of(viewer.get("/workloads/", {"q": "vm-", "page": "99"}))

    assert names(first) == [f"vm-{number:03}" for number in range(50)]
    assert first.links()["Next"] == "?q=vm-&page=2"
    assert names(third) == [f"vm-{number}" for number in range(100, 120)]
    assert "101–120 of 120" in third.all_text()
    assert names(beyond) == names(third)


def test_update_in_place_is_the_list_without_the_frame(viewer: Client) -> None:
    query = {"sort": "-tier", "q": "web"}
    page = page_of(viewer.get("/workloads/", query))
    part = viewer.get("/workloads/", query, headers={"HX-Request": "true"}).content.decode()

    assert "<html" not in part
    assert names(Page(part)) == names(page)
    assert page.find("div", id="table")["hx-get"] == "/workloads/?sort=-tier&q=web"


# --- CSV


def test_csv_has_all_rows_that_are_asked_for_with_units(viewer: Client, fleet: Fleet) -> None:
    for number in range(60):
        fleet.add_allocation(fleet.resources["san-02"], f"vm-{number:03}", "kvm-02", Tier.LOW)

    rows = exported(viewer, "/workloads/", tier="low", sort="-rate")

    # 60 new ones, batch-3, report-2 and backup-7.
    assert len(rows) == 63
    assert {row["Rate, unit"] for row in rows} == {"iops", "bits_per_s", ""}
    batch = next(row for row in rows if row["Workload"] == "batch-3")
    assert (batch["Resource"], batch["Host"], batch["Tier"]) == ("nfs-07", "kvm-03", "low")
    assert 2500 < float(batch["Rate"]) < 4500


def test_csv_of_every_list_has_a_line_per_row(viewer: Client) -> None:
    for address in LISTS:
        assert len(exported(viewer, address)) == len(names(page_of(viewer.get(address))))


def test_name_that_a_spreadsheet_would_run_is_made_plain(viewer: Client, fleet: Fleet) -> None:
    fleet.add_allocation(fleet.resources["san-02"], "=1+1", "kvm-02", Tier.LOW)

    (row,) = exported(viewer, "/workloads/", q="=1+1")

    assert row["Workload"] == "'=1+1"


# --- Organisations


@pytest.mark.parametrize("address", LISTS)
def test_another_organisation_sees_no_row(outsider: Client, address: str) -> None:
    page = page_of(outsider.get(address))

    assert names(page) == []
    for name in ("nfs-07", "kvm-0", "db-orders"):
        assert name not in page.all_text()
    assert all(row == {} or not any(row.values()) for row in exported(outsider, address))


@pytest.mark.parametrize("address", LISTS)
def test_person_of_two_organisations_sees_the_rows_of_the_chosen_one(
    fleet: Fleet, address: str
) -> None:
    other = empty_fleet(fleet.now, prefix="b-")
    other.add_host("other-host", last_sample_at=fleet.now)
    shown = other.add_resource(
        "other-disk", ResourceKind.DATASTORE, capacity=None, threshold=20.0,
        attachments=(("other-host", "sda"),),
    )  # fmt: skip
    other.add_resource(
        "other-card", ResourceKind.UPLINK, capacity=None, threshold=0.9,
        attachments=(("other-host", "eno1"),),
    )  # fmt: skip
    other.add_allocation(shown, "other-vm", "other-host", Tier.HIGH)
    both = fleet.people.viewer
    Membership.objects.create(organisation=other.organisation, user=both, role=Role.VIEWER)

    client = client_of(both)
    client.post("/organisation/", {"organisation": fleet.organisation.pk})

    page = page_of(client.get(address))

    assert names(page)
    assert "other-" not in page.elements("main")[0].all_text()


# --- Cost


def statements(client: Client, address: str) -> int:
    cache.clear()
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


@pytest.mark.parametrize(
    "address", [f"{one}{query}" for one in LISTS for query in ("", "?sort=-rate", "?format=csv")]
)
def test_more_rows_take_no_more_statements(viewer: Client, fleet: Fleet, address: str) -> None:
    before = statements(viewer, address)

    shared_datastore(fleet, "big", allocations=60)
    shared_uplink(fleet, "wide", allocations=20)

    assert statements(viewer, address) <= before


def test_every_order_can_be_chosen_where_heads_are_hidden(viewer: Client) -> None:
    page = page_of(viewer.get("/workloads/", {"sort": "-rate", "columns": ["name", "rate"]}))

    options = [one for one in page.find("select", name="sort").walk() if one.tag == "option"]
    assert [(one["value"], one.all_text()) for one in options] == [
        ("name", "Workload"),
        ("-name", "Workload, backwards"),
        ("-rate", "Rate, highest first"),
        ("rate", "Rate, lowest first"),
    ]
    assert [one["value"] for one in options if "selected" in one.attributes] == ["-rate"]
