"""`sluice history` lists, checks and exports what is stored."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
from django.core.management import CommandError, call_command

from advisor.core.chunk import pack as pack_chunk
from advisor.core.level_records import pack, unpack
from advisor.core.stored_hour import FIVE_MINUTE_SUMS, QUARTER_SUMS
from advisor.history.level_merge import merge_hours
from advisor.history.level_store import KEPT_FOR, drop_points
from advisor.models import (
    AdapterKind,
    Allocation,
    Attachment,
    Chunk,
    Day,
    LevelRecords,
    Resource,
    Workload,
)
from advisor.pipeline.store_history import store_history
from tests.advisor.history.stored.hosts import (
    HOUR,
    MINUTE,
    after,
    hour_of_tests,
    seal_all,
    send_net,
    times,
)
from tests.advisor.judged_windows import judge, judged_window
from tests.ingest.scenario import Tenant, make_tenant

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def tenant() -> Tenant:
    return make_tenant("northgate")


@pytest.fixture
def hour(tenant: Tenant) -> datetime:
    """An hour of a workload's interface and of the uplink, sealed."""
    hour = hour_of_tests()
    for name in ("eth0", "vnet1"):
        send_net(tenant, times(hour, hour + HOUR), name=name)
    uplink = Resource.objects.create(
        organisation=tenant.organisation, name="up0", kind="uplink", unit="bit/s",
        mode="floor", threshold=0.9, activity_floor=0.0,
    )  # fmt: skip
    host = tenant.host()
    Attachment.objects.create(resource=uplink, host=host, device="eth0")
    workload = Workload.objects.create(organisation=tenant.organisation, name="web-01")
    Allocation.objects.create(
        resource=uplink, workload=workload, host=host,
        adapter_kind=AdapterKind.VNIC, adapter="vnet1",
    )  # fmt: skip
    seal_all(tenant, after(hour))
    return hour


def sluice(*words: str) -> str:
    out = StringIO()
    call_command("history", *words, stdout=out)
    return out.getvalue()


def span(hour: datetime, minutes: int) -> list[str]:
    return ["--since", hour.isoformat(), "--until", (hour + minutes * MINUTE).isoformat()]


def test_list_says_what_is_stored_and_for_how_long(tenant: Tenant, hour: datetime) -> None:
    rows = json.loads(sluice("list", "--json"))

    assert [(row["kept_days"], row["since"] is None) for row in rows] == [
        (30, False),
        (366, False),
        (1830, True),
    ]
    assert rows[0]["since"] == hour.date().isoformat()
    # The hour after the last reading is open still.
    assert "1 hours are not sealed yet" in sluice()


def test_whole_history_is_said_to_be_whole(tenant: Tenant, hour: datetime) -> None:
    store_history(organisation=tenant.organisation, now=hour + 48 * HOUR, limit_s=60.0)

    # Two interfaces in one shard: 8 counters, the part covered, the sums of quarters and of five
    # minutes; 8 day rows of each of them.
    said = "all 27 stored chunks, days and records of judged windows are whole"
    assert said in sluice("verify")


def test_damaged_chunk_and_day_are_named_with_their_place(tenant: Tenant, hour: datetime) -> None:
    store_history(organisation=tenant.organisation, now=hour + 48 * HOUR, limit_s=60.0)
    chunk = Chunk.objects.filter(figure=40).get()
    Chunk.objects.filter(figure=40).update(data=bytes(chunk.data)[:-1])
    Chunk.objects.filter(figure=41).update(data=b"\x07" + bytes(chunk.data)[1:])
    track = Day.objects.filter(figure=42).first()
    assert track is not None
    Day.objects.filter(figure=42, track_id=track.track_id).update(histogram=b"")
    seven = pack_chunk(np.zeros((7, 2), dtype=np.int64))
    Chunk.objects.filter(figure__in=[QUARTER_SUMS, FIVE_MINUTE_SUMS]).update(data=seven)
    out = StringIO()

    with pytest.raises(SystemExit, match="1"):
        call_command("history", "verify", "--json", stdout=out)

    rows = json.loads(out.getvalue())
    assert sorted((row["figure"], row["damage"]) for row in rows) == [
        (QUARTER_SUMS, "7 sums are not of 4 steps each"),
        (40, "the checksum does not fit: the chunk was cut or changed"),
        (41, "version 7 of chunks is not known here"),
        (42, "this is no histogram of version 1"),
        (FIVE_MINUTE_SUMS, "7 sums are not of 12 steps each"),
    ]
    (cut,) = (row for row in rows if row["figure"] == 40)
    assert cut["at"] == hour.isoformat()
    assert cut["owner"] == chunk.shard_id


