import gzip
import re
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.diskstats import decode_diskstats
from ingest.core.decoders.errors import FormatError, NeedsTimeError, NeedsZoneError
from ingest.core.decoders.rejections import Rejections
from ingest.core.point import Point
from tests.ingest.core.decoders.chunks import split_at

TIME_NS = 1_700_000_000 * 10**9
FIELDS_14 = (
    "reads merged_reads read_bytes read_time writes merged_writes write_bytes write_time"
    " iops_in_progress io_time weighted_io_time"
)
FIELDS_18 = f"{FIELDS_14} discards merged_discards discard_bytes discard_time"
FIELDS_20 = f"{FIELDS_18} flushes flush_time"
SECTORS = {"read_bytes", "write_bytes", "discard_bytes"}


def decode(
    text: str, time_ns: int | None = TIME_NS
) -> tuple[list[Point], list[tuple[str, str, int]]]:
    rejections = Rejections()
    points = list(decode_diskstats([text.encode()], rejections, host="kvm-01", time_ns=time_ns))
    return points, [(found.part, found.reason, found.count) for found in rejections.all()]


@pytest.mark.parametrize("names", [FIELDS_14, FIELDS_18, FIELDS_20], ids=["14", "18", "20"])
@given(
    counters=st.lists(st.integers(0, 2**50), min_size=17, max_size=17),
    places=st.lists(st.integers(0, 500), max_size=3),
)
def test_every_counter_is_found(names: str, counters: list[int], places: list[int]) -> None:
    found = names.split()
    words = [str(counter) for counter in counters[: len(found)]]
    body = f"   8       0 sda {' '.join(words)}\n".encode()

    [point] = decode_diskstats(
        split_at(body, places), Rejections(), host="kvm-01", time_ns=TIME_NS
    )

    assert (point.measurement, point.time) == ("diskio", TIME_NS)
    assert point.tags == (("host", "kvm-01"), ("name", "sda"))
    assert point.fields == {
        name: counter * (512 if name in SECTORS else 1)
        for name, counter in zip(found, counters, strict=False)
    }


LINE = "8 0 sda " + " ".join("1" for _ in range(11))


@pytest.mark.parametrize(
    ("line", "time_ns"),
    [
        ("1700000010", TIME_NS + 10 * 10**9),
        ("1700000010.25", TIME_NS + 10 * 10**9 + 250_000_000),
        ("2023-11-14T22:13:30+00:00", TIME_NS + 10 * 10**9),
        ("2023-11-14 22:13:30Z", TIME_NS + 10 * 10**9),
    ],
)
def test_line_with_a_time_is_that_of_the_lines_behind_it(line: str, time_ns: int) -> None:
    points, refused = decode(f"{LINE}\n{line}\n{LINE}\n{LINE}\n")

    assert [point.time for point in points] == [TIME_NS, time_ns, time_ns]
    assert refused == []


def test_what_the_file_does_not_say_is_asked_for() -> None:
    with pytest.raises(NeedsTimeError, match="when it was read"):
        decode(f"{LINE}\n", time_ns=None)
    with pytest.raises(NeedsZoneError, match="time zone"):
        decode(f"2023-11-14 22:13:30\n{LINE}\n")

    body = f"2023-11-14 22:13:20\n{LINE}\n".encode()
    [point] = decode_diskstats([body], Rejections(), host="h", zone=UTC)
    assert point.time == TIME_NS


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("8 1 sda1 1 2 3 4", "a line has 14, 18 or 20 words"),
        (f"{LINE} 5", "a line has 14, 18 or 20 words"),
        (LINE.replace("sda 1", "sda -1"), "a counter is not a number"),
        (LINE.replace("sda 1", "sda 1.5"), "a counter is not a number"),
        (LINE.replace("sda 1", f"sda {2**63}"), "a counter does not fit 64 bits"),
        (LINE.replace("sda", "s\0a"), "the name cannot be stored"),
        ("cat: /proc/diskstats: Permission denied", "a line has 14, 18 or 20 words"),
    ],
)
def test_bad_line_is_named_and_the_next_is_kept(bad: str, reason: str) -> None:
    points, refused = decode(f"{bad}\n{LINE}\n")

    assert len(points) == 1
    assert [(found, count) for _, found, count in refused] == [(reason, 1)]


def test_largest_counter_of_64_bits_is_kept() -> None:
    [point], refused = decode(LINE.replace("sda 1", f"sda {2**63 - 1}") + "\n")

    assert point.fields["reads"] == 2**63 - 1
    assert refused == []


def test_line_that_the_end_of_the_file_cuts_off_is_refused() -> None:
    points, refused = decode(f"{LINE}\n{LINE}2")

    # The last counter may have more digits than the file.
    assert len(points) == 1
    assert [reason for _, reason, _ in refused] == ["the last line may be cut off"]


@pytest.mark.parametrize("text", ["", "nothing\n", "1700000010\n"])
def test_file_of_another_kind_is_a_named_error(text: str) -> None:
    with pytest.raises(FormatError, match="/proc/diskstats"):
        decode(text)


def exported(page: str, metric: str) -> Iterator[tuple[str, float]]:
    for device, value in re.findall(rf'^{metric}{{device="([^"]+)"}} (\S+)$', page, re.MULTILINE):
        yield device, float(value)


@pytest.mark.parametrize(
    ("metric", "field", "unit"),
    [
        ("node_disk_reads_completed_total", "reads", 1),
        ("node_disk_written_bytes_total", "write_bytes", 1),
        ("node_disk_write_time_seconds_total", "write_time", 1000),
        ("node_disk_io_time_weighted_seconds_total", "weighted_io_time", 1000),
        ("node_disk_discard_time_seconds_total", "discard_time", 1000),
        ("node_disk_flush_requests_total", "flushes", 1),
    ],
)
def test_capture_is_read_as_another_collector_reads_it(
    shared_dir: Path, metric: str, field: str, unit: int
) -> None:
    folder = shared_dir / "data" / "linux-proc" / "node_exporter"
    page = gzip.decompress((folder / "e2e-output.txt.gz").read_bytes()).decode()
    theirs = dict(exported(page, metric))

    points, _ = decode((folder / "diskstats").read_text())

    # It leaves partitions and ram disks out.
    ours = {dict(point.tags)["name"]: point.fields for point in points}
    assert theirs
    assert {device: ours[device][field] for device in theirs} == pytest.approx(
        {device: value * unit for device, value in theirs.items()}
    )


def test_captures_of_each_length_are_read(shared_dir: Path) -> None:
    folder = shared_dir / "data" / "linux-proc"
    text = "".join((folder / name / "diskstats").read_text() for name in ("node_exporter", "jc"))

    points, refused = decode(text)

    assert {len(point.fields) for point in points} == {11, 15, 17}
    assert len(points) == sum(1 for line in text.splitlines() if line.strip())
    assert refused == []
