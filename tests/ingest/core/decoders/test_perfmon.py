from datetime import UTC, datetime

import pytest

from ingest.core.decoders.errors import NeedsHostError
from ingest.core.decoders.perfmon import decode_perfmon
from ingest.core.decoders.rejections import Rejections
from ingest.core.point import Point

START_NS = int(datetime(2026, 7, 23, 6, 4, 44, tzinfo=UTC).timestamp()) * 10**9


def csv_file(*columns: str, rows: list[tuple[str, ...]], zone: str = "(UTC)(0)") -> bytes:
    lines = [("(PDH-CSV 4.0) " + zone, *columns), *rows]
    return "".join(",".join(f'"{cell}"' for cell in line) + "\r\n" for line in lines).encode()


def decode(body: bytes, host: str | None = None) -> tuple[list[Point], list[tuple[str, str]]]:
    rejections = Rejections()
    points = list(decode_perfmon([body], rejections, host=host))
    return points, [(found.part, found.reason) for found in rejections.all()]


@pytest.mark.parametrize(
    ("path", "measurement", "tags", "field"),
    [
        (
            r"LogicalDisk(C:)\Avg. Disk sec/Read",
            "perfmon_logicaldisk",
            {"instance": "C:", "volume": "C:"},
            "avg_disk_sec_per_read",
        ),
        (
            r"PhysicalDisk(0 C: D:)\Current Disk Queue Length",
            "perfmon_physicaldisk",
            {"instance": "0 C: D:", "disk": "0", "volumes": "C: D:"},
            "current_disk_queue_length",
        ),
        (
            r"PhysicalDisk(3)\% Idle Time",
            "perfmon_physicaldisk",
            {"instance": "3", "disk": "3"},
            "percent_idle_time",
        ),
        (
            r"PhysicalDisk(_Total)\Disk Transfers/sec",
            "perfmon_physicaldisk",
            {"instance": "_Total"},
            "disk_transfers_per_sec",
        ),
        (
            r"Hyper-V Virtual Storage Device(C:-VMs-db1.vhdx)\Write Operations/Sec",
            "perfmon_hyper_v_virtual_storage_device",
            {"instance": "C:-VMs-db1.vhdx"},
            "write_operations_per_sec",
        ),
        (
            r"Network Interface(Intel[R] 82599, Port 1)\Bytes Received/sec",
            "perfmon_network_interface",
            {"instance": "Intel[R] 82599, Port 1"},
            "bytes_received_per_sec",
        ),
    ],
)
def test_counter_becomes_a_point(
    path: str, measurement: str, tags: dict[str, str], field: str
) -> None:
    body = csv_file(rf"\\HV01\{path}", rows=[("07/23/2026 06:04:44.250", "0.0125")])

    [point], refused = decode(body)

    assert point.measurement == measurement
    assert dict(point.tags) == {"host": "HV01", **tags}
    assert point.fields == {field: 0.0125}
    assert point.time == START_NS + 250_000_000
    assert refused == []


def test_rate_that_the_first_row_does_not_have_is_absent() -> None:
    body = csv_file(
        r"\\HV01\LogicalDisk(C:)\Disk Reads/sec",
        r"\\HV01\LogicalDisk(C:)\Current Disk Queue Length",
        rows=[("07/23/2026 06:04:44.000", " ", "0"), ("07/23/2026 06:04:45.000", "0", "2")],
    )

    points, refused = decode(body)

    assert [point.fields for point in points] == [
        {"current_disk_queue_length": 0.0},
        {"disk_reads_per_sec": 0.0, "current_disk_queue_length": 2.0},
    ]
    assert refused == []


def test_local_time_becomes_utc() -> None:
    body = csv_file(
        r"\\HV01\LogicalDisk(C:)\Disk Reads/sec",
        rows=[("07/23/2026 08:04:44.000", "1")],
        zone="(W. Europe Daylight Time)(-120)",
    )

    [point], _ = decode(body)

    assert point.time == START_NS


def test_comma_in_an_instance_that_nobody_maps_costs_no_column() -> None:
    body = csv_file(
        r"\\HV01\Processor Information(0,_Total)\DPC Rate",
        r"\\HV01\LogicalDisk(C:)\Disk Reads/sec",
        rows=[("07/23/2026 06:04:44.000", "7", "1")],
    )

    [point], _ = decode(body)

    assert point.fields == {"disk_reads_per_sec": 1.0}


def test_path_without_a_host_asks_for_it() -> None:
    body = csv_file(r"\LogicalDisk(C:)\Disk Reads/sec", rows=[("07/23/2026 06:04:44.000", "1")])

    with pytest.raises(NeedsHostError, match="host"):
        decode(body)

    [point], _ = decode(body, host="HV01")
    assert dict(point.tags)["host"] == "HV01"


def test_file_in_another_language_says_why_it_gives_nothing() -> None:
    column = r"\\HV01\Physikalischer Datenträger(0 C:)\Lesevorgänge/s"
    body = csv_file(r"\\HV01\Speicher\MB", column, rows=[("07/23/2026 06:04:44.000", "1", "2")])

    points, refused = decode(body)

    assert points == []
    assert refused == [(column, "no column is mapped; names of counters are read in English")]
