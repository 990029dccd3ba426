import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.errors import (
    FormatError,
    NeedsDateOrderError,
    NeedsHostError,
    NeedsTimeError,
    NeedsZoneError,
)
from ingest.core.decoders.iostat_columns import COLUMNS
from ingest.core.decoders.iostat_text import Schedule, decode_iostat
from ingest.core.decoders.local_time import DateOrder
from ingest.core.decoders.rejections import Rejections
from ingest.core.point import FieldValue, Point
from tests.ingest.core.decoders.chunks import split_at
from tests.ingest.core.decoders.good_points import are_good

START = datetime(2026, 3, 22, 14, 0, tzinfo=UTC)
EVERY_5_S = Schedule(first_at=START, interval_s=5)
BANNER = "Linux 6.1.0-18-amd64 (kvm-01) \t03/22/2026 \t_x86_64_\t(4 CPU)"
CPU = """\
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           0.14    0.00    0.16    0.00    0.00   99.70
"""
SINCE_BOOT = "the first report is the mean since the machine started"


def ns(second: int) -> int:
    return (int(START.timestamp()) + second) * 10**9


def decode(text: str, **known: Any) -> tuple[list[Point], list[tuple[str, str, int]]]:
    rejections = Rejections()
    points = list(decode_iostat([text.encode()], rejections, **known))
    return points, [(found.part, found.reason, found.count) for found in rejections.all()]


def table(header: str, *rows: str) -> str:
    return "\n".join([header, *rows, "", ""])


def read(text: str) -> dict[str, FieldValue]:
    """The fields of the one point of a table."""
    [point], refused = decode(text, host="kvm-01", schedule=EVERY_5_S)
    assert refused == []
    return point.fields


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        pytest.param(
            table(
                "Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s"
                " avgrq-sz avgqu-sz   await r_await w_await  svctm  %util",
                "sda               0.50     0.02    2.00    1.00     8.00     4.00"
                "     4.00     0.25    0.88    0.53    1.29   0.52   0.01",
            ),
            {
                "reads_merged_per_s": 0.5,
                "writes_merged_per_s": 0.02,
                "reads_per_s": 2.0,
                "writes_per_s": 1.0,
                "read_bytes_per_s": 8 * 512,
                "write_bytes_per_s": 4 * 512,
                "request_bytes": 4 * 512,
                "queue": 0.25,
                "await_ms": 0.88,
                "read_await_ms": 0.53,
                "write_await_ms": 1.29,
                "service_ms": 0.52,
                "util_percent": 0.01,
            },
            id="sysstat 10 in sectors",
        ),
        pytest.param(
            table(
                "Device            r/s     w/s     rMB/s     wMB/s   rrqm/s   wrqm/s  %rrqm"
                "  %wrqm r_await w_await aqu-sz rareq-sz wareq-sz  svctm  %util",
                "sda              3.00    1.00      2.00      0.50     0.00     0.00   1.00"
                "   2.00   20.12    3.00   0.50     4.00     8.00   0.00   7.00",
            ),
            {
                "reads_per_s": 3.0,
                "writes_per_s": 1.0,
                "read_bytes_per_s": 2 * 1024**2,
                "write_bytes_per_s": 1024**2 / 2,
                "reads_merged_per_s": 0.0,
                "writes_merged_per_s": 0.0,
                "reads_merged_percent": 1.0,
                "writes_merged_percent": 2.0,
                "read_await_ms": 20.12,
                "write_await_ms": 3.0,
                "queue": 0.5,
                "read_request_bytes": 4 * 1024,
                "write_request_bytes": 8 * 1024,
                "service_ms": 0.0,
                "util_percent": 7.0,
            },
            id="sysstat 11 in MB",
        ),
        pytest.param(
            table(
                "Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s"
                "     wkB/s   wrqm/s  %wrqm w_await wareq-sz     d/s     dkB/s   drqm/s"
                "  %drqm d_await dareq-sz     f/s f_await  aqu-sz  %util",
                "dm-0             2.38     98.00     0.00   0.00    0.55    41.00    7.18"
                "    129.00     0.00   0.00    0.40    18.00    3.00      5.00     1.00"
                "   9.00    8.00     2.00    6.00    1.50    0.25   0.34",
            ),
            {
                "reads_per_s": 2.38,
                "read_bytes_per_s": 98 * 1024,
                "reads_merged_per_s": 0.0,
                "reads_merged_percent": 0.0,
                "read_await_ms": 0.55,
                "read_request_bytes": 41 * 1024,
                "writes_per_s": 7.18,
                "write_bytes_per_s": 129 * 1024,
                "writes_merged_per_s": 0.0,
                "writes_merged_percent": 0.0,
                "write_await_ms": 0.4,
                "write_request_bytes": 18 * 1024,
                "discards_per_s": 3.0,
                "discard_bytes_per_s": 5 * 1024,
                "discards_merged_per_s": 1.0,
                "discards_merged_percent": 9.0,
                "discard_await_ms": 8.0,
                "discard_request_bytes": 2 * 1024,
                "flushes_per_s": 6.0,
                "flush_await_ms": 1.5,
                "queue": 0.25,
                "util_percent": 0.34,
            },
            id="sysstat 12",
        ),
        pytest.param(
            table(
                "Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util",
                "sda               8.59    279.00     1.75   12.00    32.00    0.10   0.46",
            ),
            {
                "transfers_per_s": 8.59,
                "bytes_per_s": 279 * 1024,
                "merged_per_s": 1.75,
                "await_ms": 12.0,
                "request_bytes": 32 * 1024,
                "queue": 0.1,
                "util_percent": 0.46,
            },
            id="short (-s)",
        ),
        pytest.param(
            table(
                "      tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn    kB_dscd"
                " Device",
                "     8.59         2.0k         1.5M         0.0k       1.5G     400.9M       0.0k"
                " sda",
            ),
            {
                "transfers_per_s": 8.59,
                "read_bytes_per_s": 2 * 1024,
                "write_bytes_per_s": 1.5 * 1024**2,
                "discard_bytes_per_s": 0.0,
            },
            id="for people (-h)",
        ),
        pytest.param(
            table(
                "Device:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn",
                "system-test2_rimage_0",
                "                  0,24         2,00         4,00     203305      42368",
            ),
            {
                "transfers_per_s": 0.24,
                "read_bytes_per_s": 2 * 512,
                "write_bytes_per_s": 4 * 512,
            },
            id="long name on its own line, decimal comma",
        ),
    ],
)
def test_columns_of_each_version_are_read(text: str, fields: dict[str, float]) -> None:
    assert read(text) == pytest.approx(fields)


