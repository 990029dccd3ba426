"""A part of a name finds workloads, hosts, datastores and uplinks of one's own organisation."""

from __future__ import annotations

import pytest
from django.test import Client

from advisor.models import Workload
from tests.web.fleet import Fleet
from tests.web.html import Page


def found(client: Client, text: str) -> Page:
    answer = client.get("/search/", {"q": text}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return Page(answer.content.decode())


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("NFS", {"nfs-07datastore"}),
        ("kvm-03", {"kvm-03host"}),
        ("eno1", {"kvm-02/eno1uplink", "kvm-04/eno1uplink"}),
        ("orders", {"db-orderson nfs-07"}),
        ("mail", {"mail-1on kvm-02/eno1 and nfs-07"}),
    ],
    ids=["datastore", "host", "uplinks", "workload", "workload with two allocations"],
)
def test_part_of_a_name_finds(viewer: Client, text: str, links: set[str]) -> None:
    assert set(found(viewer, text).links()) == links


def test_hits_lead_to_their_pages(viewer: Client, fleet: Fleet) -> None:
    orders = Workload.objects.get(name="db-orders").pk

    assert found(viewer, "orders").links() == {"db-orderson nfs-07": f"/workloads/{orders}/"}


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
    assert "nfs-07datastore" in page.links()
