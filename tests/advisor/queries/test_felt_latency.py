"""What an I/O takes in each layer is read of what hypervisors, hosts and clients count."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from accounts.models import Organisation
from advisor.core.device.felt_latency import FeltLatency, Layer, NoFeltLatency
from advisor.core.device.latency_layers import DUST_MS, SUM_RATIO
from advisor.decisions import inventory
from advisor.history.felt_windows import BY_HOST, IN_DEVICE, NOT_HELD, NOT_TIMED, TOGETHER
from advisor.history.stored.seal import seal
from advisor.models import AdapterKind, Allocation, Resource, Workload
from advisor.queries.felt_latency import DiskLatency, disk_latencies, latency_document
from enforcers.reader.host_tree import HostTree
from enforcers.reader.mounts import nfs_lines, read_mounts
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


def sent(acme: Organisation, head: str, **per_s: float) -> None:
    send(acme, steady_lines(head, per_s, start=START, intervals=INTERVALS), now=NOW)


def disk(acme: Organisation, *, latency_ms: float) -> Resource:
    """A disk of h1 that takes so long for each of its 500 reads a second."""
    store = stated_datastore(acme, "sda", "h1", capacity=1000.0)
    phase = DiskPhase(intervals=INTERVALS, iops=500, latency_ms=latency_ms)
    send(acme, disk_lines("h1", "sda", [phase], start=START), now=NOW)
    return store


def machine(
    store: Resource, *, latency_ms: float, limit: float | None = None, reads: float = 100.0
) -> Allocation:
    """A machine whose reads take so long, as QEMU counts them."""
    sent(
        store.organisation,
        "qemu_block,host=h1,workload=qemu/101,disk=scsi0",
        rd_operations=reads,
        wr_operations=0.0,
        rd_bytes=8000 * reads,
        wr_bytes=0.0,
        rd_total_time_ns=reads * latency_ms * MS,
        wr_total_time_ns=0.0,
    )
    return inventory.set_allocation(
        resource=store,
        workload_name="vm101",
        host_name="h1",
        adapter_kind=AdapterKind.VDISK,
        adapter="qemu/101",
        vdisk="scsi0",
        limit=limit,
    )


def told(row: Allocation) -> DiskLatency:
    (one,) = disk_latencies(Workload.objects.get(pk=row.workload_id), now=NOW)
    return one


def parts(row: Allocation) -> dict[Layer, float | None]:
    found = told(row).found
    assert isinstance(found, FeltLatency)
    return {part.layer: part.ms for part in found.layers}


def reasons(row: Allocation) -> dict[Layer, str]:
    found = told(row).found
    assert isinstance(found, FeltLatency)
    return {part.layer: part.reason for part in found.absent}


def test_machine_of_qemu_waits_in_its_host_and_at_its_disk(acme: Organisation) -> None:
    row = machine(disk(acme, latency_ms=4.0), latency_ms=20.0)

    assert parts(row) == {
        Layer.OWN_LIMIT: 0.0,
        Layer.QUEUE: pytest.approx(16.0),
        Layer.NETWORK: None,
        Layer.DEVICE: pytest.approx(4.0),
    }
    assert reasons(row) == {Layer.NETWORK: IN_DEVICE}


def test_machine_at_its_limit_waits_for_it(acme: Organisation) -> None:
    row = machine(disk(acme, latency_ms=4.0), latency_ms=20.0, limit=100.0)

    assert parts(row)[Layer.OWN_LIMIT] == pytest.approx(16.0)
    assert parts(row)[Layer.QUEUE] == 0.0


def test_limit_that_is_far_away_holds_nothing_back(acme: Organisation) -> None:
    row = machine(disk(acme, latency_ms=4.0), latency_ms=20.0, limit=200.0)

    assert parts(row)[Layer.OWN_LIMIT] == 0.0


def test_sealed_hours_say_the_same_as_samples(acme: Organisation) -> None:
    row = machine(disk(acme, latency_ms=4.0), latency_ms=20.0)
    before = parts(row)

    done = seal(organisation=acme, now=NOW + timedelta(hours=3), limit_s=60.0)

    assert done.hours > 0
    assert parts(row) == before


def test_writes_are_held_against_writes(acme: Organisation) -> None:
    """The disk reads in 1 ms and writes in 9; the machine does nothing but write."""
    store = stated_datastore(acme, "sda", "h1", capacity=1000.0)
    sent(
        acme,
        "diskio,host=h1,name=sda",
        reads=900.0, writes=100.0, read_bytes=1e6, write_bytes=1e6,
        read_time=900.0, write_time=900.0, io_time=900.0, weighted_io_time=1800.0,
    )  # fmt: skip
    sent(
        acme,
        "qemu_block,host=h1,workload=qemu/101,disk=scsi0",
        rd_operations=0.0, wr_operations=100.0, rd_bytes=0.0, wr_bytes=1e6,
        rd_total_time_ns=0.0, wr_total_time_ns=100.0 * 10 * MS,
    )  # fmt: skip
    row = inventory.set_allocation(
        resource=store, workload_name="vm101", host_name="h1",
        adapter_kind=AdapterKind.VDISK, adapter="qemu/101", vdisk="scsi0",
    )  # fmt: skip

    assert parts(row)[Layer.DEVICE] == pytest.approx(9.0)
    assert parts(row)[Layer.QUEUE] == pytest.approx(1.0)


def test_machine_whose_cache_answers_is_told_as_that(acme: Organisation) -> None:
    found = told(machine(disk(acme, latency_ms=20.0), latency_ms=1.0)).found

    assert isinstance(found, NoFeltLatency)
    assert found.reason.startswith("its I/Os take 1.00 ms each, and the device 20.0 ms")


def client(acme: Organisation, *, queue: bool = True) -> Resource:
    """Reads and writes that are in the client for 2 of 12 ms and with the server for 9."""
    store = stated_datastore(acme, EXPORT, "h1", capacity=1000.0)
    per_s = {"ops": 100.0, "bytes": 800_000.0, "exe": 1200.0, "rtt": 900.0}
    per_s |= {"queue_time": 200.0} if queue else {}
    head = f"nfsstat,host=h1,mountpoint=/mnt,serverexport={EXPORT},operation"
    lines = [
        steady_lines(f"{head}={operation}", per_s, start=START, intervals=INTERVALS)
        for operation in ("READ", "WRITE")
    ]
    send(acme, "\n".join(lines), now=NOW)
    return store


def mount(store: Resource) -> Allocation:
    return inventory.set_allocation(
        resource=store,
        workload_name="mount",
        host_name="h1",
        adapter_kind=AdapterKind.MOUNT,
        adapter="mount",
        vdisk=EXPORT,
    )


def test_client_of_nfs_says_what_is_queued_and_what_is_under_way(acme: Organisation) -> None:
    row = mount(client(acme))

    assert parts(row) == {
        Layer.OWN_LIMIT: 0.0,
        Layer.QUEUE: pytest.approx(2.0),
        Layer.HOST: pytest.approx(1.0),
        Layer.NETWORK: None,
        Layer.SERVER: pytest.approx(9.0),
        Layer.DEVICE: None,
    }
    assert reasons(row) == {Layer.NETWORK: TOGETHER, Layer.DEVICE: TOGETHER}


def test_machine_on_nfs_waits_in_the_client_too(acme: Organisation) -> None:
    row = machine(client(acme), latency_ms=15.0)

    # 15 ms, of which the client counts 2 and 9; the rest is its own and QEMU's.
    assert parts(row)[Layer.QUEUE] == pytest.approx(2.0)
    assert parts(row)[Layer.SERVER] == pytest.approx(9.0)
    assert parts(row)[Layer.HOST] == pytest.approx(4.0)


def test_client_that_tells_no_queue_is_not_split(acme: Organisation) -> None:
    found = told(mount(client(acme, queue=False))).found

    assert found == NoFeltLatency(
        reason="nothing says how long the queue in the host and "
        "the network and the server behind it took"
    )


def group(acme: Organisation, *, limit: float | None = None, **cost: float) -> Allocation:
    """A cgroup that reads 100 times a second from a disk that takes 4 ms."""
    store = disk(acme, latency_ms=4.0)
    transfers = {"rios": 100.0, "wios": 0.0, "rbytes": 800_000.0, "wbytes": 0.0}
    fields = {
        f"io.stat.8:0.{name.replace('_', '.')}": rate for name, rate in (transfers | cost).items()
    }
    head = "cgroup,host=h1,path=/db"
    send(acme, steady_lines(head, fields, start=START, intervals=INTERVALS), now=NOW)
    return inventory.set_allocation(
        resource=store,
        workload_name="db",
        host_name="h1",
        adapter_kind=AdapterKind.CGROUP,
        adapter="/db",
        limit=limit,
    )


def test_iocost_says_how_long_a_group_is_kept_back_at_least(acme: Organisation) -> None:
    # In 300 ms of each second some of its 100 I/Os are kept back.
    row = group(acme, cost_wait=300_000.0)

    found = told(row).found

    assert isinstance(found, FeltLatency)
    assert found.whole_ms is None
    assert found.text == (
        "of an I/O is known: the device 4.00 ms and the queue in the host at least 3.00 ms; "
        "nobody times the whole"
    )


def test_group_says_what_nobody_counts_of_it(acme: Organisation) -> None:
    row = group(acme, limit=100.0)

    assert parts(row)[Layer.DEVICE] == pytest.approx(4.0)
    assert reasons(row) == {
        Layer.OWN_LIMIT: NOT_TIMED,
        Layer.QUEUE: NOT_HELD,
        Layer.NETWORK: IN_DEVICE,
    }


def esxtop(acme: Organisation, *, felt_ms: float, device: str = "naa.1") -> Allocation:
    """A machine alone on a device of ESXi whose I/Os take 42 ms, 30 of them queued."""
    parts = {"guest": 42.0, "kernel": 32.0, "queue": 30.0}
    of_device = {
        "reads_per_sec": 100.0,
        "writes_per_sec": 0.0,
        "mbytes_read_per_sec": 1.0,
        "mbytes_written_per_sec": 0.0,
        "average_driver_millisec_per_read": 10.0,
        "average_driver_millisec_per_write": 0.0,
        **{f"average_{name}_millisec_per_command": value for name, value in parts.items()},
    }
    of_machine = {
        "reads_per_sec": 100.0,
        "writes_per_sec": 0.0,
        "mbytes_read_per_sec": 1.0,
        "mbytes_written_per_sec": 0.0,
        "average_millisec_per_read": felt_ms,
        "average_millisec_per_write": 0.0,
    }
    heads = {
        f"esxtop_physical_disk_scsi_device,device={device},host=h1,instance={device}": of_device,
        "esxtop_virtual_disk,host=h1,vm=db1,disk=scsi0:0": of_machine,
    }
    lines = [
        f"{head} {','.join(f'{name}={value}' for name, value in fields.items())} "
        f"{int((START + timedelta(seconds=10 * step)).timestamp())}000000000"
        for head, fields in heads.items()
        for step in range(INTERVALS + 1)
    ]
    send(acme, "\n".join(lines), now=NOW)
    store = stated_datastore(acme, device, "h1", capacity=1000.0)
    return inventory.set_allocation(
        resource=store,
        workload_name="db1",
        host_name="h1",
        adapter_kind=AdapterKind.VDISK,
        adapter="vm/db1",
        vdisk="scsi0:0",
    )


@pytest.mark.parametrize("felt_ms", [41.0, 42.0, 44.0])
def test_parts_of_esxtop_add_up_to_what_the_machine_feels(
    acme: Organisation, felt_ms: float
) -> None:
    row = esxtop(acme, felt_ms=felt_ms)

    found = parts(row)
    assert found[Layer.QUEUE] == pytest.approx(30.0)
    assert found[Layer.HOST] == pytest.approx(2.0)
    assert found[Layer.DEVICE] == pytest.approx(10.0)
    total = sum(ms for ms in found.values() if ms is not None)
    assert abs(total - felt_ms) <= SUM_RATIO * felt_ms + DUST_MS


def test_machine_that_waits_longer_than_its_host_says_has_a_part_that_is_not_told(
    acme: Organisation,
) -> None:
    row = esxtop(acme, felt_ms=60.0)

    assert parts(row)[Layer.UNTOLD] == pytest.approx(18.0)


def test_document_has_every_layer_with_its_time_or_reason(acme: Organisation) -> None:
    said = latency_document(told(machine(disk(acme, latency_ms=4.0), latency_ms=20.0)))

    assert (said["resource"], said["host"], said["disk"]) == ("sda", "h1", "scsi0")
    assert said["whole_ms"] == pytest.approx(20.0)
    assert [one["layer"] for one in said["layers"]] == ["own_limit", "queue", "network", "device"]
    assert all((one["ms"] is None) is bool(one["reason"]) for one in said["layers"])


def test_idle_disk_and_unknown_device_say_so(acme: Organisation) -> None:
    idle = machine(disk(acme, latency_ms=4.0), latency_ms=20.0, reads=0.0)

    assert told(idle).found == NoFeltLatency(reason="nothing says that it did any I/O")

    idle.resource.attachments.all().delete()
    assert told(idle).found == NoFeltLatency(
        reason="it is not known which device of its host its I/Os go to"
    )


@pytest.mark.parametrize(
    "capture", ["telegraf/inputs/nfsclient/testdata", "linux-proc/node_exporter"]
)
def test_times_of_real_clients_add_up(
    acme: Organisation, shared_dir: Path, tmp_path: Path, capture: str
) -> None:
    """What real clients counted since they mounted, as if they had done so in two minutes."""
    folder = shared_dir / "data" / capture
    (source,) = folder.glob("*mountstats")
    place = tmp_path / "proc" / "self"
    place.mkdir(parents=True)
    (place / "mountstats").write_text(source.read_text())
    tree = HostTree(str(tmp_path))
    lines, exports = [], set()
    for line in nfs_lines("h1", tree, read_mounts(tree)):
        head, _, fields = line.partition(" ")
        named = (one.split("=") for one in fields.split(","))
        per_s = {name: int(value[:-1]) / (10 * INTERVALS) for name, value in named}
        lines.append(steady_lines(head, per_s, start=START, intervals=INTERVALS))
        exports.add(head.split("serverexport=")[1].split(",")[0])
    send(acme, "\n".join(lines), now=NOW)

    split = []
    for export in sorted(exports):
        store = stated_datastore(acme, export, "h1", capacity=1000.0)
        row = inventory.set_allocation(
            resource=store, workload_name=f"of {export}", host_name="h1",
            adapter_kind=AdapterKind.MOUNT, adapter="mount", vdisk=export,
        )  # fmt: skip
        one = told(row).found
        if isinstance(one, FeltLatency):
            split.append(one)

    assert split
    for one in split:
        assert one.whole_ms is not None
        ms = {part.layer: part.ms or 0.0 for part in one.layers}
        assert sum(ms.values()) == pytest.approx(one.whole_ms)
        # What clients count by themselves is nearly the whole, without what is left over.
        counted = ms[Layer.QUEUE] + ms[Layer.SERVER]
        assert abs(counted - one.whole_ms) <= SUM_RATIO * one.whole_ms + DUST_MS


def test_datastore_of_vsphere_has_its_hosts_part(acme: Organisation) -> None:
    row = machine(disk(acme, latency_ms=4.0), latency_ms=20.0)
    row.resource.attachments.update(device="datastore/vmfs1")
    send(
        acme,
        disk_lines(
            "h1",
            "datastore/vmfs1",
            [DiskPhase(intervals=INTERVALS, iops=500, latency_ms=20.0)],
            start=START,
        ),
        now=NOW,
    )

    assert reasons(row) == {Layer.QUEUE: BY_HOST, Layer.NETWORK: IN_DEVICE}
    assert parts(row)[Layer.DEVICE] == pytest.approx(20.0)
