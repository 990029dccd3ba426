"""Files are recognised by their content, and give points whatever their format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.errors import NeedsZoneError
from ingest.core.decoders.rejections import Rejections
from ingest.core.imported.answers import Answers
from ingest.core.imported.formats import Format, recognise
from ingest.core.imported.prometheus_text import decode_prometheus_text
from ingest.core.point import Point
from ingest.imports.decode import divided, moved, points_of

SADF = (
    '{"sysstat": {"hosts": [{"nodename": "h1", "sysdata-version": 2.19, "statistics": ['
    '{"timestamp": {"date": "2026-03-22", "time": "10:00:00", "utc": 1, "interval": 600},'
    '"disk": [{"disk-device": "sda", "tps": 30.0, "rkB": 10.0, "wkB": 5.0, "await": 2.0}]}]}]}}'
)
IOSTAT_JSON = (
    '{"sysstat": {"hosts": [{"nodename": "h1", "date": "2026-03-22", "statistics": ['
    '{"timestamp": "2026-03-22T10:00:00Z", "disk": [{"disk_device": "sda", "r/s": 1.0}]},'
    '{"timestamp": "2026-03-22T10:00:10Z", "disk": [{"disk_device": "sda", "r/s": 1.0}]}]}]}}'
)
ESXTOP = (
    '"(PDH-CSV 4.0) (UTC)(0)","\\\\h1\\Physical Disk SCSI Device(naa.6)\\Reads/sec"\n'
    '"03/22/2026 10:00:00","0.00"\n"03/22/2026 10:00:05","7.00"\n'
)
PERFMON = (
    '"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)","\\\\h1\\PhysicalDisk(0 C:)\\Disk Reads/sec"\n'
    '"03/22/2026 10:00:00.123","7.00"\n'
)
IOSTAT = (
    "Linux 6.1 (h1) \t2026-03-22 \t_x86_64_\t(4 CPU)\n\n2026-03-22T10:00:00Z\n"
    "Device r/s\nsda 1.00\n\n2026-03-22T10:00:10Z\nDevice r/s\nsda 1.00\n\n"
)
DISKSTATS = (
    "1774173600\n   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n"
    "1774173610\n   8       0 sda 1 2 3 4 5 6 7 8 9 10 11\n"
)
LINES = "# DML\nCREATE DATABASE x\ndiskio,host=h1,name=sda reads=1i 1774173600000000000\n"
PROMETHEUS = (
    '{__name__="node_disk_reads_completed_total", device="sda", instance="h1:9100"} 17 '
    "1774173600000\n"
    'node_disk_reads_completed_total{device="s\\"a",instance="h1:9100"} 18 1774173610.5\n'
    'node_disk_reads_completed_total{device="sda",instance="h1:9100"} NaN 1774173620\n'
)
FILES = [
    (Format.ESXTOP, ESXTOP, 1),
    (Format.PERFMON, PERFMON, 1),
    (Format.IOSTAT, IOSTAT, 1),
    (Format.IOSTAT_JSON, IOSTAT_JSON, 1),
    (Format.SADF, SADF, 1),
    (Format.DISKSTATS, DISKSTATS, 2),
    (Format.LINE_PROTOCOL, LINES, 1),
    (Format.PROMETHEUS, PROMETHEUS, 2),
]


@pytest.mark.parametrize(("form", "text", "count"), FILES, ids=[one[0] for one in FILES])
def test_file_is_recognised_and_decoded(form: Format, text: str, count: int) -> None:
    found = recognise(text.encode())
    assert found is form

    points = list(points_of(found, [text.encode()], Rejections(), Answers(host="h1")))

    assert len(points) == count


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0\1\2",
        "plain words\n",
        "a,b,c\n1,2,3\n",
        "# HELP x y\nx 1\n",
        "{}",
        '"(PDH-CSV 4.0)"',
    ],
)
def test_other_files_are_not_recognised(text: str) -> None:
    assert recognise(text.encode()) is None


def test_a_long_line_is_looked_at_once() -> None:
    """Once from each of its slashes would be sixteen thousand million steps."""
    assert recognise(b"a/s " * 65_536) is None


def test_a_time_of_too_many_digits_costs_its_line_alone() -> None:
    refused = Rejections()
    text = f"up 1 {'9' * 5000}\nup 2 1774173610\n"

    points = list(decode_prometheus_text([text.encode()], refused))

    assert [point.fields for point in points] == [{"value": 2.0}]
    assert [found.reason for found in refused.all()] == ["the line is no sample with a time"]


def test_file_of_windows_in_utf_16_is_recognised() -> None:
    assert recognise(PERFMON.encode("utf-16")) is Format.PERFMON


@given(st.binary(max_size=300))
def test_any_bytes_are_recognised_or_not(start: bytes) -> None:
    assert recognise(start) in {*Format, None}


def test_samples_of_prometheus_have_labels_and_times_in_nanoseconds() -> None:
    first, second = points_of(Format.PROMETHEUS, [PROMETHEUS.encode()], Rejections(), Answers())

    assert first == Point(
        measurement="node_disk_reads_completed_total",
        tags=(("device", "sda"), ("instance", "h1:9100")),
        fields={"value": 17.0},
        time=1_774_173_600 * 10**9,
    )
    assert (second.tags[0], second.time) == (("device", 's"a'), 1_774_173_610_500_000_000)


RATES = st.floats(0, 1e6)


@given(RATES, RATES, RATES)
def test_divided_transfers_add_up(transfers: float, read: float, wrote: float) -> None:
    fields = {"transfers_per_s": transfers, "read_bytes_per_s": read, "write_bytes_per_s": wrote}

    found = divided(Point(measurement="sar_disk", tags=(), fields={**fields}, time=0)).fields

    reads, writes = float(found["reads_per_s"]), float(found["writes_per_s"])
    assert reads >= 0
    assert writes >= -1e-6
    assert reads + writes == pytest.approx(transfers)


def test_transfers_are_divided_as_the_bytes_are() -> None:
    (point,) = points_of(Format.SADF, [SADF.encode()], Rejections(), Answers())

    # 10 kB of 15 kB were read: 20 of 30 transfers.
    assert (point.fields["reads_per_s"], point.fields["writes_per_s"]) == (20.0, 10.0)


def test_moved_points_keep_their_distances() -> None:
    points = [Point(measurement="x", tags=(), fields={}, time=at) for at in (5, 9)]

    assert [point.time for point in moved(points, by_ns=10)] == [15, 19]


def test_time_of_the_first_report_is_in_the_zone_that_is_stated() -> None:
    assert (
        Answers(first_at="2026-03-22T10:00:00+01:00").first
        == Answers(first_at="2026-03-22T10:00:00", zone="Europe/Berlin").first
    )
    with pytest.raises(NeedsZoneError):
        _ = Answers(first_at="2026-03-22T10:00:00").first
