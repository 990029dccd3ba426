import re
import traceback
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core import catalogue
from ingest.core.batch import (
    MOST_REASONS,
    Batch,
    Rules,
    UnknownMeasurementError,
    batch_of_points,
    read_batch,
)
from ingest.core.line_protocol import Precision
from ingest.core.mapping import Head, SeriesKey, Tags
from ingest.core.point import Point, PointError
from ingest.core.stored_values import RowPlan
from ingest.sources.registry import find_head

NOW_NS = 1_700_000_000_000_000_000
NOW_US = NOW_NS // 1000
RULES = Rules(
    precision=Precision.NS,
    now_ns=NOW_NS,
    earliest_ns=NOW_NS - 30 * 86_400 * 10**9,
    latest_ns=NOW_NS + 600 * 10**9,
    too_early="too early",
    too_late="too late",
)


def batch_of(*lines: str, rules: Rules = RULES) -> Batch:
    return read_batch("\n".join(lines).encode("utf-8", "surrogateescape"), rules, find_head)


def reasons(batch: Batch) -> list[tuple[int, str, int]]:
    return [(r.line_number, r.reason, r.line_count) for r in batch.rejections]


def test_disk_line_becomes_one_row() -> None:
    batch = batch_of(f"diskio,host=h1,name=sda writes=7i,reads=5i,io_util=1.5 {NOW_NS}")

    assert batch.series == [
        SeriesKey(
            table=catalogue.DISKIO,
            host="h1",
            subject="sda",
            tags=(("host", "h1"), ("name", "sda")),
            source="diskio",
        )
    ]
    assert batch.rows == {
        catalogue.DISKIO: {(0, NOW_US): (5, 7, None, None, None, None, None, None, None)}
    }
    assert (batch.accepted_lines, batch.rejected_lines) == (1, 0)


def test_fields_of_one_moment_in_several_lines_are_one_row() -> None:
    batch = batch_of(
        f"system,host=h1 load1=0.5,n_cpus=2i {NOW_NS}",
        f"system,host=h1 uptime=99i {NOW_NS}",
        f"system,host=h1 load1=0.75 {NOW_NS}",
    )

    assert batch.rows[catalogue.SYSTEM] == {(0, NOW_US): (0.75, None, None, 2, 99)}
    assert batch.accepted_lines == 3


def test_tags_in_another_order_are_the_same_series() -> None:
    batch = batch_of(
        f"net,host=h1,interface=e0 bytes_sent=1i {NOW_NS}",
        f"net,interface=e0,host=h1 bytes_sent=2i {NOW_NS + 1000}",
    )

    assert len(batch.series) == 1
    assert len(batch.rows[catalogue.NET]) == 2


def test_tags_that_differ_in_escapes_only_are_different_series() -> None:
    batch = batch_of(
        f"net,host=h1,interface=a\\,b\\=c bytes_sent=1i {NOW_NS}",
        f"net,host=h1,interface=a,b=c bytes_sent=1i {NOW_NS}",
    )

    assert [key.tags_key for key in batch.series] == [
        "host=h1,interface=a\\,b\\=c",
        "b=c,host=h1,interface=a",
    ]


def test_two_sources_that_count_one_disk_make_one_row() -> None:
    batch = batch_of(
        f"diskio,host=h1,name=sda reads=5i,writes=7i {NOW_NS}",
        f"node_disk_reads_completed_total,host=h1,device=sda counter=6 {NOW_NS}",
    )

    assert [key.tags_key for key in batch.series] == ["host=h1,name=sda"]
    assert [row[:2] for row in batch.rows[catalogue.DISKIO].values()] == [(6, 7)]


def test_totals_and_rates_of_one_disk_are_two_series() -> None:
    batch = batch_of(
        f"diskio,host=h1,name=sda reads=5i {NOW_NS}",
        f"iostat,host=h1,device=sda reads_per_s=2 {NOW_NS}",
    )

    assert [key.tags_key for key in batch.series] == ["host=h1,name=sda", "host=h1,name=sda,rate"]
    assert [row[0] for row in batch.rows[catalogue.DISKIO].values()] == [5, 2000]


def test_cgroup_line_becomes_a_row_per_device_and_one_of_pressure() -> None:
    batch = batch_of(
        "cgroup,host=h1,path=/a "
        "io.stat.8:0.rios=1i,io.stat.8:0.wbytes=4096i,io.stat.259:1.rios=3i,io.stat.8:0.dios=9i,"
        f"io.stat.8:0.cost.usage=5i,io.pressure.some.total=77i,io.pressure.some.avg10=0 {NOW_NS}"
    )

    assert [
        (key.table.name, key.subject, dict(key.tags).get("device")) for key in batch.series
    ] == [
        ("cgroup_pressure", "/a", None),
        ("cgroup", "/a", "259:1"),
        ("cgroup_cost", "/a", "8:0"),
        ("cgroup", "/a", "8:0"),
    ]
    assert batch.rows == {
        catalogue.CGROUP_PRESSURE: {(0, NOW_US): (77, None)},
        catalogue.CGROUP: {
            (1, NOW_US): (3, None, None, None),
            (3, NOW_US): (1, None, None, 4096),
        },
        catalogue.CGROUP_COST: {(2, NOW_US): (9, None, 5, None, None, None)},
    }
    assert batch.accepted_lines == 1


