"""Pages, programs and commands tell where the time of a workload's I/O goes."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from advisor.models import AdapterKind, Allocation, Incident, Workload
from tests.advisor.samples import send
from tests.advisor.waiting_samples import steady_lines
from tests.web.api.asking import program_of
from tests.web.fleet import Fleet
from tests.web.html import Page, page_of

MS = 1_000_000
"""QEMU counts nanoseconds."""


@pytest.fixture
def machine(fleet: Fleet) -> Workload:
    """db-orders as a guest of QEMU whose reads take 100 ms each, for an hour."""
    row = Workload.objects.get(name="db-orders")
    own = row.allocations.get(resource__name="nfs-07")
    Allocation.objects.filter(pk=own.pk).update(
        adapter_kind=AdapterKind.VDISK, adapter="qemu/7", vdisk="scsi0"
    )
    per_s = {
        "rd_operations": 100.0, "wr_operations": 0.0, "rd_bytes": 8e5, "wr_bytes": 0.0,
        "rd_total_time_ns": 100.0 * 100 * MS, "wr_total_time_ns": 0.0,
    }  # fmt: skip
    head = f"qemu_block,host={own.host.name},workload=qemu/7,disk=scsi0"
    lines = steady_lines(head, per_s, start=fleet.now - timedelta(hours=1), intervals=360)
    send(fleet.organisation, lines, now=fleet.now)
    return row


def layers_of(client: Client, row: Workload) -> Page:
    """The part that the page reads by itself."""
    page = page_of(client.get(reverse("workload", args=[row.pk])))
    live = page.find("div", id="workload-layers")
    return page_of(client.get(live["hx-get"], headers={"HX-Request": "true"}))


def test_bar_says_to_who_sees_it_and_to_who_hears_it_the_same(
    viewer: Client, machine: Workload
) -> None:
    page = layers_of(viewer, machine)

    (bar,) = [one for one in page.elements("#layers svg") if one.get("role") == "img"]
    said = bar["aria-label"]
    assert said.startswith("nfs-07: an I/O takes 100 ms: ")
    named = [one.all_text().strip() for one in page.elements("#layers .legend li")]
    # Who hears the bar hears each part of the list beside it, and no other.
    assert all(part in said for part in named)
    assert len(named) == len(bar.elements_of("rect")) == 2
    assert any(part.startswith("the device ") for part in named)
    assert any(part.startswith("the queue in the host ") for part in named)
    assert page.text("#layers .figure") == "100 ms"


def test_page_reads_it_by_itself_and_again_each_minute(viewer: Client, machine: Workload) -> None:
    page = page_of(viewer.get(reverse("workload", args=[machine.pk])))

    assert page.find("div", id="workload-layers")["hx-trigger"] == "load, every 60s"
    part = layers_of(viewer, machine)
    assert part.elements("html") == []
    assert part.text("#layers-title") == "Where the time of an I/O goes"


def test_group_whose_ios_nobody_times_has_what_is_known_and_why_not_more(
    viewer: Client, fleet: Fleet
) -> None:
    page = layers_of(viewer, Workload.objects.get(name="db-orders"))

    said = page.text("#layers")
    assert "the device " in said
    assert "Not told of its own limit: the kernel does not count" not in said
    assert "Not told of the queue in the host: the host does not count it" in said
    assert "no value: nobody times the whole of its I/Os" in said


def test_workload_without_disks_has_no_such_part(viewer: Client, fleet: Fleet) -> None:
    row = Workload.objects.create(organisation=fleet.organisation, name="new-1")

    page = page_of(viewer.get(reverse("workload", args=[row.pk])))

    assert page.elements("#workload-layers") == []


def test_incident_says_what_its_victims_waited_for(
    viewer: Client, fleet: Fleet, machine: Workload
) -> None:
    row = Incident.objects.get(ended_at=None)
    row.victims = [{"workload": "db-orders", "rate": 100.0, "entitlement": 2680.0,
                    "reservation": 1500.0, "shortfall_ratio": 0.6}]  # fmt: skip
    row.save()
    live = page_of(viewer.get(f"/incidents/{row.pk}/")).find("div", id="victim-layers")

    part = page_of(viewer.get(live["hx-get"], headers={"HX-Request": "true"}))
    whole = page_of(viewer.get(live["hx-get"]))

    for page in (part, whole):
        (bar,) = [one for one in page.elements("#layers svg") if one.get("role") == "img"]
        assert bar["aria-label"].startswith("db-orders: an I/O takes 100 ms: ")
        assert page.links()["db-orders"] == f"/workloads/{machine.pk}/"
    assert whole.text("h1") == "Where the time of I/Os on nfs-07 went"


def test_page_of_an_incident_shows_the_first_five_victims_and_leads_to_all(
    viewer: Client, fleet: Fleet
) -> None:
    row = Incident.objects.get(ended_at=None)
    store = row.resource
    host = store.attachments.earliest("pk").host
    for number in range(7):
        own = Workload.objects.create(organisation=store.organisation, name=f"slow-{number}")
        Allocation.objects.create(
            resource=store, workload=own, host=host, size_bytes=1e9,
            adapter_kind=AdapterKind.CGROUP, adapter=f"/slow-{number}",
        )  # fmt: skip
    harm = {"rate": 1.0, "entitlement": 2.0, "reservation": 0.0, "shortfall_ratio": 0.5}
    row.victims = [{"workload": f"slow-{number}", **harm} for number in range(7)]
    row.save()
    address = reverse("incident-layers", args=[row.pk])

    part = page_of(viewer.get(address, headers={"HX-Request": "true"}))
    whole = page_of(viewer.get(address))

    assert [name for name in part.links() if name.startswith("slow-")] == [
        f"slow-{number}" for number in range(5)
    ]
    assert part.links()["more on a page of their own"] == address
    assert len([name for name in whole.links() if name.startswith("slow-")]) == 7
    assert "more on a page of their own" not in whole.links()


def test_program_reads_the_same(fleet: Fleet, machine: Workload) -> None:
    viewing = program_of(fleet.people.viewer, fleet.organisation)

    (disk,) = viewing.read(f"workloads/{machine.pk}/latency")["disks"]

    assert (disk["resource"], disk["disk"]) == ("nfs-07", "scsi0")
    assert disk["whole_ms"] == pytest.approx(100.0)
    times = {one["layer"]: one["ms"] for one in disk["layers"]}
    assert sum(ms for ms in times.values() if ms is not None) == pytest.approx(100.0)
    assert times["network"] is None


def test_stranger_reads_nothing(outsider: Client, fleet: Fleet, machine: Workload) -> None:
    person = fleet.people.outsider
    foreign = program_of(person, person.memberships.get().organisation)

    assert foreign("GET", f"workloads/{machine.pk}/latency").status_code == 404


def test_command_says_it_as_a_sentence_and_as_json(fleet: Fleet, machine: Workload) -> None:
    said, plain = StringIO(), StringIO()

    call_command("workloads", "--layers", "db-orders", "--organisation", "northgate", stdout=said)
    call_command(
        "workloads", "--layers", "db-orders", "--organisation", "northgate", "--json", stdout=plain
    )

    assert "nfs-07 (scsi0) from " in said.getvalue()
    assert "an I/O takes 100 ms: " in said.getvalue()
    assert "not told of the network: " in said.getvalue()
    (disk,) = json.loads(plain.getvalue())
    assert disk["whole_ms"] == pytest.approx(100.0)


def test_command_refuses_a_name_that_nobody_has(fleet: Fleet) -> None:
    with pytest.raises(CommandError, match='there is no workload "none"'):
        call_command("workloads", "--layers", "none", "--organisation", "northgate")
