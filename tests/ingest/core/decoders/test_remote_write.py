import struct
import tracemalloc
from contextlib import suppress
from math import isnan

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.core.decoders.errors import BodyTooLargeError, DecodeError, FormatError
from ingest.core.decoders.rejections import Rejections
from ingest.core.decoders.remote_write import Version, decode_remote_write
from ingest.core.point import Point
from tests.ingest.core.decoders.good_points import are_good
from tests.ingest.core.decoders.protobuf_writer import message, varint

TIME_MS = 1_700_000_000_123
NS_PER_MS = 1_000_000
MOST_BYTES = 1_000_000

# Encoded by the official protocol buffers library from the definitions of Prometheus.
OFFICIAL_V1 = bytes.fromhex(
    "0a84010a2b0a085f5f6e616d655f5f121f6e6f64655f6469736b5f72656164735f636f6d706c657465645f746f74"
    "616c0a0d0a0664657669636512037364610a170a08696e7374616e6365120b6b766d2d30313a3931303012100900"
    "0000000048934010fbd095ffbc3112100900000000005294401093c696ffbc311a0911000000000000f03f0a2e0a"
    "160a085f5f6e616d655f5f120a696f5f7365636f6e64732214080719000000000000d03f200578fbd095ffbc311a"
    "2a0801121f6e6f64655f6469736b5f72656164735f636f6d706c657465645f746f74616c22057265616473"
)
OFFICIAL_V2 = bytes.fromhex(
    "220022085f5f6e616d655f5f2202757022036a6f6222046e6f64652a1e0a0401020304121209000000000000f03f"
    "10fbd095ffbc3118052a0208022a230a0201021a1d11000000000000044019000000000000f0bf78ffffffffffff"
    "ffffff01"
)


def packed(request: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(request))


def decode(
    request: bytes, *, version: Version = Version.V1
) -> tuple[list[Point], list[tuple[str, str, int]]]:
    rejections = Rejections()
    points = decode_remote_write(
        packed(request), rejections, most_bytes=MOST_BYTES, version=version
    )
    return list(points), [(found.part, found.reason, found.count) for found in rejections.all()]


def series(labels: list[tuple[str, str]], *samples: bytes) -> bytes:
    return message(
        *((1, message((1, name), (2, value))) for name, value in labels),
        *((2, sample) for sample in samples),
    )


def sample(value: float, time_ms: int = TIME_MS) -> bytes:
    return message((1, float(value)), (2, time_ms))


def request(*found: bytes) -> bytes:
    return message(*((1, one) for one in found))