HEADER = "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn"


def row(device: str, tps: float) -> str:
    return f"{device:10} {tps:10.2f}         1.00         2.00          3          4"


def timed(*times: str, order: str = BANNER) -> str:
    reports = (f"{time}\n{CPU}\n{table(HEADER, row('sda', n))}" for n, time in enumerate(times))
    return order + "\n\n" + "\n".join(reports)


@given(
    reports=st.lists(st.lists(st.sampled_from(["sda", "dm-0", "md/x"]), unique=True), min_size=1),
    places=st.lists(st.integers(0, 2000), max_size=4),
    columns=st.lists(
        st.sampled_from(sorted(COLUMNS)), unique_by=lambda c: COLUMNS[c].field, min_size=1
    ),
)
def test_every_row_is_found_whatever_the_columns_and_chunks(
    reports: list[list[str]], places: list[int], columns: list[str]
) -> None:
    header = "Device " + " ".join(columns)
    values = " ".join(f"{2 * place}.00" for place in range(len(columns)))
    text = "\n".join(
        table(header, *(f"{device} {values}" for device in report)) for report in reports
    )
    rejections = Rejections()

    points = list(
        decode_iostat(split_at(text.encode(), places), rejections, host="h", schedule=EVERY_5_S)
    )

    assert [(point.tags[0][1], point.time) for point in points] == [
        (device, ns(5 * number)) for number, report in enumerate(reports) for device in report
    ]
    expected = {COLUMNS[c].field: 2 * n * COLUMNS[c].scale for n, c in enumerate(columns)}
    assert all(point.fields == expected for point in points)
    assert rejections.all() == []


@given(st.text(max_size=300) | st.text("Devicesda 0.1:/-%tps\n", max_size=300))
def test_text_of_any_kind_gives_points_reasons_or_a_named_error(text: str) -> None:
    points = []
    with suppress(FormatError):
        points, _ = decode(
            text, host="h", zone=UTC, date_order=DateOrder.DAY_FIRST, schedule=EVERY_5_S
        )

    assert are_good(points)


