import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.errors import BodyTooLargeError, FormatError
from ingest.core.decoders.otlp import Encoding, decode_otlp
from ingest.core.decoders.otlp_protobuf import MOST_OBJECTS
from ingest.core.decoders.rejections import Rejections
from ingest.core.point import Point
from tests.ingest.core.decoders.good_points import are_good
from tests.ingest.core.decoders.protobuf_writer import fixed64, message

TIME_NS = 1_700_000_000_123_456_789
S = 1_000_000_000
NOT_SAID = "it is not said whether the sum is since a start or since the export"

Refused = list[tuple[str, str, int]]

# Encoded by the official library of OpenTelemetry: see `official_request` for what it holds.
OFFICIAL = bytes.fromhex(
    "0ae0030a170a150a09686f73742e6e616d6512080a066b766d2d303112c4030a0d0a0b686f73746d6574726963"
    "7312a2010a0e73797374656d2e6469736b2e696f1201641a0242793a88010a5d111503eb01fe9c97171915cd85"
    "3dfe9c97173100100000000000003a0f0a0664657669636512050a037364613a130a09646972656374696f6e12"
    "060a04726561643a0d0a077669727475616c120210003a0b0a056d616a6f72120218080a231915cd853dfe9c97"
    "1721000000000000f83f3a0f0a0664657669636512050a037364621002180112360a1e73797374656d2e646973"
    "6b2e70656e64696e675f6f7065726174696f6e732a140a121915cd853dfe9c971731fdffffffffffffff122b0a"
    "0872657175657374733a1f0a1b1115e979e9fb9c97171915cd853dfe9c9717313200000000000000100112340a"
    "076c6174656e63794a290a251915cd853dfe9c971721040000000000000029000000000000e03f320804000000"
    "00000000100212410a136c6174656e63792e6578706f6e656e7469616c522a0a261115e979e9fb9c97171915cd"
    "853dfe9c971721020000000000000029000000000000e03f3006100112300a0f6c6174656e63792e73756d6d61"
    "72795a1d0a1b1915cd853dfe9c9717210900000000000000290000000000000840"
)


def decode(body: bytes, encoding: Encoding) -> tuple[list[Point], Refused]:
    rejections = Rejections()
    points = list(decode_otlp(body, rejections, encoding=encoding))
    return points, [(found.part, found.reason, found.count) for found in rejections.all()]


def decode_json(request: Any) -> tuple[list[Point], Refused]:
    return decode(json.dumps(request).encode(), Encoding.JSON)


def export(*metrics: dict[str, Any], **resource: str) -> dict[str, Any]:
    attributes = [{"key": key, "value": {"stringValue": text}} for key, text in resource.items()]
    return {
        "resourceMetrics": [
            {
                "resource": {"attributes": attributes},
                "scopeMetrics": [{"scope": {}, "metrics": list(metrics)}],
            }
        ]
    }


def point(**members: Any) -> dict[str, Any]:
    return {"timeUnixNano": str(TIME_NS), **members}


def gauge(*points: dict[str, Any], name: str = "queue") -> dict[str, Any]:
    return {"name": name, "gauge": {"dataPoints": list(points)}}


def official_request() -> list[tuple[str, dict[str, str], dict[str, float], int]]:
    """What `OFFICIAL` holds."""
    host = {"host.name": "kvm-01"}
    sda = {**host, "device": "sda", "direction": "read", "virtual": "false", "major": "8"}
    return [
        ("system.disk.io", sda, {"value": 4096}, TIME_NS),
        ("system.disk.io", {**host, "device": "sdb"}, {"value": 1.5}, TIME_NS),
        ("system.disk.pending_operations", host, {"value": -3}, TIME_NS),
        # 50 in the 10 seconds that the delta covers.
        ("requests", host, {"rate": 5.0}, TIME_NS),
        ("latency", host, {"count": 4, "sum": 0.5}, TIME_NS),
        ("latency.exponential", host, {"count_rate": 0.2, "sum_rate": 0.05}, TIME_NS),
        ("latency.summary", host, {"count": 9, "sum": 3.0}, TIME_NS),
    ]


def found(points: list[Point]) -> list[tuple[str, dict[str, str], dict[str, Any], int | None]]:
    return [(p.measurement, dict(p.tags), p.fields, p.time) for p in points]


def test_body_of_the_official_library_is_read() -> None:
    points, refused = decode(OFFICIAL, Encoding.PROTOBUF)

    assert found(points) == official_request()
    assert refused == []