def test_unknown_speed_of_an_interface_is_none() -> None:
    batch = batch_of(f"net,host=h1,interface=wg0 bytes_sent=1i,speed=-1i {NOW_NS}")

    assert list(batch.rows[catalogue.NET].values()) == [(1, *[None] * 8)]


def test_line_without_stored_fields_is_ignored() -> None:
    batch = batch_of(f'system,host=h1 uptime_format="2 days" {NOW_NS}')

    assert (batch.accepted_lines, batch.ignored_lines, batch.rejected_lines) == (0, 1, 0)


@pytest.mark.parametrize(
    ("precision", "time", "expected_us"),
    [
        (Precision.S, "1700000000", NOW_US),
        (Precision.MS, "1700000000000", NOW_US),
        (Precision.US, "1700000000000000", NOW_US),
        # Finer than a microsecond is cut off.
        (Precision.NS, "1700000000000000999", NOW_US),
        (Precision.S, "", NOW_US),
    ],
)
def test_time_is_read_in_the_precision_of_the_body(
    precision: Precision, time: str, expected_us: int
) -> None:
    rules = replace(RULES, precision=precision, now_ns=NOW_NS + 5)

    batch = batch_of(f"system,host=h1 load1=1 {time}", rules=rules)

    assert list(batch.rows[catalogue.SYSTEM]) == [(0, expected_us)]


VALUE_KINDS = "a number, an integer with i or u, true, false or a quoted string is"
GOOD = f"diskio,host=h1,name=sda reads=1i {NOW_NS}"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"diskio,name=sda reads=1i {NOW_NS}",
         'tag "host" is missing: it says which host the sample is of'),
        (f"diskio,host={'h' * 254},name=sda reads=1i {NOW_NS}",
         'tag "host" is longer than 253 characters'),
        (f"diskio,host=h1 reads=1i {NOW_NS}", 'tag "name" is missing: diskio needs it'),
        (f"diskio,host=h1,name={'n' * 256} reads=1i {NOW_NS}",
         'the name of what it is about is longer than 255 characters'),
        (f"diskio,host=h1,name=sda,t={'é' * 1024} reads=1i {NOW_NS}",
         "the tags together are longer than 2048 bytes"),
        (f'diskio,host=h1,name=sda reads="many" {NOW_NS}',
         'field "reads" must be a counter, not a string'),
        (f"diskio,host=h1,name=sda reads=true {NOW_NS}",
         'field "reads" must be a counter, not true or false'),
        (f"diskio,host=h1,name=sda reads=1.5 {NOW_NS}",
         'field "reads" must be a counter, not a fraction'),
        (f"diskio,host=h1,name=sda reads=-1i {NOW_NS}",
         'field "reads" is a counter and cannot be negative'),
        (f"diskio,host=h1,name=sda reads=9223372036854775808u {NOW_NS}",
         'field "reads" does not fit a signed 64-bit integer'),
        (f"diskio,host=h1,name=sda reads=1i {NOW_NS - 31 * 86_400 * 10**9}", "too early"),
        (f"diskio,host=h1,name=sda reads=1i {NOW_NS + 601 * 10**9}", "too late"),
        (
            f"weather,host=h1 rain=1 {NOW_NS}",
            'unknown measurement "weather": nothing of it is stored',
        ),
        ("diskio,host=h1,name=sda reads=1x", f'field "reads": "1x" is not a value; {VALUE_KINDS}'),
    ],
)  # fmt: skip
def test_refused_line_says_why_and_costs_no_other_line(line: str, reason: str) -> None:
    batch = batch_of(GOOD, line, f"diskio,host=h1,name=sdb reads=2i {NOW_NS}")

    assert reasons(batch) == [(2, reason, 1)]
    assert batch.accepted_lines == 2
    assert [key.subject for key in batch.series] == ["sda", "sdb"]


@pytest.mark.parametrize(
    ("name", "shown"), [("m" * 64, "m" * 64), ("m" * 65, "m" * 61 + "...")], ids=["64", "65"]
)
def test_unknown_measurement_is_named_in_64_characters_at_most(name: str, shown: str) -> None:
    with pytest.raises(
        UnknownMeasurementError, match=f'^unknown measurement "{re.escape(shown)}":'
    ):
        find_head(name, {"host": "h1"})