def test_report_since_boot_is_left_out_and_said() -> None:
    points, refused = decode(timed("03/22/2026 02:00:00 PM", "03/22/2026 02:00:05 PM"), zone=UTC)

    assert [(point.time, point.fields["transfers_per_s"]) for point in points] == [(ns(5), 1.0)]
    assert dict(points[0].tags) == {"host": "kvm-01", "device": "sda"}
    assert refused == [("report 1", SINCE_BOOT, 1)]


def test_first_report_of_a_run_without_it_is_kept() -> None:
    text = timed("2026-03-22T14:00:00+0000", "2026-03-22T14:00:05+0000")

    points, refused = decode(text, first_is_since_boot=False)

    assert [point.time for point in points] == [ns(0), ns(5)]
    assert refused == []


def test_each_run_in_a_file_has_its_report_since_boot() -> None:
    run = timed("2026-03-22T14:00:00Z", "2026-03-22T14:00:05Z")

    points, refused = decode(run + "\n" + run)

    assert [point.fields["transfers_per_s"] for point in points] == [1.0, 1.0]
    assert refused == [("report 1", SINCE_BOOT, 2)]


def test_file_without_banner_begins_with_a_report_that_is_kept() -> None:
    points, _ = decode(table(HEADER, row("sda", 1)), host="h", schedule=EVERY_5_S)

    assert [point.time for point in points] == [ns(0)]


def test_schedule_counts_the_report_since_boot() -> None:
    body = BANNER + "\n\n" + "\n".join(table(HEADER, row("sda", n)) for n in range(3))

    points, _ = decode(body, schedule=EVERY_5_S)

    assert [(point.time, point.fields["transfers_per_s"]) for point in points] == [
        (ns(5), 1.0),
        (ns(10), 2.0),
    ]


def test_times_are_asked_for() -> None:
    with pytest.raises(NeedsTimeError, match="when the first was made"):
        decode(table(HEADER, row("sda", 1)), host="h")


def test_host_is_asked_for() -> None:
    with pytest.raises(NeedsHostError, match="host"):
        decode(table(HEADER, row("sda", 1)), schedule=EVERY_5_S)


def test_zone_is_asked_for() -> None:
    with pytest.raises(NeedsZoneError, match="time zone"):
        decode(timed("03/22/2026 14:00:00", "03/22/2026 14:00:05"))


def test_order_of_dates_is_asked_for_unless_the_banner_tells() -> None:
    times = ("03/04/2026 14:00:00", "03/04/2026 14:00:05")
    unclear = BANNER.replace("03/22/2026", "03/04/2026")

    with pytest.raises(NeedsDateOrderError, match="day or the month"):
        decode(timed(*times, order=unclear), zone=UTC)

    [told], _ = decode(timed(*times), zone=UTC)
    [answered], _ = decode(timed(*times, order=unclear), zone=UTC, date_order=DateOrder.DAY_FIRST)
    assert told.time == int(datetime(2026, 3, 4, 14, 0, 5, tzinfo=UTC).timestamp()) * 10**9
    assert answered.time == int(datetime(2026, 4, 3, 14, 0, 5, tzinfo=UTC).timestamp()) * 10**9


def test_report_that_lost_its_time_is_named_and_its_neighbours_are_kept() -> None:
    text = timed(*(f"2026-03-22T14:00:{5 * n:02}Z" for n in range(4)))

    points, refused = decode(text.replace("2026-03-22T14:00:10Z", "2026-03-2"))

    assert [point.time for point in points] == [ns(5), ns(15)]
    assert [reason for _, reason, _ in refused] == [
        SINCE_BOOT,
        "the line is none of iostat",
        "the report has no time",
    ]


def test_device_may_stand_last_and_totals_of_groups_with_it() -> None:
    text = table("  tps Device", " 1.00 sda", " 3.00  disks", " 2.00 sdb")

    points, refused = decode(text, host="h", schedule=EVERY_5_S)

    assert [(dict(point.tags)["device"], point.fields) for point in points] == [
        ("sda", {"transfers_per_s": 1.0}),
        ("sdb", {"transfers_per_s": 2.0}),
    ]
    assert refused == []