def test_json_says_the_same_as_protocol_buffers() -> None:
    # As the mapping of the official library writes it: 64-bit numbers are text.
    disk = [
        {"key": "device", "value": {"stringValue": "sda"}},
        {"key": "direction", "value": {"stringValue": "read"}},
        {"key": "virtual", "value": {"boolValue": False}},
        {"key": "major", "value": {"intValue": "8"}},
    ]
    sdb = [{"key": "device", "value": {"stringValue": "sdb"}}]
    ten_s = {"startTimeUnixNano": str(TIME_NS - 10 * S)}
    request = export(
        {
            "name": "system.disk.io",
            "sum": {
                "dataPoints": [
                    point(asInt="4096", attributes=disk),
                    point(asDouble=1.5, attributes=sdb),
                ],
                "aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE",
                "isMonotonic": True,
            },
        },
        gauge(point(asInt="-3"), name="system.disk.pending_operations"),
        {
            "name": "requests",
            "sum": {"dataPoints": [point(asInt="50", **ten_s)], "aggregationTemporality": 1},
        },
        {
            "name": "latency",
            "histogram": {
                "dataPoints": [point(count="4", sum=0.5, bucketCounts=["4"])],
                "aggregationTemporality": 2,
            },
        },
        {
            "name": "latency.exponential",
            "exponentialHistogram": {
                "dataPoints": [point(count="2", sum=0.5, **ten_s)],
                "aggregationTemporality": "AGGREGATION_TEMPORALITY_DELTA",
            },
        },
        {"name": "latency.summary", "summary": {"dataPoints": [point(count="9", sum=3)]}},
        **{"host.name": "kvm-01"},
    )

    points, refused = decode_json(request)

    assert found(points) == official_request()
    assert refused == []


def test_export_of_proxmox_is_read() -> None:
    # Its metric server writes numbers as numbers, at times a vmid too, and the drive into the
    # name of the metric.
    name = "proxmox_vm_blockstat_scsi0_rd_total_time_ns_total"
    time = 1_700_000_000 * S
    attributes = [
        {"key": "vmid", "value": {"stringValue": 101}},
        {"key": "node", "value": {"stringValue": "pve1"}},
    ]
    metric = {
        "name": name,
        "unit": "seconds",
        "sum": {
            "dataPoints": [{"timeUnixNano": time, "asInt": 12, "attributes": attributes}],
            "aggregationTemporality": 2,
            "isMonotonic": True,
        },
    }

    [read], refused = decode_json(export(metric, **{"proxmox.cluster": "c1"}))

    assert (read.measurement, read.fields, read.time) == (name, {"value": 12}, time)
    assert read.tags == (("node", "pve1"), ("proxmox.cluster", "c1"), ("vmid", "101"))
    assert refused == []


def test_time_in_scientific_notation_is_read() -> None:
    body = json.dumps(export(gauge({"timeUnixNano": 0, "asInt": 1}))).replace(
        '"timeUnixNano": 0', '"timeUnixNano": 1.7e+18'
    )

    [read], _ = decode(body.encode(), Encoding.JSON)

    assert read.time == 1_700_000_000 * S


def test_attribute_of_the_data_point_wins_over_that_of_the_resource() -> None:
    own = [{"key": "host", "value": {"stringValue": "vm"}}]

    [read], _ = decode_json(export(gauge(point(asInt=1, attributes=own)), host="node"))

    assert read.tags == (("host", "vm"),)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"doubleValue": 1.5}, "1.5"),
        (
            {"arrayValue": {"values": [{"stringValue": "ä"}, {"intValue": "2"}]}},
            '["ä", 2]',
        ),
        (
            {"kvlistValue": {"values": [{"key": "k", "value": {"boolValue": True}}]}},
            '{"k": true}',
        ),
    ],
)
def test_attribute_that_is_no_text_becomes_one(value: dict[str, Any], text: str) -> None:
    attributes = [{"key": "a", "value": value}]

    [read], _ = decode_json(export(gauge(point(asInt=1, attributes=attributes))))

    assert read.tags == (("a", text),)


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_whole_numbers_of_64_bits_are_read(value: int) -> None:
    [read], refused = decode_json(export(gauge(point(asInt=str(value)))))

    assert read.fields == {"value": value}
    assert refused == []


@pytest.mark.parametrize("value", [{"stringValue": ""}, {}, {"bytesValue": "AA=="}])
def test_attribute_without_a_value_is_none(value: dict[str, Any]) -> None:
    attributes = [{"key": "a", "value": value}]

    [read], refused = decode_json(export(gauge(point(asInt=1, attributes=attributes))))

    assert read.tags == ()
    assert refused == []


