"""What collectors say of waiting reaches the history of allocations, by whatever adapter."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from accounts.models import Organisation
from advisor.decisions import inventory
from advisor.history.inventory import inventory_of
from advisor.history.reader import read_history, read_workloads
from advisor.history.stored.seal import seal
from advisor.models import AdapterKind, Allocation, Resource
from ingest.core.grid import grid_of
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW
from tests.advisor.stated_datastores import stated_datastore
from tests.advisor.waiting_samples import steady_lines

pytestmark = pytest.mark.django_db

INTERVALS = 12
START = NOW - timedelta(seconds=10 * INTERVALS)
EXPORT = "nas:/vol"
MS = 1_000_000
"""QEMU counts nanoseconds."""


@pytest.fixture
def acme() -> Organisation:
    return Organisation.objects.create(slug="acme", name="Acme")


def slow(acme: Organisation, device: str) -> Resource:
    """A device that takes 20 ms for an I/O."""
    store = stated_datastore(acme, device, "h1", capacity=1000.0)
    phase = DiskPhase(intervals=INTERVALS, iops=500, latency_ms=20.0)
    send(acme, disk_lines("h1", device, [phase], start=START), now=NOW)
    return store


def allocated(
    store: Resource, name: str, kind: AdapterKind, adapter: str, vdisk: str = ""
) -> Allocation:
    return inventory.set_allocation(
        resource=store,
        workload_name=name,
        host_name="h1",
        adapter_kind=kind,
        adapter=adapter,
        vdisk=vdisk,
    )


def sent(acme: Organisation, head: str, **per_s: float) -> None:
    named = {name.replace("__", "."): rate for name, rate in per_s.items()}
    send(acme, steady_lines(head, named, start=START, intervals=INTERVALS), now=NOW)


def said(store: Resource) -> dict[str, tuple[float | None, bool]]:
    """By workload whether it wanted more, and whether a queue shows it, in all windows alike."""
    history = read_history(store, grid_of(START, NOW, 10.0))
    own = history.allocations
    found = {}
    for place, name in enumerate(own.workloads):
        (more,) = np.unique(own.backlogged[:, place])
        (queued,) = np.unique(own.queued[:, place])
        found[name] = (None if np.isnan(more) else float(more), bool(queued))
    return found


def io_stat(acme: Organisation, name: str, **per_s: float) -> None:
    transfers = {"rios": 100.0, "wios": 0.0, "rbytes": 800_000.0, "wbytes": 0.0}
    fields = {f"io.stat.8:0.{one}": rate for one, rate in (transfers | per_s).items()}
    head = f"cgroup,host=h1,path=/{name}"
    send(acme, steady_lines(head, fields, start=START, intervals=INTERVALS), now=NOW)


def test_iocost_says_who_waits_for_a_share(acme: Organisation) -> None:
    store = slow(acme, "sda")
    for name in ("held", "free"):
        allocated(store, name, AdapterKind.CGROUP, f"/{name}")
    # Microseconds of a second.
    io_stat(acme, "held", **{"cost.wait": 300_000.0})
    io_stat(acme, "free", **{"cost.wait": 0.0})

    assert said(store) == {"held": (1.0, True), "free": (None, False)}


def test_hypervisor_says_whose_ios_wait(acme: Organisation) -> None:
    store = slow(acme, "sda")
    for number, latency_ms in ((101, 20), (102, 1)):
        allocated(store, f"vm{number}", AdapterKind.VDISK, f"qemu/{number}", "scsi0")
        sent(
            acme,
            f"qemu_block,host=h1,workload=qemu/{number},disk=scsi0",
            rd_operations=100.0,
            wr_operations=0.0,
            rd_bytes=800_000.0,
            wr_bytes=0.0,
            rd_total_time_ns=100.0 * latency_ms * MS,
            wr_total_time_ns=0.0,
        )

    # A cache answers vm102 in a twentieth of what the device takes.
    assert said(store) == {"vm101": (1.0, False), "vm102": (0.0, False)}


@pytest.mark.parametrize(
    ("queue_ms", "trip_ms", "expected"),
    [
        pytest.param(100.0, 0.0, (1.0, True), id="not sent yet"),
        pytest.param(0.0, 900.0, (1.0, False), id="no answer yet"),
        pytest.param(0.0, 10.0, (0.0, False), id="answered at once"),
    ],
)
def test_client_says_that_its_mount_waits(
    acme: Organisation, queue_ms: float, trip_ms: float, expected: tuple[float, bool]
) -> None:
    store = stated_datastore(acme, EXPORT, "h1", capacity=1000.0)
    allocated(store, "client", AdapterKind.MOUNT, "mount", EXPORT)
    # Each of the requests takes 20 ms in all.
    per_s = {"ops": 100.0, "bytes": 800_000.0, "exe": 2000.0}
    per_s |= {"queue_time": queue_ms, "rtt": trip_ms}
    head = f"nfsstat,host=h1,mountpoint=/mnt,serverexport={EXPORT},operation"
    lines = [
        steady_lines(f"{head}={operation}", per_s, start=START, intervals=INTERVALS)
        for operation in ("READ", "WRITE")
    ]
    send(acme, "\n".join(lines), now=NOW)

    assert said(store) == {"client": expected}


def test_sealed_hours_say_the_same_as_samples(acme: Organisation) -> None:
    store = slow(acme, "sda")
    allocated(store, "held", AdapterKind.CGROUP, "/held")
    allocated(store, "vm101", AdapterKind.VDISK, "qemu/101", "scsi0")
    io_stat(acme, "held", **{"cost.wait": 300_000.0})
    counted = {"rd_operations": 100.0, "wr_operations": 0.0, "rd_bytes": 1e6, "wr_bytes": 0.0}
    times = {"rd_total_time_ns": 2000.0 * MS, "wr_total_time_ns": 0.0}
    sent(acme, "qemu_block,host=h1,workload=qemu/101,disk=scsi0", **counted, **times)
    before = said(store)

    done = seal(organisation=acme, now=NOW + timedelta(hours=3), limit_s=60.0)

    assert done.hours > 0
    assert said(store) == before == {"held": (1.0, True), "vm101": (1.0, False)}


def test_long_windows_say_the_same(acme: Organisation) -> None:
    store = slow(acme, "sda")
    allocated(store, "held", AdapterKind.CGROUP, "/held")
    io_stat(acme, "held", **{"cost.wait": 300_000.0})
    grid = grid_of(START, NOW, 60.0)

    found = read_workloads(store, grid, inventory=inventory_of([store]))

    assert found.backlogged.tolist() == [[1.0], [1.0]]