def test_totals_of_groups_are_left_out() -> None:
    text = table(HEADER, row("sda", 1), " disks" + row("", 5)[6:], row("sdb", 2))

    points, refused = decode(text, host="h", schedule=EVERY_5_S)

    assert [dict(point.tags)["device"] for point in points] == ["sda", "sdb"]
    assert refused == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("sdx 1.00 2.00", "the row does not fit the columns above it"),
        ("sdx 1.00 2.00 3.00 4 5 6", "the row does not fit the columns above it"),
        ("s\0x 1.00 2.00 3.00 4 5", "the row does not fit the columns above it"),
    ],
)
def test_bad_row_is_named_and_the_next_is_kept(bad: str, reason: str) -> None:
    points, refused = decode(table(HEADER, bad, row("sda", 7)), host="h", schedule=EVERY_5_S)

    assert [point.fields["transfers_per_s"] for point in points] == [7.0]
    assert [found for _, found, _ in refused] == [reason]


def test_cell_that_is_no_number_is_named_and_the_rest_of_the_row_is_kept() -> None:
    [point], refused = decode(table(HEADER, "sda x 1.00 2.00 3 4"), host="h", schedule=EVERY_5_S)

    assert point.fields == {"read_bytes_per_s": 1024.0, "write_bytes_per_s": 2048.0}
    assert refused == [("line 2: x", "the cell is not a number", 1)]


def test_unknown_column_is_named_and_costs_itself_alone() -> None:
    [point], refused = decode(
        table("Device tps new/s", "sda 1.00 2.00"), host="h", schedule=EVERY_5_S
    )

    assert point.fields == {"transfers_per_s": 1.0}
    assert refused == [("new/s", "the column is not known", 1)]


def test_row_that_the_end_of_the_file_cuts_off_is_refused() -> None:
    text = table("Device tps", "sda 1.00") + "\nDevice tps\nsda 1.00\nsdb 17.2"

    points, refused = decode(text, host="h", schedule=EVERY_5_S)

    # 17.2 may have been 17.25.
    assert len(points) == 2
    assert refused == [("sdb 17.2", "the last line may be cut off", 1)]


def test_file_of_another_kind_is_a_named_error() -> None:
    with pytest.raises(FormatError, match="no table of devices"):
        decode("total 12\n-rw-r--r-- 1 root root 0 a\n")


def jc_rows(found: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, float]]]:
    """Devices and raw values of each row, as another program read the same file."""
    for entry in found:
        if entry["type"] == "device":
            yield entry["device"], {k: v for k, v in entry.items() if isinstance(v, float | int)}


@pytest.mark.parametrize("system", ["centos-7.7", "ubuntu-18.04", "ubuntu-20.10"])
@pytest.mark.parametrize("form", ["iostat", "iostat-m", "iostat-x", "iostat-mx"])
def test_captures_are_read_as_another_program_reads_them(
    shared_dir: Path, system: str, form: str
) -> None:
    folder = shared_dir / "data" / "iostat" / "jc" / system
    text = (folder / f"{form}.out").read_text() + "\n"
    theirs = list(jc_rows(json.loads((folder / f"{form}.json").read_text())))

    points, refused = decode(text, schedule=EVERY_5_S, first_is_since_boot=False)

    assert [point.tags[0][1] for point in points] == [device for device, _ in theirs]
    names = {
        name.lower().replace("%", "percent_").replace("/", "_").replace("-", "_"): column
        for name, column in COLUMNS.items()
    }
    for point, (_, raw) in zip(points, theirs, strict=True):
        assert point.fields == pytest.approx(
            {names[n].field: v * names[n].scale for n, v in raw.items() if n in names}
        )
    assert refused == []


def test_long_capture_is_read_whole(shared_dir: Path) -> None:
    body = (shared_dir / "data" / "iostat" / "kerub" / "iostat.txt").read_text()

    points, refused = decode(body, schedule=EVERY_5_S)

    # 60 reports, the first of which is since boot, of the same devices each.
    assert len(points) == 59 * body.split("\n\n")[1].strip().count("\n")
    assert {dict(point.tags)["host"] for point in points} == {"localshot"}
    assert max(point.time or 0 for point in points) == ns(59 * 5)
    assert refused == [("report 1", SINCE_BOOT, 1)]