def uplink_of(tenant: Tenant) -> Resource:
    return Resource.objects.create(
        organisation=tenant.organisation, name="up1", kind="uplink", unit="bit/s",
        mode="floor", threshold=0.9, activity_floor=0.0,
    )  # fmt: skip


@pytest.fixture
def judged(tenant: Tenant) -> Resource:
    """Judged windows of an hour that is merged, and of two parts of the next."""
    uplink = uplink_of(tenant)
    ends = [0.5, 7.0, 60.5, 66.0]
    judge(uplink, *(judged_window(NOON + end * MINUTE, value=end) for end in ends))
    merge_hours(organisation=tenant.organisation, now=NOON + 80 * MINUTE)
    return uplink


def test_whole_records_of_judged_windows_are_said_to_be_whole(judged: Resource) -> None:
    assert "all 3 stored chunks, days and records" in sluice("verify")


@pytest.mark.parametrize(
    ("change", "damage"),
    [
        (
            {"data": lambda row: bytes(row.data)[:-1]},
            "the checksum does not fit: the records were cut or changed",
        ),
        (
            {"data": lambda row: b"\x07" + bytes(row.data)[1:]},
            "version 7 of records is not known here",
        ),
        (
            {"worst": lambda row: bytes(row.worst)[:-2]},
            "75 bytes are not whole entries of 38 bytes and their version",
        ),
        (
            {"worst": lambda row: b"\x07" + bytes(row.worst)[1:]},
            "version 7 of worst windows is not known here",
        ),
        (
            {"worst": lambda row: bytes(row.worst)[:39]},
            "the worst windows are not those of these records",
        ),
        ({"at": lambda row: row.at - HOUR}, "some windows are not of the time of their row"),
        ({"is_hour": lambda _: False}, "some windows are not of the time of their row"),
    ],
)
def test_damaged_records_of_judged_windows_are_named(
    judged: Resource, change: dict[str, Callable[[LevelRecords], object]], damage: str
) -> None:
    row = LevelRecords.objects.get(is_hour=True)
    LevelRecords.objects.filter(pk=row.pk).update(
        **{name: changed(row) for name, changed in change.items()}
    )
    out = StringIO()

    with pytest.raises(SystemExit, match="1"):
        call_command("history", "verify", "--json", stdout=out)

    row.refresh_from_db()
    assert json.loads(out.getvalue()) == [
        {
            "level": "judged windows",
            "owner": judged.pk,
            "figure": None,
            "at": row.at.isoformat(),
            "damage": damage,
        }
    ]


@pytest.mark.parametrize(
    ("is_gone", "missing"),
    [
        ({"is_hour": True}, [(0, "00:30")]),
        ({"is_hour": False}, [(60, "00:30")]),
        ({}, [(0, "00:30"), (60, "00:30")]),
    ],
    ids=["an hour", "the parts of the next", "all"],
)
def test_judged_windows_whose_record_is_missing_are_named(
    tenant: Tenant, is_gone: dict[str, bool], missing: list[tuple[int, str]]
) -> None:
    """One run of a window a minute over an hour and two minutes; what each says is the same."""
    hour = hour_of_tests()
    uplink = uplink_of(tenant)
    ends = [hour + (0.5 + place) * MINUTE for place in range(62)]
    judge(uplink, *(judged_window(end, since=hour, value=1.0) for end in ends))
    merge_hours(organisation=tenant.organisation, now=hour + 80 * MINUTE)
    assert "are whole" in sluice("verify")

    LevelRecords.objects.filter(**is_gone).delete()

    out = StringIO()
    with pytest.raises(SystemExit, match="1"):
        call_command("history", "verify", "--json", stdout=out)
    found = [(row["owner"], row["at"], row["damage"]) for row in json.loads(out.getvalue())]
    assert found == [
        (
            uplink.pk,
            (hour + minutes * MINUTE).isoformat(),
            f"the record of the window that ends {hour + minutes * MINUTE:%H}:{end} is missing",
        )
        for minutes, end in missing
    ]