def test_data_point_without_recorded_value_is_absence_and_no_fault() -> None:
    points, refused = decode_json(export(gauge(point(flags=1), point(asInt=2))))

    assert [read.fields for read in points] == [{"value": 2}]
    assert refused == []


@pytest.mark.parametrize(
    ("metric_field", "flags_field"), [(5, 8), (7, 8), (9, 10), (10, 10), (11, 8)]
)
def test_flag_of_each_kind_of_data_point_is_read(metric_field: int, flags_field: int) -> None:
    # Gauge, sum, histogram, exponential histogram and summary, each since a start.
    absent, zero = message((flags_field, 1)), message((flags_field, 0))
    value = fixed64(6, 0) if flags_field == 8 and metric_field != 11 else b""
    data = message((1, absent), (1, zero + value), (2, 2))
    body = message((1, message((2, message((2, message((1, "m"), (metric_field, data))))))))

    points, refused = decode(body, Encoding.PROTOBUF)

    assert [read.fields for read in points] == [{"value": 0} if value else {"count": 0}]
    assert refused == []


def test_names_of_the_definitions_are_read_in_json() -> None:
    request = {
        "resource_metrics": [
            {
                "scope_metrics": [
                    {
                        "metrics": [
                            {
                                "name": "q",
                                "gauge": {
                                    "data_points": [{"time_unix_nano": "5", "as_double": 1.5}]
                                },
                            }
                        ]
                    }
                ]
            }
        ]
    }

    [read], _ = decode_json(request)

    assert (read.fields, read.time) == ({"value": 1.5}, 5)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (point(), "a value is not a number"),
        (point(asDouble="x"), "a value is not a number"),
        (point(asDouble=True), "a value is not a number"),
        (point(asDouble="NaN"), "a value is not a finite number"),
        (point(asDouble="Infinity"), "a value is not a finite number"),
        (point(asInt="1.5"), "a number is not a whole number"),
        (point(asInt=[1]), "a number is not a whole number"),
        (point(asInt=2**63), "a number does not fit 64 bits"),
        (point(asInt=1, flags="x"), "a number is not a whole number"),
        ({"timeUnixNano": "-", "asInt": 1}, "a number is not a whole number"),
        (
            point(
                asInt=1,
                attributes=[{"key": f"k{n}", "value": {"stringValue": "x"}} for n in range(257)],
            ),
            "the data point has more than 256 attributes",
        ),
    ],
)
def test_bad_data_point_is_named_and_the_next_is_kept(bad: dict[str, Any], reason: str) -> None:
    points, refused = decode_json(export(gauge(bad, point(asInt=7))))

    assert [read.fields for read in points] == [{"value": 7}]
    assert refused == [("queue", reason, 1)]


@pytest.mark.parametrize(
    ("members", "start", "reason"),
    [
        ({}, TIME_NS - S, NOT_SAID),
        ({"aggregationTemporality": 0}, TIME_NS - S, NOT_SAID),
        ({"aggregationTemporality": []}, TIME_NS - S, NOT_SAID),
        (
            {"aggregationTemporality": 1},
            0,
            "a sum since the export before does not say what time it covers",
        ),
        (
            {"aggregationTemporality": 1},
            TIME_NS,
            "a sum since the export before does not say what time it covers",
        ),
    ],
)
def test_sum_of_unknown_time_is_named(members: dict[str, Any], start: int, reason: str) -> None:
    data = {"dataPoints": [point(asInt=1, startTimeUnixNano=start)], **members}

    points, refused = decode_json(export({"name": "io", "sum": data}))

    assert points == []
    assert refused == [("io", reason, 1)]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (None, "metric "),
        ("", "metric "),
        ("a\0b", "metric a\ufffdb"),
        ("\ud800", "metric \ufffd"),
        (5, "metric 5"),
    ],
)
def test_metric_without_a_name_is_named_and_the_next_is_kept(name: Any, part: str) -> None:
    points, refused = decode_json(
        export({"name": name, "gauge": {"dataPoints": [point(asInt=1)]}}, gauge(point(asInt=2)))
    )

    assert [read.fields for read in points] == [{"value": 2}]
    assert refused == [(part, "the metric has no name that can be stored", 1)]


def test_attribute_that_cannot_be_stored_costs_itself_alone() -> None:
    attributes = [
        {"key": "a", "value": {"stringValue": "x\0y"}},
        {"key": "b", "value": {"intValue": "x"}},
        {"key": "c", "value": {"stringValue": "kept"}},
    ]

    [read], refused = decode_json(export(gauge(point(asInt=1, attributes=attributes))))

    assert read.tags == (("c", "kept"),)
    assert refused == [
        ("attribute a", "the attribute cannot be stored", 1),
        ("attribute b", "a number is not a whole number", 1),
    ]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"1", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"]
)
def test_body_that_is_no_json_object_is_a_named_error(body: bytes) -> None:
    with pytest.raises(FormatError, match="the body is not"):
        decode(body, Encoding.JSON)


