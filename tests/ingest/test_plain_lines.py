"""The native way from lines to rows says what the strict one says, for any body."""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.models import Organisation
from ingest import plain_lines
from ingest.core.batch import Batch, Rules, read_batch
from ingest.core.catalogue import MEASUREMENTS, Field, FieldKind, Measurement
from ingest.core.line_protocol import Precision
from ingest.core.mapping import SeriesKey
from ingest.known_heads import KnownHeads
from ingest.known_series import KnownRow
from ingest.native_lines import IS_BUILT
from ingest.partitions import PART_US
from ingest.plain_lines import PlainLines
from ingest.ready_rows import ReadBody, ready_rows
from ingest.series_rows import open_hours_of
from ingest.sources.registry import find_head

pytestmark = pytest.mark.skipif(not IS_BUILT, reason="the native crate is not built")

ORGANISATION = Organisation(pk=1)
NOW_NS = 1_700_000_000 * 10**9
SECOND_NS = 10**9
RULES = {
    precision: Rules(
        precision=precision,
        now_ns=NOW_NS,
        earliest_ns=NOW_NS - 10**6 * SECOND_NS,
        latest_ns=NOW_NS + 600 * SECOND_NS,
        too_early="too early",
        too_late="too late",
    )
    for precision in Precision
}


class NumberedSeries:
    """Stands for the rows of the database: each series is given a number when it is asked for."""

    def __init__(self) -> None:
        self.keys: list[SeriesKey] = []

    def rows(self, _organisation: object, keys: Sequence[SeriesKey]) -> list[KnownRow]:
        for key in keys:
            if key not in self.keys:
                self.keys.append(key)
        return [self.row(key) for key in keys]

    def row(self, key: SeriesKey) -> KnownRow:
        number = self.keys.index(key)
        hosts = sorted({one.host for one in self.keys[: number + 1]})
        # A host keeps its number however many come after it.
        first = next(place for place, one in enumerate(self.keys) if one.host == key.host)
        assert hosts
        return KnownRow(number=number, series=number + 1000, host=first + 5000)


Row = tuple[SeriesKey, int, tuple[int | float | None, ...]]


def decoded(measurement: Measurement, rows: bytes, keys: Sequence[SeriesKey]) -> Iterator[Row]:
    """Rows of the binary COPY format (PostgreSQL manual, COPY)."""
    at = 0

    def take(form: str) -> int | float:
        nonlocal at
        (value,) = struct.unpack_from(form, rows, at)
        at += struct.calcsize(form)
        return value

    while at < len(rows):
        assert take("!h") == 2 + len(measurement.fields)
        assert take("!i") == 8
        series = int(take("!q")) - 1000
        assert take("!i") == 8
        time_us = int(take("!q")) + 946_684_800_000_000
        values = tuple(
            None if take("!i") == -1 else take("!d" if column.kind is FieldKind.NUMBER else "!q")
            for column in measurement.fields
        )
        yield keys[series], time_us, values


def rows_of(batch: Batch) -> list[Row]:
    return [
        (batch.series[place], time_us, tuple(map(as_stored, measurement.fields, values)))
        for measurement, rows in batch.rows.items()
        for (place, time_us), values in rows.items()
    ]


def as_stored(column: Field, value: int | float | None) -> int | float | None:
    """A column of numbers keeps whole ones as such, too."""
    return float(value) if value is not None and column.kind is FieldKind.NUMBER else value


def united(rows: Iterator[Row]) -> dict[tuple[SeriesKey, int], object]:
    """By series and time; the rows of one body are told apart."""
    found: dict[tuple[SeriesKey, int], object] = {}
    for key, time_us, values in rows:
        assert (key, time_us) not in found, f"twice: {key} {time_us}"
        found[key, time_us] = repr(values)
    return found


def has_collision(rows: Sequence[Row]) -> bool:
    places = [(key, time_us) for key, time_us, _ in rows]
    return len(set(places)) < len(places)


class Reader:
    def __init__(self) -> None:
        self.series = NumberedSeries()
        self.lines = PlainLines(self.series, find_head)  # type: ignore[arg-type]

    def read(self, body: bytes, precision: Precision = Precision.NS) -> ReadBody:
        return self.lines.read(body, RULES[precision], ORGANISATION)

    def rows(self, read: ReadBody) -> list[Row]:
        return [
            row
            for part in read.rows
            for copy in part.copies
            for row in decoded(copy.measurement, copy.rows, self.series.keys)
        ]