@pytest.mark.parametrize(
    ("time_ns", "reason"),
    [
        (RULES.earliest_ns, None),
        (RULES.earliest_ns - 1, "too early"),
        (RULES.latest_ns, None),
        (RULES.latest_ns + 1, "too late"),
    ],
)
def test_times_are_kept_from_the_earliest_to_the_latest(time_ns: int, reason: str | None) -> None:
    batch = batch_of(f"system,host=h1 load1=1 {time_ns}")

    assert reasons(batch) == ([] if reason is None else [(1, reason, 1)])


def test_whole_float_is_a_counter_too() -> None:
    batch = batch_of(f"diskio,host=h1,name=sda reads=5.0 {NOW_NS}")

    assert next(iter(batch.rows[catalogue.DISKIO].values()))[0] == 5


def test_unknown_lines_stay_counted_beside_a_flood_of_names() -> None:
    names = [f"m{number}" for number in range(MOST_REASONS + 5)]

    batch = batch_of(*[f"{name},host=h1 v=1" for name in names * 2])

    assert batch.unknown == {("h1", name): 2 for name in names[:MOST_REASONS]}


def test_a_reason_that_many_lines_share_holds_none_of_them() -> None:
    shared = PointError("no such disk")

    def find_head(_measurement: str, _tags: Tags) -> Head:
        raise shared

    batch = read_batch("\n".join([GOOD] * 50).encode(), RULES, find_head)

    assert reasons(batch) == [(1, "no such disk", 50)]
    # Each frame of a traceback holds a line.
    assert len(list(traceback.walk_tb(shared.__traceback__))) < 10


def test_a_name_that_the_database_cannot_hold_costs_its_point_alone() -> None:
    points = [
        Point(
            measurement="iostat",
            tags=(("device", "sda"), ("host", host)),
            fields={"reads_per_s": 2.0},
            time=NOW_NS,
        )
        for host in ("h\0", "h1")
    ]

    batch = batch_of_points(points, RULES, find_head)

    assert reasons(batch) == [(1, "a tag holds a NUL character", 1)]
    assert [key.host for key in batch.series] == ["h1"]


def test_a_reason_is_short_however_long_the_names_in_it_are() -> None:
    batch = batch_of(f"{'m' * 100_000},host=h1,object=qemu,nodename=n1 v=1 {NOW_NS}")

    [(_, reason, _)] = reasons(batch)
    assert reason.startswith('tag "vmid" is missing: mmm')
    assert len(reason) == 500


def test_a_line_costs_no_more_for_the_fields_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each field of Ceph is a series of its own."""
    asked = []
    values = RowPlan.values
    monkeypatch.setattr(
        RowPlan, "values", lambda row, fields: asked.append(row) or values(row, fields)
    )

    batch = batch_of(*[f"ceph,host=h1 f{number}=1 {NOW_NS}" for number in range(100)])

    assert len(batch.series) == 100
    assert len(asked) == 100


def test_token_of_one_host_takes_no_samples_of_another() -> None:
    batch = batch_of(
        GOOD,
        f"diskio,host=h2,name=sda reads=1i {NOW_NS}",
        rules=replace(RULES, only_host="h1"),
    )

    assert reasons(batch) == [(2, 'this token may only send samples of host "h1"', 1)]
    assert [key.host for key in batch.series] == ["h1"]


def test_flood_of_bad_lines_is_counted_and_not_kept() -> None:
    lines = [f"m{number % 50},host=h1 v=1" for number in range(1000)]

    batch = batch_of(*lines)

    assert (batch.rejected_lines, batch.unknown_lines) == (1000, 1000)
    assert len(batch.rejections) == MOST_REASONS + 1
    # 20 of 50 names are told, with 1000 / 50 = 20 lines each; 600 lines are left.
    assert [r.line_count for r in batch.rejections] == [20] * 20 + [600]
    assert batch.rejections[-1].reason == "further lines, for other reasons than the first 20"


@given(st.binary(max_size=300))
def test_any_body_is_sorted_without_an_exception(body: bytes) -> None:
    batch = read_batch(body, RULES, find_head)

    assert sum(r.line_count for r in batch.rejections) == batch.rejected_lines


@given(st.lists(st.sampled_from([GOOD, "diskio,host=h1,name=sdb reads=4i", "bad", "weather v=1"])))
def test_lines_are_all_accounted_for(lines: list[str]) -> None:
    batch = batch_of(*lines)

    assert batch.accepted_lines + batch.rejected_lines + batch.ignored_lines == len(lines)
    assert batch.unknown_lines == lines.count("weather v=1")
