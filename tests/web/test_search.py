"""A part of a name finds workloads, hosts, datastores and uplinks of one's own organisation."""

from __future__ import annotations

import pytest
from django.test import Client

from advisor.models import Tier, Workload
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of


def found(client: Client, text: str) -> Page:
    answer = client.get("/search/", {"q": text}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return Page(answer.content.decode())


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("NFS", {"nfs-07 datastore"}),
        ("kvm-03", {"kvm-03 host"}),
        ("eno1", {"kvm-02/eno1 uplink", "kvm-04/eno1 uplink"}),
        ("orders", {"db-orders on nfs-07"}),
        ("mail", {"mail-1 on kvm-02/eno1 and nfs-07"}),
    ],
    ids=["datastore", "host", "uplinks", "workload", "workload with two allocations"],
)
def test_part_of_a_name_finds(viewer: Client, text: str, links: set[str]) -> None:
    assert set(found(viewer, text).links()) == links


def test_hits_lead_to_their_pages(viewer: Client, fleet: Fleet) -> None:
    orders = Workload.objects.get(name="db-orders").pk

    assert found(viewer, "orders").links() == {"db-orders on nfs-07": f"/workloads/{orders}/"}


def test_nothing_found_says_for_what(viewer: Client) -> None:
    assert "No results for “<b>”" in found(viewer, "<b>").all_text()


@pytest.mark.parametrize("text", ["", "   "])
def test_empty_text_finds_nothing_and_says_nothing(viewer: Client, text: str) -> None:
    assert found(viewer, text).all_text().strip() == ""


def test_wildcards_of_the_database_are_plain_characters(viewer: Client) -> None:
    assert found(viewer, "%").links() == {}
    assert found(viewer, "_").links() == {}


def test_outsider_finds_nothing(outsider: Client) -> None:
    assert found(outsider, "kvm").links() == {}


def test_search_works_without_scripts_as_a_page(viewer: Client) -> None:
    answer = viewer.get("/search/", {"q": "nfs"})

    page = Page(answer.content.decode())
    assert page.text("h1") == "1 result for “nfs”"
    assert page.row("table", "nfs-07") == ["datastore"]
    assert page.links()["nfs-07"].startswith("/resources/")


def many_workloads(fleet: Fleet) -> None:
    for number in range(70):
        fleet.add_allocation(fleet.resources["san-02"], f"vm-{number:02}", "kvm-02", Tier.LOW)


def test_first_results_say_how_many_there_are_and_lead_to_all(
    viewer: Client, fleet: Fleet
) -> None:
    many_workloads(fleet)

    box = found(viewer, "vm-")
    page = page_of(viewer.get("/search/", {"q": "vm-"}))

    # Five hosts and two of their uplinks and three disks are called kvm-…
    assert [head.all_text().strip() for head in box.elements("h3")] == [
        "Storage and network 4", "Hosts 5", "Workloads 70",
    ]  # fmt: skip
    assert page.text("h1") == "79 results for “vm-”"
    assert box.links()["All 70 workloads"] == page_address(page, "All 70 workloads")


def page_address(page: Page, link: str) -> str:
    return f"/search/{page.links()[link]}"


def test_all_results_of_a_kind_are_shown_in_pages(viewer: Client, fleet: Fleet) -> None:
    many_workloads(fleet)

    first = page_of(viewer.get("/search/", {"q": "vm-", "kind": "workload"}))
    second = page_of(viewer.get(page_address(first, "Next")))
    beyond = page_of(viewer.get("/search/", {"q": "vm-", "kind": "workload", "page": "9"}))

    assert "1–50 of 70" in first.all_text()
    assert "51–70 of 70" in second.all_text()
    assert second.row("table", "vm-69") == ["on san-02"]
    assert [row.all_text() for row in beyond.elements("tbody tr")] == [
        row.all_text() for row in second.elements("tbody tr")
    ]


def test_unknown_kind_shows_all_kinds(viewer: Client) -> None:
    page = page_of(viewer.get("/search/", {"q": "kvm", "kind": "x", "page": "y"}))

    assert [head.all_text() for head in page.elements("h2")][:2] == [
        "Storage and network", "Hosts",
    ]  # fmt: skip