def agree(reader: Reader, body: bytes, precision: Precision = Precision.NS) -> None:
    """Both ways have the same rows, counts and reasons; or the database notices a row twice."""
    batch = read_batch(body, RULES[precision], find_head)

    read = reader.read(body, precision)

    counts = (read.accepted, read.ignored, read.rejected, read.unknown_lines)
    assert counts == (
        batch.accepted_lines,
        batch.ignored_lines,
        batch.rejected_lines,
        batch.unknown_lines,
    )
    assert list(read.rejections) == batch.rejections
    assert dict(read.unknown) == dict(batch.unknown)
    assert sorted(map(repr, set(read.facts))) == sorted(map(repr, set(batch.facts)))
    rows = reader.rows(read)
    if has_collision(rows):
        # A line for the strict parser has a row of a plain line: then the COPY is refused.
        assert len(read.rows) == 2
        return
    assert united(iter(rows)) == united(iter(rows_of(batch)))
    touched(reader, read, batch)


def touched(reader: Reader, read: ReadBody, batch: Batch) -> None:
    """Times of series, hours and parts are those of the rows."""
    pure = ready_rows(batch, [reader.series.row(key) for key in batch.series])
    assert {hour for part in read.rows for hour in part.hours} == set(pure.hours)
    assert {one for part in read.rows for one in part.parts} == set(pure.parts)
    assert sorted(one for part in read.rows for one in part.uptimes) == sorted(pure.uptimes)
    times: dict[int, tuple[int, int]] = {}
    for part in read.rows:
        for number, first, last in zip(
            part.numbers.tolist(), part.first_us.tolist(), part.last_us.tolist(), strict=True
        ):
            known = times.get(number, (first, last))
            times[number] = min(first, known[0]), max(last, known[1])
    expected = zip(pure.first_us.tolist(), pure.last_us.tolist(), strict=True)
    assert times == dict(zip(pure.numbers.tolist(), expected, strict=True))