def test_records_that_are_too_old_to_be_kept_are_not_missed(tenant: Tenant) -> None:
    """The run goes on from before; its first records were dropped."""
    begin = hour_of_tests() - KEPT_FOR - 5 * HOUR
    uplink = uplink_of(tenant)
    ends = [begin + 0.5 * MINUTE + place * 10 * MINUTE for place in range(5 * 24)]
    judge(uplink, *(judged_window(end, since=begin, value=1.0) for end in ends))

    drop_points(before=begin + 5 * HOUR)

    assert LevelRecords.objects.order_by("at").values_list("at", flat=True)[0] > begin
    assert "are whole" in sluice("verify")


def test_judged_windows_out_of_order_are_named(judged: Resource) -> None:
    row = LevelRecords.objects.get(is_hour=True)
    records = unpack(bytes(row.data))
    swapped = replace(records, at_us=records.at_us[::-1].copy())
    LevelRecords.objects.filter(pk=row.pk).update(data=pack(swapped))
    out = StringIO()

    with pytest.raises(SystemExit, match="1"):
        call_command("history", "verify", stdout=out)

    assert "the windows are not in order of time" in out.getvalue()


def test_resource_is_exported_with_its_devices_and_workloads(
    tenant: Tenant, hour: datetime, tmp_path: Path
) -> None:
    sluice("export", "--resource", "up0", *span(hour, 1), "--output", str(tmp_path))

    with (tmp_path / "interface.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["subject"] for row in rows] == ["eth0", "vnet1"] * 6
    assert rows[0]["at"] == (hour + MINUTE / 6).isoformat()
    assert {(row["seconds"], row["bytes_sent"], row["bytes_received"]) for row in rows} == {
        ("10.0", "70", "140")
    }
    assert [path.name for path in tmp_path.iterdir()] == ["interface.csv"]


def test_workload_is_exported_alone(tenant: Tenant, hour: datetime, tmp_path: Path) -> None:
    sluice("export", "--workload", "web-01", *span(hour, 60), "--output", str(tmp_path))

    with (tmp_path / "interface.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["subject"] for row in rows} == {"vnet1"}
    assert len(rows) == 360


def test_parquet_holds_the_same_rows(tenant: Tenant, hour: datetime, tmp_path: Path) -> None:
    sluice(
        "export", "--workload", "web-01", *span(hour, 60),
        "--format", "parquet", "--output", str(tmp_path),
    )  # fmt: skip

    table = parquet.read_table(tmp_path / "interface.parquet")
    assert table.num_rows == 360
    assert sum(table["bytes_sent"].to_pylist()) == 360 * 70
    assert table["at"][0].as_py() == hour + MINUTE / 6


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--workload", "nobody", "--since", "2026-01-01", "--until", "2026-01-02"], "nobody"),
        (
            ["--resource", "up0", "--since", "soon", "--until", "2026-01-02"],
            '"soon" is not a time',
        ),
        (
            ["--resource", "up0", "--since", "2026-01-02", "--until", "2026-01-02"],
            "before --until",
        ),
    ],
)
def test_export_that_cannot_be_is_refused(
    tenant: Tenant, hour: datetime, tmp_path: Path, words: list[str], complaint: str
) -> None:
    with pytest.raises(CommandError, match=complaint):
        sluice("export", *words, "--output", str(tmp_path))


def test_organisation_states_how_long_it_keeps_what(tenant: Tenant) -> None:
    sluice("keep", "--exact-days", "14")

    rows = json.loads(sluice("list", "--json"))
    assert [row["kept_days"] for row in rows] == [14, 366, 1830]
    with pytest.raises(CommandError, match="kept for 1 to 36525 days"):
        sluice("keep", "--day-days", "0")
