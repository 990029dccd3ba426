"""Pages, programs and commands tell of a disk whose queue fills in bursts."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from advisor.history.stored.seal import seal
from advisor.models import Resource
from advisor.queries.device_figures import resource_devices
from tests.advisor.samples import send
from tests.advisor.stated_datastores import stated_datastore
from tests.web.api.asking import program_of
from tests.web.fleet import Fleet
from tests.web.html import page_of

INTERVALS = 360
EVERY = 6
DEPTH = 40


def lines(*, until: datetime) -> str:
    """An hour of 500 reads of 1 ms a second; every sixth look finds 40 in flight, others one."""
    found = []
    for step in range(INTERVALS + 1):
        at = until - timedelta(seconds=10 * (INTERVALS - step))
        done = 5000 * step
        in_flight = DEPTH if step % EVERY == 0 else 1
        found.append(
            f"diskio,host=kvm-01,name=sdq reads={done}i,writes=0i,read_bytes={8000 * done}i,"
            f"write_bytes=0i,read_time={done}i,write_time=0i,io_time={done}i,"
            f"weighted_io_time={done}i,iops_in_progress={in_flight}i "
            f"{int(at.timestamp())}000000000"
        )
    return "\n".join(found)


@pytest.fixture
def bursty(fleet: Fleet) -> Resource:
    store = stated_datastore(fleet.organisation, "sdq", "kvm-01", threshold=15.0)
    send(fleet.organisation, lines(until=fleet.now), now=fleet.now)
    return store


def test_page_tells_it_beside_its_devices(viewer: Client, bursty: Resource) -> None:
    address = f"{reverse('resource', args=[bursty.pk])}?part=devices"

    page = page_of(viewer.get(address, headers={"HX-Request": "true"}))

    said = page.text(".state-warn")
    assert "kvm-01:sdq has a queue that fills in bursts" in said
    # One takes 0.5 s / 500 = 1 ms, so 40 take 40 ms.
    # 500 I/Os of 1 ms a second are half an I/O in flight.
    assert "found 40 I/Os in flight, while the mean around them was 0.50" in said
    assert "what comes then waits for 40.0 ms, while the mean latency was 1.00 ms" in said


def test_program_and_command_tell_the_same(fleet: Fleet, bursty: Resource) -> None:
    out = StringIO()

    viewing = program_of(fleet.people.viewer, fleet.organisation)
    (of_api,) = viewing.read(f"resources/{bursty.pk}/devices")["devices"]
    call_command("resource", "devices", "sdq", "--organisation", "northgate", "--json", stdout=out)

    (of_command,) = json.loads(out.getvalue())
    assert of_api == of_command
    assert of_api["burst"]["wait_ms"] == pytest.approx(40.0)
    assert of_api["burst"]["hits"] in range(58, 61)
    assert of_api["reason"] == ""


def test_command_writes_it_below_the_table(fleet: Fleet, bursty: Resource) -> None:
    out = StringIO()

    call_command("resource", "devices", "sdq", "--organisation", "northgate", stdout=out)

    assert "kvm-01:sdq has a queue that fills in bursts" in out.getvalue()


def test_sealed_hours_say_the_same_as_samples(fleet: Fleet, bursty: Resource) -> None:
    (before,) = resource_devices(bursty, now=fleet.now).devices

    done = seal(organisation=fleet.organisation, now=fleet.now + timedelta(hours=3), limit_s=60.0)

    assert done.hours > 0
    (after,) = resource_devices(bursty, now=fleet.now).devices
    assert after.burst == before.burst


def test_disk_without_bursts_has_the_reason(fleet: Fleet) -> None:
    store = fleet.resources["nfs-07"]

    found = resource_devices(store, now=fleet.now).devices

    assert found
    assert all(one.burst is None and one.queue is not None for one in found)


def test_uplink_has_no_such_queue(fleet: Fleet) -> None:
    (one,) = resource_devices(fleet.resources["kvm-02/eno1"], now=fleet.now).devices

    assert one.queue is None


def test_stranger_reads_nothing(fleet: Fleet, bursty: Resource) -> None:
    outsider = fleet.people.outsider
    foreign = program_of(outsider, outsider.memberships.get().organisation)

    assert foreign("GET", f"resources/{bursty.pk}/devices").status_code == 404
