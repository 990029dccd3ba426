import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.errors import FormatError, NeedsHostError, NeedsZoneError
from ingest.core.decoders.esxtop import STORAGE_AND_NETWORK, decode_esxtop
from ingest.core.decoders.rejections import Rejections
from ingest.core.point import FieldValue, Point
from tests.ingest.core.decoders.chunks import split_at
from tests.ingest.core.decoders.esxtop_generator import Capture, Fleet, capture

START_NS = int(datetime(2012, 12, 11, 20, 20, tzinfo=UTC).timestamp()) * 10**9
FIVE_S_NS = 5 * 10**9

FLEETS = st.builds(
    Fleet,
    devices=st.integers(0, 3),
    volumes=st.integers(0, 2),
    vms=st.integers(0, 2),
    disks=st.integers(0, 2),
    worlds=st.integers(0, 2),
)
CAPTURES = st.builds(capture, FLEETS, rows=st.integers(1, 4), seed=st.integers(0, 9))

Value = tuple[int | None, str, str, str, FieldValue]


def values(points: list[Point]) -> set[Value]:
    """Every value with its time, measurement, instance and field."""
    return {
        (point.time, point.measurement, dict(point.tags).get("instance", ""), field, value)
        for point in points
        for field, value in point.fields.items()
    }


def written(found: Capture) -> set[Value]:
    """The same of what a capture was made from: an oracle that shares no code with the decoder."""
    true: set[Value] = set()
    for row, numbers in enumerate(found.hundredths):
        for column, number in zip(found.header, numbers, strict=True):
            _, _, _, path, counter = column.split("\\")
            group, _, instance = path.partition("(")
            measurement = "esxtop_" + group.lower().replace(" ", "_").replace("-", "_")
            field = counter.lower().replace("% ", "percent ").replace("/", " per ")
            if measurement in STORAGE_AND_NETWORK:
                time = START_NS + row * FIVE_S_NS
                name = field.replace(" ", "_")
                true.add((time, measurement, instance.removesuffix(")"), name, number / 100))
    return true


def decode(body: bytes, **known: str) -> tuple[list[Point], list[tuple[str, str, int]]]:
    rejections = Rejections()
    points = list(decode_esxtop([body], rejections, host=known.get("host")))
    return points, [(found.part, found.reason, found.count) for found in rejections.all()]


def small(*rows: str, header: str = "") -> bytes:
    """A file of two devices with two counters each."""
    columns = header or ",".join(
        rf'"\\esx1\Physical Disk SCSI Device({device})\{counter}"'
        for device in ("naa.1", "naa.2")
        for counter in ("Reads/sec", "Average Driver MilliSec/Read")
    )
    return "\n".join([f'"(PDH-CSV 4.0) (UTC)(0)",{columns}', *rows, ""]).encode()


def row(second: int, *cells: str) -> str:
    return ",".join(f'"{cell}"' for cell in (f"12/11/2012 20:20:{second:02}", *cells))


