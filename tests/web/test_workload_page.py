"""The page of a workload says whether it got what it was promised."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from advisor.models import Allocation, Incident, Resource, Workload
from tests.advisor.agent_reports import tell_bursts
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


def test_limit_that_is_hit_in_bursts_is_told(viewer: Client, fleet: Fleet) -> None:
    allocation = fleet.resources["kvm-02/eno1"].allocations.get(workload__name="mail-1")
    Allocation.objects.filter(pk=allocation.pk).update(limit=10e6)
    tell_bursts(allocation, now=fleet.now)

    said = workload_page(viewer, "mail-1").all_text()

    assert "On kvm-02/eno1 it hits its own limit for 167 ms of each second" in said
    assert "its mean is 3.00 Mbit/s of 10.0 Mbit/s" in said
    assert "No limit of its own held it back" not in said


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


def test_page_tells_where_disks_and_nics_are_and_by_which_rules(
    viewer: Client, fleet: Fleet
) -> None:
    row = Workload.objects.get(name="mail-1")
    row.found, row.identity = True, {"given": "mail-1", "name": "mail-1"}
    row.tier_reason = "line 1: tier: high where name ~ mail-*"
    row.reasons = [
        {"rule": "uuid", "text": "the UUID is of a copy", "places": ["h3:a"], "merged": False},
        {
            "rule": "cgroup",
            "text": "they are the same cgroup",
            "places": ["a", "b"],
            "merged": True,
        },
    ]
    row.save()
    nfs = row.allocations.get(resource__name="nfs-07")
    beside = {
        "rule": "wwn",
        "text": "they are others",
        "merged": True,
        "places": ["x:sda", "y:sda"],
    }
    own = {
        "rule": "export", "text": "they mount /vm of one server", "merged": True,
        "places": [f"{nfs.host.name}:/mnt", "kvm-09:/mnt"],
    }  # fmt: skip
    Resource.objects.filter(pk=nfs.resource_id).update(reasons=[beside, own])
    row.allocations.filter(pk=nfs.pk).update(
        found=True, adapter_kind="vdisk", adapter="qemu/101", vdisk="scsi0"
    )

    page = workload_page(viewer, "mail-1")

    told = page.text("#identity")
    host = nfs.host.name
    assert "Namecollectors call it mail-1" in told
    assert "line 1: tier: high where name ~ mail-*" in told
    assert (
        f"virtual disk scsi0 on {host}nfs-07: its virtual disk lies on nfs-07; "
        f"{host}:/mnt and kvm-09:/mnt: they mount /vm of one server (rule export)"
    ) in told
    assert "kvm-02/eno1: stated: a person set the allocation" in told
    assert "they are others" not in told
    assert told.index("they are the same cgroup (rule cgroup)") < told.index(
        "not one: the UUID is of a copy (rule uuid)"
    )


@pytest.mark.parametrize(
    ("found", "identity", "reason"),
    [
        (False, {"name": "db1"}, "a person gave it; collectors call it db1"),
        (False, {}, "a person gave it"),
        (True, {"given": "other"}, "a person gave it"),
        (True, {"given": "mail-1"}, "no collector names it"),
    ],
)
def test_page_tells_where_the_name_comes_from(
    viewer: Client, fleet: Fleet, found: bool, identity: dict[str, str], reason: str
) -> None:
    Workload.objects.filter(name="mail-1").update(found=found, identity=identity)

    assert f"Name{reason}" in workload_page(viewer, "mail-1").text("#identity")


def test_incidents_of_before_a_workload_was_renamed_are_its_own(
    viewer: Client, fleet: Fleet
) -> None:
    row = Workload.objects.get(name="db-orders")
    incident = Incident.objects.filter(victims__contains=[{"workload": "db-orders"}]).order_by(
        "started_at"
    )[0]
    row.name = "orders"
    for seconds, is_own in ((1, True), (-1, False)):
        until = incident.started_at + timedelta(seconds=seconds)
        row.identity = {"former": [["db-orders", until.isoformat()]]}
        row.save()

        links = workload_page(viewer, "orders").links().values()
        assert (f"/incidents/{incident.pk}/" in links) is is_own


def test_workload_that_is_gone_says_since_when(viewer: Client, fleet: Fleet) -> None:
    row = Workload.objects.get(name="mail-1")
    row.allocations.update(found=True, vanished_at=fleet.now - timedelta(days=2))
    Workload.objects.filter(pk=row.pk).update(vanished_at=fleet.now - timedelta(days=2))

    page = workload_page(viewer, "mail-1")

    assert "No host has shown it since" in page.text("#workload")
    assert page.elements("#allocations-title") == []
    resource = page_of(viewer.get(reverse("resource", args=[fleet.resources["nfs-07"].pk])))
    assert "mail-1" not in resource.text("#resource-allocations")


def harm_of(page: Page, part: str) -> dict[str, list[str]]:
    """Rows of the section by name: incidents and minutes lost; empty where it says nobody."""
    section = page.elements(f"#{part}-title")[0].parent.parent  # type: ignore[union-attr]  # in a section
    rows = section.elements_of("tr")[1:]  # type: ignore[union-attr]  # in a section
    cells = [
        [one.all_text().strip() for one in row.children if not isinstance(one, str)]
        for row in rows
    ]
    return {name: rest for name, *rest in cells}


def test_victim_is_told_by_whom_it_was_harmed_and_for_how_long(
    viewer: Client, fleet: Fleet
) -> None:
    incident = Incident.objects.get(ended_at=None)
    missed = next(one for one in incident.victims if one["workload"] == "db-orders")
    minutes = (fleet.now - incident.started_at).total_seconds() / 60 * missed["shortfall_ratio"]

    page = workload_page(viewer, "db-orders")

    (count, lost) = harm_of(page, "harmed-by")["batch-3"]
    assert count == "1"
    assert float(lost) == pytest.approx(minutes, abs=0.51)
    assert harm_of(page, "harmed-whom") == {}


def test_neighbour_is_told_whom_it_harmed(viewer: Client, fleet: Fleet) -> None:
    incident = Incident.objects.get(ended_at=None)

    page = workload_page(viewer, "batch-3")

    victims = {one["workload"] for one in incident.victims}
    assert set(harm_of(page, "harmed-whom")) == victims - {"batch-3"}
    assert harm_of(page, "harmed-by") == {}
