import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from ingest.core.decoders.errors import NeedsHostError, NeedsZoneError
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.sadf_json import decode_sadf
from ingest.core.point import Point

TIME_NS = int(datetime(2019, 4, 18, 13, 20, 19, tzinfo=UTC).timestamp()) * 10**9
IN_UTC = {"date": "2019-04-18", "time": "13:20:19", "tz": "UTC", "interval": 31}


def sadf(*records: dict[str, Any], **about: str) -> str:
    host = {"nodename": "kvm-01", "file-date": "2019-04-18", "timezone": "CEST", **about}
    return json.dumps({"sysstat": {"hosts": [{**host, "statistics": list(records)}]}})


def decode(body: str, **known: Any) -> tuple[list[Point], list[tuple[str, str, int]]]:
    rejections = Rejections()
    points = list(decode_sadf([body.encode()], rejections, **known))
    return points, [(found.part, found.reason, found.count) for found in rejections.all()]


def found(points: list[Point]) -> list[tuple[str, dict[str, str], dict[str, Any]]]:
    return [(point.measurement, dict(point.tags), point.fields) for point in points]


def test_record_of_sysstat_12_is_read() -> None:
    record = {
        "timestamp": IN_UTC,
        "cpu-load": [{"cpu": "all", "usr": 2.15}],
        "io": {
            "tps": 20.0,
            "io-reads": {"rtps": 12.0, "bread": 4.0},
            "io-writes": {"wtps": 5.0, "bwrtn": 2.0},
            "io-discard": {"dtps": 3.0, "bdscd": 1.0},
        },
        "disk": [
            {
                "disk-device": "sdq",
                "tps": 9.62,
                "rd_sec": 15.72,
                "wr_sec": 0.0,
                "dc_sec": 32.08,
                "rkB": 8.0,
                "wkB": 0.0,
                "dkB": 16.0,
                "avgrq-sz": 4.97,
                "areq-sz": 2.0,
                "avgqu-sz": 0.01,
                "aqu-sz": 0.01,
                "await": 13.0,
                "util-percent": 0.96,
            }
        ],
        "network": {
            "net-dev": [
                {
                    "iface": "eth0",
                    "rxpck": 16.0,
                    "txpck": 32.0,
                    "rxkB": 2.0,
                    "txkB": 1.0,
                    "rxcmp": 0.0,
                    "txcmp": 0.0,
                    "rxmcst": 3.0,
                    "ifutil-percent": 0.5,
                }
            ],
            "net-edev": [
                {
                    "iface": "eth0",
                    "rxerr": 1.0,
                    "txerr": 2.0,
                    "coll": 3.0,
                    "rxdrop": 4.0,
                    "txdrop": 5.0,
                    "txcarr": 6.0,
                }
            ],
            "net-nfs": {"call": 7.0, "retrans": 0.5, "read": 3.0, "write": 4.0, "access": 1.0},
        },
    }

    points, refused = decode(sadf(record))

    host = {"host": "kvm-01"}
    assert found(points) == [
        (
            "sar_disk",
            {**host, "device": "sdq"},
            {
                "transfers_per_s": 9.62,
                "read_bytes_per_s": 8 * 1024,
                "write_bytes_per_s": 0.0,
                "discard_bytes_per_s": 16 * 1024,
                "request_bytes": 2 * 1024,
                "queue": 0.01,
                "await_ms": 13.0,
                "util_percent": 0.96,
            },
        ),
        (
            "sar_network",
            {**host, "interface": "eth0"},
            {
                "packets_received_per_s": 16.0,
                "packets_sent_per_s": 32.0,
                "bytes_received_per_s": 2 * 1024,
                "bytes_sent_per_s": 1024,
                "multicast_received_per_s": 3.0,
                "util_percent": 0.5,
                "errors_in_per_s": 1.0,
                "errors_out_per_s": 2.0,
                "drops_in_per_s": 4.0,
                "drops_out_per_s": 5.0,
                "collisions_per_s": 3.0,
            },
        ),
        (
            "sar_nfs",
            host,
            {
                "calls_per_s": 7.0,
                "retransmits_per_s": 0.5,
                "reads_per_s": 3.0,
                "writes_per_s": 4.0,
            },
        ),
        (
            "sar_io",
            host,
            {
                "transfers_per_s": 20.0,
                "reads_per_s": 12.0,
                "read_bytes_per_s": 4 * 512,
                "writes_per_s": 5.0,
                "write_bytes_per_s": 2 * 512,
                "discards_per_s": 3.0,
                "discard_bytes_per_s": 512,
            },
        ),
    ]
    assert {point.time for point in points} == {TIME_NS}
    assert refused == []


