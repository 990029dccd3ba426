"""What files of esxtop, iostat, sar and perfmon become; rates are kept in thousandths a second."""

from __future__ import annotations

import pytest

from ingest.core.mapping import Form
from ingest.core.point import PointError
from ingest.sources.registry import find_head
from tests.ingest.sources.stock import Kept, kept, said


def rates(table: str, subject: str, device: str = "", **values: float) -> Kept:
    return Kept(
        table=table,
        host="h1",
        subject=subject,
        device=device,
        form=Form.RATE,
        values=tuple(values.items()),
    )


def gauge(subject: str, value: float) -> Kept:
    return Kept(table="gauge", host="h1", subject=subject, values=(("value", value),))


ESXTOP_DEVICE = (
    "esxtop_physical_disk_scsi_device,host=h1,instance=naa.6,device=naa.6 reads_per_sec=10,"
    "writes_per_sec=20,mbytes_read_per_sec=2,mbytes_written_per_sec=0.5,device_q_depth=64,"
    "average_driver_millisec_per_read=5,average_driver_millisec_per_write=1.5,"
    "average_guest_millisec_per_read=9,percent_used=3"
)
ESXTOP_DISK = (
    "esxtop_virtual_disk,host=h1,instance=SQL:scsi0:1,vm=SQL,disk=scsi0:1 reads_per_sec=10,"
    "writes_per_sec=20,mbytes_read_per_sec=2,mbytes_written_per_sec=0.5,"
    "average_millisec_per_read=5,average_millisec_per_write=1.5"
)
ESXTOP_PORT = (
    "esxtop_network_port,host=h1,switch=vSwitch0,port=33554434,world=36139,client=SQL.eth0 "
    "packets_transmitted_per_sec=3,mbits_transmitted_per_sec=8,packets_received_per_sec=5,"
    "mbits_received_per_sec=16,percent_outbound_packets_dropped=50"
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [ESXTOP_DEVICE],
            # 10 reads of 5 ms take 50 ms a second, 20 writes of 1.5 ms take 30.
            [
                rates("diskio", "naa.6", reads=10_000, writes=20_000, read_bytes=2_097_152_000,
                      write_bytes=524_288_000, read_time=50_000, write_time=30_000),
            ],
            id="esxtop device: DAVG is its latency",
        ),
        pytest.param(
            ["esxtop_physical_disk_scsi_device,host=h1,instance=naa.6 active_commands=4"],
            [gauge("naa.6", 4)],
            id="esxtop gauge",
        ),
        pytest.param(
            [("esxtop_physical_disk_scsi_device,host=h1,instance=naa.6 "
             "commands_per_sec=30,conflicts_per_sec=2")],
            [rates("scsi_reservation", "naa.6", "naa.6", commands=30_000, conflicts=2_000)],
            id="esxtop conflicts have a table",
        ),
        pytest.param(
            [("esxtop_physical_disk_nfs_volume,host=h1,instance=ds1,volume=ds1 reads_per_sec=10,"
             "average_guest_millisec_per_read=4")],
            [rates("diskio", "datastore/ds1", reads=10_000, read_time=40_000)],
            id="esxtop NFS: the guest's latency",
        ),
        pytest.param(
            [ESXTOP_DISK],
            [
                rates("cgroup", "vm/SQL", "scsi0:1", rios=10_000, wios=20_000,
                      rbytes=2_097_152_000, wbytes=524_288_000),
                rates("vdisk", "vm/SQL", "scsi0:1", reads=10_000, writes=20_000,
                      read_time=50_000_000_000, write_time=30_000_000_000),
            ],
            id="esxtop virtual disk",
        ),
        pytest.param(
            [ESXTOP_PORT],
            # What the machine sends is received by the host: 8 Mbit are 1,000,000 bytes.
            [
                rates("net", "vm/SQL/33554434", bytes_sent=2_000_000_000,
                      bytes_recv=1_000_000_000, packets_sent=5_000, packets_recv=3_000,
                      drop_in=1_500),
            ],
            id="esxtop port of a machine",
        ),
        pytest.param(
            [("esxtop_network_port,host=h1,switch=vSwitch0,port=1,client=vmnic0 "
             "mbits_transmitted_per_sec=8")],
            [rates("net", "vmnic0", bytes_sent=1_000_000_000)],
            id="esxtop physical port",
        ),
        pytest.param(
            [
                "esxtop_virtual_disk,host=h1,instance=SQL,vm=SQL reads_per_sec=30",
                "esxtop_physical_disk_path,host=h1,instance=vmhba2:C0:T1:L3 reads_per_sec=9",
                "esxtop_physical_disk_adapter,host=h1,instance=vmhba2 reads_per_sec=9",
                ("esxtop_physical_disk_per_device_per_world,host=h1,instance=naa.6-3 "
                "reads_per_sec=9"),
            ],
            [],
            id="esxtop counts nothing twice",
        ),
        pytest.param(
            [("iostat,host=h1,device=sda reads_per_s=10,writes_per_s=20,read_bytes_per_s=4096,"
             "write_bytes_per_s=8192,read_await_ms=5,write_await_ms=1.5,util_percent=40,queue=2")],
            # 40 % of a second are 400 ms.
            [
                rates("diskio", "sda", reads=10_000, writes=20_000, read_bytes=4_096_000,
                      write_bytes=8_192_000, read_time=50_000, write_time=30_000,
                      io_time=400_000, weighted_io_time=2_000_000),
            ],
            id="iostat -x",
        ),
        pytest.param(
            ["iostat,host=h1,device=sda reads_per_s=10,writes_per_s=20,await_ms=2"],
            [
                rates("diskio", "sda", reads=10_000, writes=20_000, read_time=20_000,
                      write_time=40_000),
            ],
            id="iostat with one await",
        ),
        pytest.param(
            [("iostat,host=h1,device=sda reads_per_s=10,writes_per_s=20,await_ms=99,"
             "read_await_ms=5,write_await_ms=1.5")],
            [
                rates("diskio", "sda", reads=10_000, writes=20_000, read_time=50_000,
                      write_time=30_000),
            ],
            id="iostat with three awaits",
        ),
        pytest.param(
            [("sar_disk,host=h1,device=sda reads_per_s=10,writes_per_s=20,read_bytes_per_s=4096,"
             "await_ms=2,util_percent=40,queue=2")],
            [
                rates("diskio", "sda", reads=10_000, writes=20_000, read_bytes=4_096_000,
                      read_time=20_000, write_time=40_000, io_time=400_000,
                      weighted_io_time=2_000_000),
            ],
            id="sar disk",
        ),
        pytest.param(
            ["sar_network,host=h1,interface=eth0 bytes_sent_per_s=5,drops_out_per_s=0.25",
             "sar_io,host=h1 reads_per_s=10"],
            [rates("net", "eth0", bytes_sent=5_000, drop_out=250)],
            id="sar network, and no sums of disks",
        ),
        pytest.param(
            [("perfmon_physicaldisk,host=h1,instance=0\\ C:,disk=0 disk_reads_per_sec=10,"
             "disk_writes_per_sec=20,avg_disk_sec_per_read=0.005,avg_disk_sec_per_write=0.0015,"
             "avg_disk_queue_length=2"),
             "perfmon_physicaldisk,host=h1,instance=_Total disk_reads_per_sec=10",
             "perfmon_logicaldisk,host=h1,instance=C:,volume=C: disk_reads_per_sec=10"],
            [
                rates("diskio", "0 C:", reads=10_000, writes=20_000, read_time=50_000,
                      write_time=30_000, weighted_io_time=2_000_000),
            ],
            id="perfmon: physical disks alone",
        ),
        pytest.param(
            [("perfmon_hyper_v_virtual_storage_device,host=h1,"
             "instance=C:-ClusterStorage-Volume1-web01.vhdx read_operations_per_sec=3")],
            [rates("cgroup", "vm/web01", "C:-ClusterStorage-Volume1-web01.vhdx", rios=3_000)],
            id="perfmon: virtual disk of Hyper-V",
        ),
    ],
)  # fmt: skip
def test_fields_of_files_are_kept_once(lines: list[str], expected: list[Kept]) -> None:
    tables = {row.table for row in expected} or {"diskio", "cgroup", "net"}

    found = [row for row in kept(*lines) if row.table in tables]

    assert sorted(found, key=lambda row: row.table) == expected