def by_device(points: list[Point]) -> list[tuple[int, str, dict[str, FieldValue]]]:
    """Seconds since the start, device and fields."""
    return [
        ((point.time or 0) // 10**9 - START_NS // 10**9, dict(point.tags)["device"], point.fields)
        for point in points
    ]


@given(found=CAPTURES, places=st.lists(st.integers(0, 50_000), max_size=4))
def test_every_value_is_found_whatever_the_chunks(found: Capture, places: list[int]) -> None:
    rejections = Rejections()

    points = list(decode_esxtop(split_at(found.body(), places), rejections))

    assert values(points) == written(found)
    assert rejections.all() == []


@given(found=CAPTURES, cut=st.integers(0, 100_000))
def test_file_cut_off_anywhere_gives_only_true_values(found: Capture, cut: int) -> None:
    header, *following = found.lines()
    body = header + b"".join(following)[: cut % (sum(map(len, following)) + 1)]

    points, _ = decode(body)

    assert values(points) <= written(found)
    # Of each row but the last, which the cut went through, everything is there.
    whole_rows = body.count(b"\n") - 1
    last_ns = START_NS + whole_rows * FIVE_S_NS
    assert {value for value in written(found) if (value[0] or 0) < last_ns} <= values(points)


@given(
    found=CAPTURES,
    start=st.integers(0, 50_000),
    length=st.integers(1, 60),
    junk=st.binary(max_size=9),
)
def test_damage_never_raises_and_leaves_the_other_rows_alone(
    found: Capture, start: int, length: int, junk: bytes
) -> None:
    header, *following = found.lines()
    rest = b"".join(following)
    start %= len(rest)
    damaged = rest[:start] + junk.replace(b"(", b"") + rest[start + length :]
    rows_before = rest[:start].count(b"\n")

    points, _ = decode(header + damaged)

    before_ns = START_NS + rows_before * FIVE_S_NS
    assert {v for v in written(found) if (v[0] or 0) < before_ns} <= values(points)


@given(st.binary(max_size=300))
def test_bytes_of_any_kind_give_points_or_a_named_error(body: bytes) -> None:
    with pytest.raises(FormatError, match=r"PDH-CSV 4\.0"):
        decode(body.replace(b"(", b""))


def test_columns_that_nobody_maps_are_left_out() -> None:
    found = capture(Fleet(), rows=2, seed=1)

    points = list(
        decode_esxtop(
            [found.body()],
            Rejections(),
            wanted=lambda measurement, field: (
                measurement == "esxtop_virtual_disk" and field == "reads_per_sec"
            ),
        )
    )

    assert {point.measurement for point in points} == {"esxtop_virtual_disk"}
    assert {tuple(point.fields) for point in points} == {("reads_per_sec",)}
    assert len(points) == 2 * 2 * 3  # rows, VMs, the total and two disks of each


@pytest.mark.parametrize(
    ("path", "measurement", "tags"),
    [
        (
            "Physical Disk Adapter(vmhba2)",
            "esxtop_physical_disk_adapter",
            {"adapter": "vmhba2"},
        ),
        (
            "Physical Disk Path(vmhba2:C0:T1:L3)",
            "esxtop_physical_disk_path",
            {"path": "vmhba2:C0:T1:L3", "adapter": "vmhba2"},
        ),
        (
            "Physical Disk SCSI Device(t10.ATA-1)",
            "esxtop_physical_disk_scsi_device",
            {"device": "t10.ATA-1"},
        ),
        (
            "Physical Disk Per-Device-Per-World(naa.6-1-33001)",
            "esxtop_physical_disk_per_device_per_world",
            {"device": "naa.6-1", "world": "33001"},
        ),
        (
            "Physical Disk NFS Volume(NFS_Datastore)",
            "esxtop_physical_disk_nfs_volume",
            {"volume": "NFS_Datastore"},
        ),
        (
            "Virtual Disk(SQL02 (df09cdf2-1e74))",
            "esxtop_virtual_disk",
            {"vm": "SQL02 (df09cdf2-1e74)"},
        ),
        (
            "Virtual Disk(SQL02 (df09cdf2-1e74):scsi0:1)",
            "esxtop_virtual_disk",
            {"vm": "SQL02 (df09cdf2-1e74)", "disk": "scsi0:1"},
        ),
        (
            "Network Port(vSwitch0:33554433:vmnic0)",
            "esxtop_network_port",
            {"switch": "vSwitch0", "port": "33554433", "client": "vmnic0"},
        ),
        (
            "Network Port(vSwitch6:134217730:36139:Krein)",
            "esxtop_network_port",
            {"switch": "vSwitch6", "port": "134217730", "world": "36139", "client": "Krein"},
        ),
    ],
)
def test_instance_is_taken_apart(path: str, measurement: str, tags: dict[str, str]) -> None:
    body = small(row(0, "1.50"), header=rf'"\\esx1\{path}\Commands/sec"')

    [point], refused = decode(body)

    instance = path[path.index("(") + 1 : -1]
    assert point.measurement == measurement
    assert dict(point.tags) == {"host": "esx1", "instance": instance, **tags}
    assert list(point.tags) == sorted(point.tags)
    assert point.fields == {"commands_per_sec": 1.5}
    assert refused == []


def test_first_row_of_zeros_is_no_measurement() -> None:
    body = small(row(0, "0.00", "0.00", "0.00", "0.00"), row(5, "0.00", "0.00", "0.00", "0.00"))

    points, refused = decode(body)

    assert {point.time for point in points} == {START_NS + FIVE_S_NS}
    assert refused == [("line 2", "the first row has no rates yet, only zeros", 1)]


def test_first_row_with_a_rate_is_kept() -> None:
    points, refused = decode(small(row(0, "0.00", "0.00", "3.00", "0.00")))

    assert len(points) == 2
    assert refused == []


def test_empty_cell_is_missing_and_not_zero() -> None:
    points, refused = decode(small(row(0, "1.00", "", "", " ")))

    assert by_device(points) == [(0, "naa.1", {"reads_per_sec": 1.0})]
    assert refused == []


@pytest.mark.parametrize("fused", ['"2.00""3.00"', '"2.00"3.00"', '"2.003.00"', '2.00""3.00"'])
def test_two_cells_run_into_one_are_named_and_the_rest_is_kept(fused: str) -> None:
    bad = f'"12/11/2012 20:20:05","1.00",{fused},"4.00"'

    points, refused = decode(small(row(0, "1.00", "2.00", "3.00", "4.00"), bad))

    assert by_device(points)[2:] == [
        (5, "naa.1", {"reads_per_sec": 1.0}),
        (5, "naa.2", {"average_driver_millisec_per_read": 4.0}),
    ]
    assert refused == [("line 3", "two cells run into one", 1)]


def test_row_cut_off_keeps_what_stands_before_the_tear() -> None:
    torn = '"12/11/2012 20:20:05","1.00","2.00","3'

    points, refused = decode(small(torn, row(10, "5.00", "6.00", "7.00", "8.00")))

    # "3 may be the start of 37.20.
    assert by_device(points)[0] == (
        5,
        "naa.1",
        {"reads_per_sec": 1.0, "average_driver_millisec_per_read": 2.0},
    )
    assert [second for second, _, _ in by_device(points)] == [5, 10, 10]
    assert refused == [("line 2", "the row is cut off", 2)]


def test_short_row_whose_missing_cells_cannot_be_told_is_refused() -> None:
    short = row(5, "1.00", "2.00", "3.00")

    points, refused = decode(small(short, row(10, "5.00", "6.00", "7.00", "8.00")))

    assert {second for second, _, _ in by_device(points)} == {10}
    reason = "the row has too few cells, and which are missing cannot be told"
    assert refused == [("line 2", reason, 1)]


def test_trailing_comma_is_no_cell() -> None:
    points, refused = decode(small(row(0, "1.00", "2.00", "3.00", "4.00") + ","))

    assert len(points) == 2
    assert refused == []


def test_file_that_a_spreadsheet_saved_without_quotes_is_read() -> None:
    body = small(row(0, "1", "2", "", "")).replace(b'"', b"")

    points, refused = decode(body)

    assert by_device(points) == [
        (0, "naa.1", {"reads_per_sec": 1.0, "average_driver_millisec_per_read": 2.0})
    ]
    assert refused == []


def test_cells_behind_the_last_column_are_named_and_the_rest_is_kept() -> None:
    points, refused = decode(small(row(0, "1.00", "2.00", "3.00", "4.00", "5.00", "6.00")))

    assert by_device(points)[1][2] == {
        "reads_per_sec": 3.0,
        "average_driver_millisec_per_read": 4.0,
    }
    assert refused == [("line 2", "cells behind the last column", 2)]


@pytest.mark.parametrize("between", ["", ","])
def test_rows_in_one_line_are_taken_apart(between: str) -> None:
    rows = between.join(
        [row(0, "1.00", "2.00", "3.00", "4.00"), row(5, "5.00", "6.00", "7.00", "8.00")]
    )

    points, refused = decode(small(rows))

    assert [second for second, _, _ in by_device(points)] == [0, 0, 5, 5]
    assert by_device(points)[3][2]["reads_per_sec"] == 7.0
    assert refused == [("line 2", "rows run into one line; they were taken apart", 1)]


def test_row_cut_off_by_another_keeps_what_stands_before_the_tear() -> None:
    rows = '"12/11/2012 20:20:00","1.00",' + row(5, "5.00", "6.00", "7.00", "8.00")

    points, refused = decode(small(rows))

    assert by_device(points)[0] == (0, "naa.1", {"reads_per_sec": 1.0})
    assert [second for second, _, _ in by_device(points)] == [0, 5, 5]
    assert [reason for _, reason, _ in refused] == [
        "rows run into one line; they were taken apart",
        "the row is cut off",
    ]


def test_row_behind_the_rest_of_another_is_kept() -> None:
    points, refused = decode(small('3.00","4' + row(5, "5.00", "6.00", "7.00", "8.00")))

    assert [second for second, _, _ in by_device(points)] == [5, 5]
    assert [reason for _, reason, _ in refused] == [
        "rows run into one line; they were taken apart",
        "the row is cut off",
        "the row does not begin with a time",
    ]


def test_cell_that_is_no_number_is_named() -> None:
    points, refused = decode(small(row(0, "1.00", "nan", "inf", "4.00")))

    assert [fields for _, _, fields in by_device(points)] == [
        {"reads_per_sec": 1.0},
        {"average_driver_millisec_per_read": 4.0},
    ]
    assert refused == [("line 2, column 3: nan", "the cell is not a number", 2)]


@pytest.mark.parametrize("time", ["13/40/2012 20:20:00", "yesterday", "", "12/11/0000 20:20:00"])
def test_row_without_a_time_is_refused(time: str) -> None:
    bad = row(5, "1.00", "2.00", "3.00", "4.00").replace("12/11/2012 20:20:05", time)

    points, refused = decode(small(bad, row(10, "5.00", "6.00", "7.00", "8.00")))

    assert {second for second, _, _ in by_device(points)} == {10}
    assert refused == [("line 2", "the row does not begin with a time", 1)]


def test_files_put_one_behind_another_each_keep_their_columns() -> None:
    first = small(row(0, "1.00", "2.00", "3.00", "4.00"))
    second = small(row(5, "9.00"), header=r'"\\esx1\Physical Disk SCSI Device(naa.9)\Writes/sec"')

    points, refused = decode(first + second)

    assert by_device(points)[2:] == [(5, "naa.9", {"writes_per_sec": 9.0})]
    assert refused == []


def test_column_without_a_counter_and_a_repeated_column_are_named() -> None:
    name = r'"\\esx1\Physical Disk SCSI Device(naa.1)\Reads/sec"'
    body = small(row(0, "1.00", "2.00", "3.00"), header=f'{name},"Comment",{name}')

    points, refused = decode(body)

    assert by_device(points) == [(0, "naa.1", {"reads_per_sec": 1.0})]
    assert refused == [
        ("column 3: Comment", "the column is not named as a counter", 1),
        (
            r"column 4: \\esx1\Physical Disk SCSI Device(naa.1)\Reads/sec",
            "the column is there twice",
            1,
        ),
    ]


@pytest.mark.parametrize("name", ["localhost", "localhost.localdomain", "local"])
def test_host_that_the_file_does_not_name_is_asked_for(name: str) -> None:
    body = small(row(0, "1.00"), header=rf'"\\{name}\Virtual Disk(db1:scsi0:0)\Reads/sec"')

    with pytest.raises(NeedsHostError, match="host"):
        decode(body)

    [point], _ = decode(body, host="esx7")
    assert dict(point.tags)["host"] == "esx7"


def test_host_of_the_file_is_kept_where_one_is_given() -> None:
    [first, *_], _ = decode(small(row(0, "1.00", "2.00", "3.00", "4.00")), host="esx7")

    assert dict(first.tags)["host"] == "esx1"


@pytest.mark.parametrize(
    ("zone", "hours_ahead"),
    [("(UTC)(0)", 0), ("(SE Asia Standard Time)(-420)", 7), ("(Pacific Standard Time)(480)", -8)],
)
def test_minutes_of_the_header_lead_to_utc(zone: str, hours_ahead: int) -> None:
    body = small(row(0, "1.00", "2.00", "3.00", "4.00")).replace(b"(UTC)(0)", zone.encode())

    [first, *_], _ = decode(body)

    assert first.time == START_NS - hours_ahead * 3600 * 10**9


@pytest.mark.parametrize("zone", ["", " (UTC)(90000)", f" (UTC)({'9' * 5000})"])
def test_zone_that_the_file_does_not_name_is_asked_for(zone: str) -> None:
    body = small(row(0, "1.00", "2.00", "3.00", "4.00")).replace(b" (UTC)(0)", zone.encode())

    with pytest.raises(NeedsZoneError, match="time zone"):
        decode(body)

    [first, *_] = decode_esxtop([body], Rejections(), zone=UTC)
    assert first.time == START_NS


def test_lines_before_the_header_are_named() -> None:
    points, refused = decode(b"Connecting...\n\n" + small(row(0, "1.00", "2.00", "3.00", "4.00")))

    assert len(points) == 2
    assert refused == [("line 1", "a line before the header", 1)]


@pytest.mark.parametrize(("before", "is_read"), [(99, True), (100, False)])
def test_header_is_looked_for_in_the_first_hundred_lines(before: int, is_read: bool) -> None:
    body = b"Connecting...\n" * before + small(row(0, "1.00", "2.00", "3.00", "4.00"))

    if is_read:
        assert len(decode(body)[0]) == 2
    else:
        with pytest.raises(FormatError):
            decode(body)


def test_file_that_windows_redirected_is_read() -> None:
    body = small(row(0, "1.00", "2.00", "3.00", "4.00")).replace(b"\n", b"\r\n")

    points, refused = decode(body.decode().encode("utf-16"))

    assert len(points) == 2
    assert refused == []


def test_twenty_thousand_columns_in_memory_of_a_few_rows() -> None:
    wide = capture(Fleet(devices=20, vms=100, worlds=1200), rows=2, seed=3)
    header, *rows = wide.lines()
    columns = len(wide.header)
    assert columns > 19_000

    def long_file() -> Iterator[bytes]:
        yield header
        for _ in range(10):
            yield from rows

    tracemalloc.start()
    try:
        found = sum(len(point.fields) for point in decode_esxtop(long_file(), Rejections()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert found == 10 * len(written(wide))
    # The file has 20 rows; a cell that is held takes about 40 bytes beside its text.
    assert peak < len(header) * 8 + 3 * 100 * columns


def test_row_of_a_growing_file_is_there_when_its_line_ends() -> None:
    taken: list[int] = []
    rows = [row(second, "1.00", "2.00", "3.00", "4.00") for second in (0, 5)]

    def arriving() -> Iterator[bytes]:
        for body in (small(), rows[0].encode(), b"\n", rows[1].encode() + b"\n"):
            yield body
            taken.append(len(points))

    points: list[Point] = []
    for point in decode_esxtop(arriving(), Rejections(), is_growing=True):
        points.append(point)  # noqa: PERF402  the list is looked at while it grows

    # Two devices in each row: none with the header, none before a line's end.
    assert taken == [0, 0, 2, 4]


@pytest.mark.parametrize("is_growing", [False, True])
def test_header_of_a_restart_behind_a_torn_row_begins_a_new_table(is_growing: bool) -> None:
    torn = '"12/11/2012 20:20:00","1.00","2.00","3'
    again = small(row(10, "9.00"), header=r'"\\esx1\Physical Disk SCSI Device(naa.9)\Writes/sec"')
    body = small().rstrip(b"\n") + b"\n" + torn.encode() + again
    rejections = Rejections()

    points = list(decode_esxtop([body], rejections, is_growing=is_growing))

    assert by_device(points) == [
        (0, "naa.1", {"reads_per_sec": 1.0, "average_driver_millisec_per_read": 2.0}),
        (10, "naa.9", {"writes_per_sec": 9.0}),
    ]
    assert [found.reason for found in rejections.all()] == ["the row is cut off"]


def test_first_row_after_a_restart_has_no_rates() -> None:
    zeros = row(5, "0.00", "0.00", "0.00", "0.00")
    body = small(row(0, "1.00", "2.00", "3.00", "4.00")) + small(zeros)

    points, refused = decode(body)

    assert {point.time for point in points} == {START_NS}
    assert refused == [("line 4", "the first row has no rates yet, only zeros", 1)]