NAMED = [("__name__", "up")]
NAMES = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8
)
VALUES = st.floats(allow_nan=False, allow_infinity=False)
TIMES_MS = st.integers(-(2**63) // NS_PER_MS + 1, 2**63 // NS_PER_MS)
SERIES = st.lists(
    st.tuples(
        NAMES,
        st.dictionaries(NAMES.filter(lambda name: name != "__name__"), NAMES, max_size=4),
        st.lists(st.tuples(VALUES, TIMES_MS), max_size=3),
    ),
    max_size=4,
)


@given(SERIES)
def test_every_sample_of_version_1_becomes_a_point(
    found: list[tuple[str, dict[str, str], list[tuple[float, int]]]],
) -> None:
    body = request(
        *(
            series([*labels.items(), ("__name__", name)], *(sample(v, t) for v, t in samples))
            for name, labels, samples in found
        )
    )

    points, refused = decode(body)

    assert [(p.measurement, dict(p.tags), p.fields, p.time) for p in points] == [
        (name, labels, {"value": value}, time_ms * NS_PER_MS)
        for name, labels, samples in found
        for value, time_ms in samples
    ]
    assert all(list(point.tags) == sorted(point.tags) for point in points)
    assert refused == []


@given(SERIES)
def test_versions_say_the_same(
    found: list[tuple[str, dict[str, str], list[tuple[float, int]]]],
) -> None:
    first = request(
        *(
            series([("__name__", name), *labels.items()], *(sample(v, t) for v, t in samples))
            for name, labels, samples in found
        )
    )
    symbols = [""]
    second = b""
    for name, labels, samples in found:
        texts = [text for pair in (("__name__", name), *labels.items()) for text in pair]
        references = b"".join(varint(len(symbols) + place) for place in range(len(texts)))
        symbols += texts
        parts = message((1, references), *((2, sample(v, t)) for v, t in samples))
        second += message((5, parts))
    # The table may also stand behind the series.
    second += message(*((4, text) for text in symbols))

    assert decode(second, version=Version.V2) == decode(first)


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_give_points_or_reasons(body: bytes) -> None:
    for version in Version:
        points, _ = decode(body, version=version)

        assert are_good(points)


@given(st.binary(max_size=200))
def test_body_that_is_no_snappy_raises_nothing_but_a_named_error(body: bytes) -> None:
    points = []
    with suppress(DecodeError):
        points = list(decode_remote_write(body, Rejections(), most_bytes=1000))

    assert are_good(points)


@given(cut=st.integers(0, 1000))
def test_request_cut_off_anywhere_keeps_the_series_before(cut: int) -> None:
    whole = [series(NAMED, sample(number)) for number in range(5)]
    body = request(*whole)
    end = cut % len(body)

    points, refused = decode(body[:end])

    assert [point.fields["value"] for point in points] == list(
        range(end // len(request(whole[1])))
    )
    assert len(refused) == (1 if end % len(request(whole[1])) else 0)


def test_body_of_the_official_library_is_read() -> None:
    points, refused = decode(OFFICIAL_V1)

    tags = (("device", "sda"), ("instance", "kvm-01:9100"))
    assert [(p.measurement, p.tags, p.fields, p.time) for p in points] == [
        ("node_disk_reads_completed_total", tags, {"value": 1234.0}, TIME_MS * NS_PER_MS),
        (
            "node_disk_reads_completed_total",
            tags,
            {"value": 1300.5},
            (TIME_MS + 15_000) * NS_PER_MS,
        ),
        ("io_seconds", (), {"count": 7.0, "sum": 0.25}, TIME_MS * NS_PER_MS),
    ]
    assert refused == []


def test_body_of_the_official_library_in_version_2_is_read() -> None:
    points, refused = decode(OFFICIAL_V2, version=Version.V2)

    assert [(p.measurement, p.tags, p.fields, p.time) for p in points] == [
        ("up", (("job", "node"),), {"value": 1.0}, TIME_MS * NS_PER_MS),
        ("up", (), {"count": 2.5, "sum": -1.0}, -NS_PER_MS),
    ]
    assert refused == []


def test_zero_that_is_not_written_is_zero() -> None:
    # The format leaves zeros out.
    body = series(NAMED, message((2, TIME_MS))) + message((4, message((15, TIME_MS))))

    points, refused = decode(request(body))

    assert [point.fields for point in points] == [{"value": 0.0}, {"count": 0.0, "sum": 0.0}]
    assert refused == []


def test_staleness_marker_is_absence_and_no_fault() -> None:
    (stale,) = struct.unpack("<d", (0x7FF0000000000002).to_bytes(8, "little"))
    marker = message((2, TIME_MS)) + b"\x09" + (0x7FF0000000000002).to_bytes(8, "little")
    assert isnan(stale)

    points, refused = decode(request(series(NAMED, marker, sample(2))))

    assert [point.fields for point in points] == [{"value": 2.0}]
    assert refused == []


def test_stale_histogram_is_absence_and_no_fault() -> None:
    marker = b"\x19" + (0x7FF0000000000002).to_bytes(8, "little")
    stale = message((4, message((1, 5)) + marker + message((15, TIME_MS))))
    good = message((4, message((1, 5), (3, 0.5), (15, TIME_MS))))

    points, refused = decode(request(series(NAMED) + stale + good))

    assert [point.fields for point in points] == [{"count": 5.0, "sum": 0.5}]
    assert refused == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_value_that_is_not_finite_is_named(value: float) -> None:
    points, refused = decode(request(series(NAMED, sample(value), sample(2))))

    assert [point.fields for point in points] == [{"value": 2.0}]
    assert refused == [("up", "a value is not a finite number", 1)]


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([("device", "sda")], "the series has no name"),
        ([*NAMED, ("a", "1"), ("a", "2")], "a label is there twice"),
        ([*NAMED, *((f"l{n}", "x") for n in range(256))], "the series has more than 256 labels"),
    ],
)
def test_series_with_bad_labels_is_named_and_the_next_is_kept(
    labels: list[tuple[str, str]], reason: str
) -> None:
    points, refused = decode(request(series(labels, sample(1)), series(NAMED, sample(2))))

    assert [point.fields for point in points] == [{"value": 2.0}]
    assert refused == [("series 1", reason, 1)]