def test_record_of_sysstat_10_is_read() -> None:
    record = {
        "timestamp": {"date": "2019-04-18", "time": "13:20:19", "utc": 1, "interval": 600},
        "disk": [
            {
                "disk-device": "dev8-0",
                "tps": 1.0,
                "rd_sec": 4.0,
                "wr_sec": 2.0,
                "avgrq-sz": 3.0,
                "avgqu-sz": 0.5,
                "await": 9.0,
                "svctm": 1.5,
                "util-percent": 2.0,
            }
        ],
    }

    [point], refused = decode(sadf(record))

    assert dict(point.tags)["device"] == "dev8-0"
    assert point.time == TIME_NS
    assert point.fields == {
        "transfers_per_s": 1.0,
        "read_bytes_per_s": 4 * 512,
        "write_bytes_per_s": 2 * 512,
        "request_bytes": 3 * 512,
        "queue": 0.5,
        "await_ms": 9.0,
        "service_ms": 1.5,
        "util_percent": 2.0,
    }
    assert refused == []


@pytest.mark.parametrize("utc", [{"tz": "CEST"}, {"utc": 0}, {}])
def test_zone_of_local_times_is_asked_for(utc: dict[str, Any]) -> None:
    timestamp = {"date": "2019-04-18", "time": "15:20:19", **utc}
    body = sadf({"timestamp": timestamp, "io": {"tps": 1.0}})

    with pytest.raises(NeedsZoneError, match="in which zone"):
        decode(body)

    [point], _ = decode(body, zone=timezone(timedelta(hours=2)))
    assert point.time == TIME_NS


def test_host_that_the_file_does_not_name_is_asked_for() -> None:
    body = sadf({"timestamp": IN_UTC, "io": {"tps": 1.0}}).replace("nodename", "x")

    with pytest.raises(NeedsHostError):
        decode(body)

    [point], _ = decode(body, host="h")
    assert dict(point.tags) == {"host": "h"}


@pytest.mark.parametrize(
    ("bad", "part", "reason"),
    [
        ({"io": {"tps": 3.0}}, "record 1", "the record has no time"),
        (
            {"timestamp": {"date": "x", "time": "y", "tz": "UTC"}, "io": {"tps": 3.0}},
            "record 1",
            "the record has no time",
        ),
        ({"timestamp": IN_UTC, "disk": 5}, "record 1: disk", "it is no list of objects"),
        (
            {"timestamp": IN_UTC, "disk": [{"tps": 5.0}]},
            "record 1",
            "a disk has no name",
        ),
        (
            {"timestamp": IN_UTC, "network": {"net-dev": [{"iface": "", "rxpck": 5.0}]}},
            "record 1",
            "an interface has no name",
        ),
        (
            {"timestamp": IN_UTC, "io": {"tps": "3"}},
            "record 1: tps",
            "the value is not a number",
        ),
    ],
)
def test_bad_part_is_named_and_the_next_record_is_kept(
    bad: dict[str, Any], part: str, reason: str
) -> None:
    points, refused = decode(sadf(bad, {"timestamp": IN_UTC, "io": {"tps": 7.0}}))

    assert found(points) == [("sar_io", {"host": "kvm-01"}, {"transfers_per_s": 7.0})]
    assert refused == [(part, reason, 1)]