KEYS = st.sampled_from(
    [
        "resourceMetrics",
        "resource",
        "attributes",
        "key",
        "value",
        "scopeMetrics",
        "metrics",
        "name",
        "sum",
        "gauge",
        "histogram",
        "dataPoints",
        "asInt",
        "asDouble",
        "timeUnixNano",
        "flags",
        "count",
        "stringValue",
        "kvlistValue",
        "values",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    data = st.fixed_dictionaries({"dataPoints": st.lists(inner, max_size=2)})
    return st.builds(lambda found: export({"name": "m", "sum": found, "gauge": found}), data)


@given(JSON.filter(lambda value: isinstance(value, dict)) | nested(JSON))
def test_json_of_any_shape_gives_points_or_reasons(request: Any) -> None:
    points, _ = decode_json(request)

    assert are_good(points)


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_give_points_or_reasons(body: bytes) -> None:
    points, _ = decode(body, Encoding.PROTOBUF)

    assert are_good(points)


@given(cut=st.integers(0, len(OFFICIAL) - 1))
def test_request_cut_off_anywhere_says_so_and_gives_nothing_untrue(cut: int) -> None:
    points, refused = decode(OFFICIAL[:cut], Encoding.PROTOBUF)

    # The resource that the cut goes through has lost its end, and it is the only one here.
    assert points == []
    assert refused or cut == 0


def test_broken_metric_spoils_no_other() -> None:
    def metric(name: str, value: int) -> bytes:
        data_point = message((7, message((1, "k"), (2, message((1, "v")))))) + fixed64(6, value)
        return message((1, name), (5, message((1, data_point))))

    broken = message((1, "bad"), (5, message((1, b"\x31\x00"))))
    body = message((1, message((2, message(*((2, m) for m in (broken, metric("good", 5))))))))

    points, refused = decode(body, Encoding.PROTOBUF)

    assert found(points) == [("good", {"k": "v"}, {"value": 5}, None)]
    assert refused == [("NumberDataPoint", "field 6 is longer than its message", 1)]


def test_attribute_nested_without_end_is_named() -> None:
    value = message((1, "leaf"))
    for _ in range(500):
        value = message((5, message((1, value))))
    bad = message((7, message((1, "k"), (2, value)))) + fixed64(6, 1)
    good = fixed64(6, 2)
    body = message(
        (1, message((2, message((2, message((1, "m"), (5, message((1, bad), (1, good)))))))))
    )

    points, refused = decode(body, Encoding.PROTOBUF)

    assert [read.fields for read in points] == [{"value": 2}]
    assert refused == [("NumberDataPoint", "messages are nested more than 32 deep", 1)]


def nested_lists(depth: int) -> list[dict[str, Any]]:
    value: dict[str, Any] = {"stringValue": "leaf"}
    for _ in range(depth):
        value = {"arrayValue": {"values": [value]}}
    return [{"key": "k", "value": value}]


def test_attribute_may_nest_eight_deep() -> None:
    [read], refused = decode_json(export(gauge(point(asInt=1, attributes=nested_lists(8)))))

    assert read.tags == (("k", "[" * 8 + '"leaf"' + "]" * 8),)
    assert refused == []


@pytest.mark.parametrize("depth", [9, 50])
def test_deep_attribute_of_json_costs_itself_alone(depth: int) -> None:
    attributes = nested_lists(depth)

    [read], refused = decode_json(export(gauge(point(asInt=1, attributes=attributes))))

    assert (read.tags, read.fields) == ((), {"value": 1})
    assert refused == [("attribute k", "the attribute is nested more than 8 deep", 1)]


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        # Two bytes a message, three an object: 2 MB would take a hundred.
        (Encoding.PROTOBUF, b"\x0a\x00" * MOST_OBJECTS),
        (Encoding.JSON, b'{"resourceMetrics": [' + b"{}," * MOST_OBJECTS + b"{}]}"),
        (Encoding.JSON, b'{"resourceMetrics": [' + b"[]," * MOST_OBJECTS + b"[]]}"),
    ],
    ids=["protocol buffers", "JSON objects", "JSON lists"],
)
def test_flood_of_empty_messages_is_refused(encoding: Encoding, body: bytes) -> None:
    with pytest.raises(BodyTooLargeError, match="more than 1000000 messages"):
        decode(body, encoding)