HEADS = st.sampled_from(
    ["diskio,host=h1,name=sda", "diskio,name=sda,host=h1", "diskio,host=h2,name=sdb",
     "diskio,host=h\\ 2,name=sdb", "net,host=h1,interface=eth0", "system,host=h1",
     "cgroup,host=h1,path=/vm\\x2d1", "cgroup,host=h1,path=/a\\,b", "cpu,host=h1,cpu=0",
     "x,host=h1", "diskio,name=sda", "diskio,host=,name=x", "diskio",
     "diskio,host=h1,name=sda,wwid=naa.6",
     "diskio,host=é,name=sda", "nstat,host=h1,name=tcp",
     "internal_write,host=h1,output=influxdb_v2", "m,a=\"b", "#x", "diskio,host=h1,name=\\"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["reads", "writes", "io_time", "io_util", "speed", "bytes_sent", "load1", "uptime", "n_cpus",
     "uptime_format", "io.stat.8:0.rios", "io.stat.8:0.wbytes", "io.stat.8:16.rios",
     "io.stat.8:0.x", "io.pressure.some.total", "usage_idle", "TcpOutSegs",
     "metrics_written", "", "a\\ b", "é"]
)  # fmt: skip
VALUES = st.sampled_from(
    ["1i", "0i", "-1i", "-0i", "-5", "-0", "7", "7.0", "7.", "0.25", "-2.5", "1e5", "12u", "-3u",
     "t", "FALSE", "tRUE", "9223372036854775807i", "9223372036854775808i", "999999999999999999i",
     "18446744073709551615u", "123456789012345", "1234567890123456", "0.1234567890123456789",
     '"text"', '"a=b,c d"', '"a\\"b"', '"open', '""', "", "i", "NaN", "٣"]
)  # fmt: skip
TIMES = st.one_of(
    st.integers(0, 4).map(lambda step: f" {NOW_NS - step * 450 * SECOND_NS}"),
    st.sampled_from(["", f" {NOW_NS}", f" {NOW_NS + 1}", f" {NOW_NS + 601 * SECOND_NS}", " 0",
                     " -5", f"  {NOW_NS}", f" {NOW_NS} ", " 9223372036854775807",
                     " 9223372036854775808", " 1 2", " x"]),
)  # fmt: skip
FIELDS = st.lists(st.tuples(NAMES, VALUES).map("=".join), min_size=1, max_size=4).map(",".join)
GOOD_FIELDS = st.lists(
    st.tuples(
        st.sampled_from(["reads", "writes", "io_time", "io.stat.8:0.rios", "uptime", "load1"]),
        st.sampled_from(["1i", "2i", "30i"]),
    ).map("=".join),
    min_size=1,
    max_size=3,
).map(",".join)
LINES = st.builds("{} {}{}".format, HEADS, st.one_of(GOOD_FIELDS, FIELDS), TIMES)
OTHERS = st.sampled_from(
    [
        "",
        "\r",
        "#comment",
        "# \x00",
        " ",
        "rubbish",
        '"',
        'x="',
        " diskio,host=h1,name=sda reads=1i 5",
    ]
)
BODIES = st.lists(st.one_of(LINES, LINES, LINES, OTHERS), max_size=12).map("\n".join)


@given(st.lists(BODIES, min_size=1, max_size=3), st.sampled_from(list(Precision)))
def test_any_body_gives_the_same_rows_and_reasons(bodies: list[str], precision: Precision) -> None:
    reader = Reader()
    for body in bodies:
        agree(reader, body.encode(), precision)


@given(st.lists(st.binary(max_size=60), max_size=6).map(b"\n".join))
def test_any_bytes_give_the_same_reasons(body: bytes) -> None:
    agree(Reader(), body)


def test_official_corpus_is_read_alike(shared_dir: Path) -> None:
    corpus = json.loads((shared_dir / "data" / "line-protocol" / "corpus.json").read_text())
    texts = [case["input"]["text"] for case in corpus["decode"].values()]
    reader = Reader()

    for text in texts:
        body = base64.b64decode(text["binary"]) if isinstance(text, dict) else text.encode()
        # Once with heads that are new, and once with known ones.
        for _ in range(2):
            agree(reader, body)
            # Under a name that is stored, the lines are read as far as any.
            agree(reader, re.sub(rb"(?m)^[^\s,#]+", b"diskio,host=h1,name=sda", body))

    assert len(texts) == 240


def test_plain_lines_of_known_heads_are_read_natively() -> None:
    reader = Reader()
    body = b"diskio,host=h1,name=sda reads=7i,io_util=0.5 %d\nsystem,host=h1 load1=0.5 %d" % (
        NOW_NS,
        NOW_NS,
    )

    read = reader.read(body)

    (part,) = read.rows
    assert [(copy.measurement.name, copy.count) for copy in part.copies] == [
        ("diskio", 1),
        ("system", 1),
    ]
    assert (read.accepted, read.rejected) == (2, 0)


def test_rows_of_one_series_and_time_are_united_in_the_order_of_lines() -> None:
    reader = Reader()
    lines = ["reads=1i", "writes=2i", "reads=3i,io_time=4i"]
    body = "\n".join(f"diskio,host=h1,name=sda {line} {NOW_NS}" for line in lines)

    ((_, _, values),) = reader.rows(reader.read(body.encode()))

    names = [column.name for column in MEASUREMENTS[0].fields]
    # The later line wins.
    assert dict(zip(names, values, strict=True)) == {
        **dict.fromkeys(names), "reads": 3, "writes": 2, "io_time": 4,
    }  # fmt: skip


ODD_LINES = st.builds(
    b"%b %b=1i %d".__mod__,
    st.tuples(
        st.sampled_from(
            [b"diskio,host=h1,name=sda", b"x,host=h1", b"cpu,host=h1", b"zfs,host=h1"]
        ),
        st.one_of(st.sampled_from([b"reads", b"a", b"\xff"]), st.binary(max_size=3)),
        st.sampled_from([NOW_NS, NOW_NS + 601 * SECOND_NS]),
    ),
)


@given(st.lists(st.lists(ODD_LINES, max_size=4).map(b"\n".join), min_size=2, max_size=3))
def test_any_name_of_a_field_of_a_known_head_gives_the_same_reasons(bodies: list[bytes]) -> None:
    reader = Reader()
    for body in bodies:
        agree(reader, body)


@pytest.mark.parametrize("fields", ["reads=1i", "reads=1i,f=2i"])
def test_line_whose_time_is_refused_makes_no_series(fields: str) -> None:
    reader = Reader()
    reader.read(b"diskio,host=h1,name=sda reads=1i %d" % NOW_NS)
    late = NOW_NS + 601 * SECOND_NS

    for head in ("diskio,host=h1,name=sda", "diskio,host=h2,name=sda"):
        agree(reader, f"{head} {fields} {late}".encode())

    assert [key.host for key in reader.series.keys] == ["h1"]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param("free=1i", id="tags that are too long with the field's"),
        pytest.param("io.stat.{}.rios=1i".format("8" * 2040), id="a long device of a cgroup"),
    ],
)
def test_field_that_cannot_be_kept_refuses_its_line_alone(fields: str) -> None:
    reader = Reader()
    head = "cgroup,host=h1,path=/a" if "io.stat" in fields else f"zfs,host=h1,x={'c' * 2020}"
    body = f"{head} {fields} {NOW_NS}\ndiskio,host=h1,name=sda reads=7i {NOW_NS}"

    for _ in range(2):
        agree(reader, body.encode())


