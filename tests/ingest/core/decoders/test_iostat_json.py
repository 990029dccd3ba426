import json
from datetime import UTC, datetime
from typing import Any

import pytest

from ingest.core.decoders.errors import NeedsHostError, NeedsTimeError, NeedsZoneError
from ingest.core.decoders.iostat_columns import COLUMNS, JSON_COLUMNS
from ingest.core.decoders.iostat_json import decode_iostat_json
from ingest.core.decoders.iostat_text import Schedule, decode_iostat
from ingest.core.decoders.rejections import Rejections
from ingest.core.point import Point

START = datetime(2026, 3, 22, 14, 0, tzinfo=UTC)
EVERY_5_S = Schedule(first_at=START, interval_s=5)
SINCE_BOOT = "the first report is the mean since the machine started"


def ns(second: int) -> int:
    return (int(START.timestamp()) + second) * 10**9


def iostat(*statistics: dict[str, Any], **host: str) -> str:
    about = {"nodename": "kvm-01", "sysname": "Linux", "date": "03/22/26", **host}
    return json.dumps({"sysstat": {"hosts": [{**about, "statistics": list(statistics)}]}})


def disk(device: str, **columns: float) -> dict[str, Any]:
    return {"disk_device": device, **columns}


def decode(body: str, **known: Any) -> tuple[list[Point], list[tuple[str, str, int]]]:
    rejections = Rejections()
    points = list(decode_iostat_json([body.encode()], rejections, **known))
    return points, [(found.part, found.reason, found.count) for found in rejections.all()]


def test_report_of_sysstat_12_is_read() -> None:
    columns = {"r/s": 6.9, "rkB/s": 222.0, "rrqm": 5.38, "rareq-sz": 32.0, "aqu-sz": 0.1}
    report = {
        "timestamp": "03/22/26 14:00:05",
        "avg-cpu": {"user": 1.49},
        "disk": [disk("sda", **columns)],
    }

    [point], refused = decode(iostat({"disk": []}, report), zone=UTC)

    assert point.measurement == "iostat"
    assert point.tags == (("device", "sda"), ("host", "kvm-01"))
    assert point.time == ns(5)
    assert point.fields == {
        "reads_per_s": 6.9,
        "read_bytes_per_s": 222.0 * 1024,
        "reads_merged_percent": 5.38,
        "read_request_bytes": 32.0 * 1024,
        "queue": 0.1,
    }
    assert refused == [("report 1", SINCE_BOOT, 1)]


def test_json_says_the_same_as_text() -> None:
    names = list(COLUMNS)
    header = "Device " + " ".join(names)
    values = " ".join(f"{n}.50" for n in range(len(names)))
    numbers = {name.removeprefix("%"): n + 0.5 for n, name in enumerate(names)}

    points, refused = decode(
        iostat({"disk": [disk("sda", **numbers)]}), schedule=EVERY_5_S, first_is_since_boot=False
    )
    of_text = decode_iostat(
        [f"{header}\nsda {values}\n\n".encode()], Rejections(), host="kvm-01", schedule=EVERY_5_S
    )

    assert points == list(of_text)
    assert set(JSON_COLUMNS) == set(numbers)
    assert refused == []


def test_totals_of_groups_are_left_out() -> None:
    report = {"disk": [disk("sda", tps=1), disk(" disks", tps=1)]}

    points, refused = decode(iostat({}, report), schedule=EVERY_5_S)

    assert [dict(point.tags)["device"] for point in points] == ["sda"]
    assert [reason for _, reason, _ in refused] == [SINCE_BOOT]


@pytest.mark.parametrize(
    ("bad", "part", "reason"),
    [
        (disk("", tps=1), "report 2", "a disk has no name"),
        (disk("a\0b", tps=1), "report 2", "a disk has no name"),
        (7, "report 2", "a disk has no name"),
        ({"disk_device": "x", "tps": "1"}, "report 2: tps", "the value is not a number"),
        ({"disk_device": "x", "tps": 10**400}, "report 2: tps", "the value is not a number"),
        (disk("x", **{"new/s": 1}), "new/s", "the column is not known"),
    ],
)
def test_bad_disk_is_named_and_the_next_is_kept(bad: Any, part: str, reason: str) -> None:
    points, refused = decode(iostat({}, {"disk": [bad, disk("sda", tps=7)]}), schedule=EVERY_5_S)

    assert [point.fields for point in points] == [{"transfers_per_s": 7.0}]
    assert refused[1:] == [(part, reason, 1)]


def test_report_whose_time_is_none_is_named() -> None:
    bad = {"timestamp": "soon", "disk": [disk("sda", tps=1)]}
    good = {"timestamp": "2026-03-22T14:00:05+0000", "disk": [disk("sda", tps=2)]}

    points, refused = decode(iostat({}, bad, good))

    assert [point.time for point in points] == [ns(5)]
    assert refused[1:] == [("report 2", "the report has no time", 1)]


def test_what_the_file_does_not_say_is_asked_for() -> None:
    timed = {"timestamp": "03/22/26 14:00:05", "disk": [disk("sda", tps=1)]}
    nameless = iostat({}, timed).replace("nodename", "x")

    with pytest.raises(NeedsZoneError):
        decode(iostat({}, timed))
    with pytest.raises(NeedsTimeError):
        decode(iostat({}, {"disk": [disk("sda", tps=1)]}))
    with pytest.raises(NeedsHostError):
        decode(nameless, zone=UTC)

    [point], _ = decode(nameless, zone=UTC, host="h")
    assert dict(point.tags)["host"] == "h"