def test_label_that_is_not_utf8_spoils_its_series_alone() -> None:
    bad = message((1, message((1, "__name__"), (2, b"\xff"))), (2, sample(1)))

    points, refused = decode(request(bad, series(NAMED, sample(2))))

    assert [point.fields for point in points] == [{"value": 2.0}]
    assert refused == [("series 1", "a label is not valid UTF-8", 1)]


def test_empty_label_is_none() -> None:
    [point], _ = decode(request(series([*NAMED, ("device", "")], sample(1))))

    assert point.tags == ()


def test_broken_series_spoils_no_other() -> None:
    broken = series(NAMED, sample(1))[:-3]

    points, refused = decode(request(broken, series(NAMED, sample(2))))

    assert [point.fields for point in points] == [{"value": 2.0}]
    assert refused == [("series 1", "field 2 is longer than its message", 1)]


def test_time_that_does_not_fit_is_named() -> None:
    points, refused = decode(request(series(NAMED, sample(1, 2**62))))

    assert points == []
    assert refused == [("up", "a time does not fit 64 bits of nanoseconds", 1)]


@pytest.mark.parametrize(
    ("references", "reason"),
    [(b"\x01", "a label has no value"), (b"\x01\x63", "a label is not in the table of symbols")],
)
def test_bad_reference_of_version_2_is_named(references: bytes, reason: str) -> None:
    body = message((4, ""), (4, "__name__"), (5, message((1, references), (2, sample(1)))))

    points, refused = decode(body, version=Version.V2)

    assert points == []
    assert refused == [("series 1", reason, 1)]


def test_bomb_is_refused_before_it_unpacks() -> None:
    bomb = packed(bytes(20 * MOST_BYTES))
    assert len(bomb) < MOST_BYTES

    with pytest.raises(BodyTooLargeError, match="at most 1000000 may come"):
        list(decode_remote_write(bomb, Rejections(), most_bytes=MOST_BYTES))


def test_body_that_lies_about_its_size_is_refused() -> None:
    honest = packed(request(series(NAMED, sample(1))))

    with pytest.raises(FormatError, match="not snappy"):
        list(decode_remote_write(b"\x07" + honest[1:], Rejections(), most_bytes=MOST_BYTES))


def test_a_long_text_that_is_named_again_and_again_takes_memory_once() -> None:
    """Six bytes a series name a label of 100,000 characters, 5,000 times."""
    body = message((4, ""), (4, "__name__"), (4, "up"), (4, "a"), (4, "x" * 100_000))
    one = message((1, b"\x01\x02\x03\x04"), (2, sample(1)))

    tracemalloc.start()
    try:
        points, refused = decode(body + message((5, one)) * 5000, version=Version.V2)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (len(points), refused) == (5000, [])
    assert most_bytes < 50 * 2**20


def test_more_labels_than_allowed_are_not_even_read() -> None:
    references = b"\x01\x02" * 300_000
    body = message((4, ""), (4, "__name__"), (4, "up"), (5, message((1, references))))

    points, refused = decode(body, version=Version.V2)

    assert points == []
    assert refused == [("series 1", "the series has more than 256 labels", 1)]
