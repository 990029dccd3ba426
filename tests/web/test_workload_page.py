"""The page of a workload says whether it got what it was promised."""

from __future__ import annotations

from django.test import Client
from django.urls import reverse

from advisor.models import Workload
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of


def workload_page(client: Client, name: str) -> Page:
    return page_of(client.get(reverse("workload", args=[Workload.objects.get(name=name).pk])))


def test_victim_is_told_how_much_of_its_reservation_it_got(viewer: Client, fleet: Fleet) -> None:
    page = workload_page(viewer, "db-orders")

    assert page.text("h1").startswith("db-orders got its reservation in ")
    assert "nfs-07" in page.links()
    # It misses its 1500 IOPS since 42 minutes, of an hour and a half.
    assert int(page.row("table", "nfs-07")[-2]) in range(38, 44)
    assert "nfs-07 has been congested for" in page.all_text()
    chart = page.find("figure", data_kind="line")
    assert chart["data-chart"] == f"rate-{fleet.resources['nfs-07'].pk}"


def test_workload_of_two_resources_shows_both(viewer: Client, fleet: Fleet) -> None:
    page = workload_page(viewer, "mail-1")

    assert {"nfs-07", "kvm-02/eno1"} <= set(page.links())


def test_resource_leads_to_its_workloads(viewer: Client, fleet: Fleet) -> None:
    pk = Workload.objects.get(name="batch-3").pk
    nfs = fleet.resources["nfs-07"].pk

    page = page_of(viewer.get(reverse("resource", args=[nfs])))

    assert page.links()["batch-3"] == f"/workloads/{pk}/"


def test_workload_without_a_allocation_says_how_to_state_one(viewer: Client, fleet: Fleet) -> None:
    Workload.objects.create(organisation=fleet.organisation, name="new-1")

    page = workload_page(viewer, "new-1")

    assert page.text("h1") == "new-1"
    assert "sluice allocation set RESOURCE new-1" in page.all_text()


def test_page_is_renewed_in_place_with_what_is_measured_since(
    viewer: Client, fleet: Fleet
) -> None:
    row = Workload.objects.get(name="db-orders")
    address = reverse("workload", args=[row.pk])
    live = page_of(viewer.get(address)).find("div", id="workload")
    row.allocations.update(reservation=0.0)

    part = page_of(viewer.get(live["hx-get"], headers={"HX-Request": "true"}))

    assert live["hx-trigger"] == "every 30s"
    assert part.elements("html") == []
    assert part.text("h1") == "db-orders"


def test_outsider_sees_no_workload(outsider: Client, fleet: Fleet) -> None:
    pk = Workload.objects.get(name="db-orders").pk

    assert outsider.get(reverse("workload", args=[pk])).status_code == 404