def test_gauges_of_two_devices_are_two_series() -> None:
    head = "esxtop_physical_disk_scsi_device,host=h1,instance="

    found = kept(f"{head}naa.1 queued_commands=1", f"{head}naa.2 queued_commands=2")

    assert found == [gauge("naa.1", 1), gauge("naa.2", 2)]


def test_gauges_without_other_tags_are_told_apart_by_their_subject() -> None:
    head = "vsphere_host_disk,source=h1,esxhostname=h1,disk="

    found = kept(
        f"{head}naa.1 kernelReadLatency_average=1i", f"{head}naa.2 kernelReadLatency_average=2i"
    )

    assert found == [gauge("naa.1", 1), gauge("naa.2", 2)]


def test_facts_of_esxtop() -> None:
    assert said(ESXTOP_DEVICE, ESXTOP_DISK) == {
        ("h1", "device", "naa.6", "queue_depth", "64"),
        ("h1", "device", "naa.6", "wwn", "naa.6"),
        ("h1", "workload", "vm/SQL", "name", "SQL"),
        ("h1", "workload", "vm/SQL", "kind", "vm"),
    }


@pytest.mark.parametrize(
    ("instance", "machine"),
    [
        ("C:-ClusterStorage-Volume1-web-01.vhdx", "web-01"),
        ("C:-ClusterStorage-Volume1-web-01-web-01.vhdx", "web-01"),
        ("C:-ClusterStorage-Volume1-web-01-Virtual Hard Disks-web-01.vhdx", "web-01"),
        ("E:-web-01.vhdx", "web-01"),
        # Where a dash stands for a backslash cannot be told, but two machines stay two.
        ("D:-VMs-web-01.vhdx", "VMs-web-01"),
        ("D:-VMs-db-01.vhdx", "VMs-db-01"),
        (r"\\?\C:\VMs\web-01.vhdx", "web-01"),
        # While there is a snapshot, it is written instead.
        ("E:-web01_1B2C3D4E-0A1B-4C5D-8E9F-0123456789AB.avhdx", "web01"),
        ("E:-web01.vhd", "web01"),
        ("--disk without a file", "--disk without a file"),
    ],
)
def test_machine_of_hyper_v_has_the_name_of_its_file(instance: str, machine: str) -> None:
    tags = {"host": "h1", "instance": instance}

    head = find_head("perfmon_hyper_v_virtual_storage_device", tags)

    assert {fact.value for fact in head.facts if fact.name == "name"} == {machine}


def test_a_long_name_of_an_instance_is_read_in_no_time() -> None:
    """One look per character is 100,000 steps, one per pair of them are ten billion."""
    tags = {"host": "h1", "instance": "-" * 100_000}

    with pytest.raises(PointError, match="longer than 1024 characters"):
        find_head("perfmon_hyper_v_virtual_storage_device", tags)


def test_port_of_a_machine_without_its_number_is_refused() -> None:
    tags = {"host": "h1", "switch": "vSwitch0", "world": "36139", "client": "SQL.eth0"}

    with pytest.raises(PointError, match='tag "port" is missing'):
        find_head("esxtop_network_port", tags)