def test_head_with_too_many_fields_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_lines, "MOST_FIELDS", 3)
    reader = Reader()
    for fields in ("reads=1i,a=1i", "reads=2i,b=1i,c=1i", "reads=3i,d=1i"):
        agree(reader, f"diskio,host=h1,name=sda {fields} {NOW_NS}".encode())


def flood(number: int) -> bytes:
    """A body with a head that nobody knows and a field that no other body has."""
    return b"\n".join(
        [
            b"x,host=h%d,y=%s a=1i %d" % (number, b"z" * 1000, NOW_NS),
            b"diskio,host=h1,name=sda reads=1i,f%s%d=1i %d" % (b"f" * 1000, number, NOW_NS),
        ]
    )


def test_what_is_known_of_heads_and_fields_is_bounded() -> None:
    heads = KnownHeads(NumberedSeries(), find_head, most_bytes=100_000)  # type: ignore[arg-type]
    sizes = []
    for number in range(200):
        heads.read(flood(number), RULES[Precision.NS], ORGANISATION)
        sizes.append(heads.size_bytes)

    assert max(sizes) <= 100_000
    # It was forgotten, because more than that came.
    assert sizes != sorted(sizes)


def test_flood_of_one_sender_forgets_no_other() -> None:
    heads = KnownHeads(NumberedSeries(), find_head, most_bytes=100_000)  # type: ignore[arg-type]
    calm = b"diskio,host=h1,name=sda reads=1i %d" % NOW_NS
    heads.read(calm, RULES[Precision.NS], ORGANISATION)
    own = heads.size_bytes

    for number in range(200):
        heads.read(flood(number), RULES[Precision.NS], Organisation(pk=2))
        assert heads.size_bytes >= own
        before = heads.size_bytes
        heads.read(calm, RULES[Precision.NS], ORGANISATION)
        assert heads.size_bytes == before


def test_times_are_cut_into_the_same_pieces_on_both_sides() -> None:
    import sluice_lines

    assert (sluice_lines.QUARTER_US, sluice_lines.HOUR_US) == (900_000_000, 3_600_000_000)
    assert sluice_lines.PART_US == PART_US
    ((_, begin), (_, end)) = open_hours_of([(1, 0)])
    assert (begin, end) == (-sluice_lines.HOUR_US, 0)


def test_host_of_the_token_is_kept_to() -> None:
    lines = PlainLines(NumberedSeries(), find_head)  # type: ignore[arg-type]
    rules = Rules(
        precision=Precision.NS, now_ns=NOW_NS, earliest_ns=0, latest_ns=NOW_NS + 1,
        too_early="", too_late="", only_host="h1",
    )  # fmt: skip
    body = f"diskio,host=h1,name=a reads=1i {NOW_NS}\ndiskio,host=h2,name=a reads=1i {NOW_NS}"

    for _ in range(2):
        read = lines.read(body.encode(), rules, ORGANISATION)
        assert (read.accepted, read.rejected) == (1, 1)
        assert [one.reason for one in read.rejections] == [
            'this token may only send samples of host "h1"'
        ]


def test_moments_are_near_the_present() -> None:
    assert datetime.fromtimestamp(NOW_NS / 1e9, UTC).year == 2023
