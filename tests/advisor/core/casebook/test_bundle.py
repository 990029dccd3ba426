"""The file of a bundle: the same again, and refused where it is not whole."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from advisor.core.allocation import ReservationMode
from advisor.core.casebook import bundle
from advisor.core.casebook.bundle import (
    KNOWN_MS,
    Bundle,
    BundleError,
    CapturedResource,
    CapturedSubject,
    Part,
    Track,
    matrix_of,
    parts_of,
    read_bundle,
    write_bundle,
)
from advisor.core.casebook.pseudonyms import Pseudonyms, week_shift
from advisor.core.chunk import Integers
from advisor.core.resource import ResourceKind, Unit

SINCE = datetime(2001, 1, 1, tzinfo=UTC)
RESOURCE = CapturedResource(
    name="resource-1",
    kind=ResourceKind.DATASTORE,
    unit=Unit.IOPS,
    mode=ReservationMode.FLOOR,
    window_s=10.0,
    threshold=20.0,
    activity_floor=1.0,
    reservable_ratio=0.75,
)


def bundle_of(*tracks: Track) -> Bundle:
    return Bundle(resource=RESOURCE, since=SINCE, until=SINCE + timedelta(hours=2), tracks=tracks)


def track_of(values: Integers, counter: int = 0) -> Track:
    subjects = tuple(
        CapturedSubject(host="host-1", name=f"device-{n}") for n in range(values.shape[1])
    )
    return Track(kind="disk", subjects=subjects, parts=tuple(parts_of(values, counter)))


@given(
    hnp.arrays(
        np.int64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=401),
        elements=st.integers(min_value=-1, max_value=2**40),
        fill=st.just(-1),
    )
)
def test_matrix_is_the_same_after_the_file(values: Integers) -> None:
    whole = bundle_of(track_of(values))

    found = read_bundle(write_bundle(whole))

    assert found == whole
    assert (matrix_of(found.tracks[0], 0, len(values)) == values).all()
    assert (matrix_of(found.tracks[0], KNOWN_MS, len(values)) == -1).all()


def test_same_bundle_is_the_same_file() -> None:
    whole = bundle_of(track_of(np.arange(720).reshape(360, 2)))

    assert write_bundle(whole) == write_bundle(whole)


WHOLE = write_bundle(bundle_of(track_of(np.arange(720).reshape(360, 2))))
_, BODY = WHOLE.split(b"\n", 1)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "its first line does not say so"),
        (b"\x1f\x8b anything else\n", "its first line does not say so"),
        (WHOLE[:-1], "it was cut or changed"),
        (WHOLE[:-1] + bytes([WHOLE[-1] ^ 1]), "it was cut or changed"),
        (WHOLE.replace(b"bundle 1 ", b"bundle 2 ", 1), "it is of version 2"),
    ],
    ids=["empty", "another file", "cut", "tampered", "newer"],
)
def test_file_that_is_not_whole_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(BundleError, match=why):
        read_bundle(data)


def test_file_of_something_else_is_refused_by_its_field() -> None:
    text = zstandard.ZstdDecompressor().decompress(BODY).replace(b'"until"', b'"while"')

    with pytest.raises(BundleError, match="while"):
        read_bundle(sealed(text))


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (b'"floor"', b'"ground"', "resource.mode"),
        (b'"iops"', b'"furlongs"', "resource.unit"),
        (b'"datastore"', b'"barn"', "resource.kind"),
        (b'"window_s":10.0', b'"window_s":0.0', "resource.window_s is 0"),
        (b'"threshold":20.0', b'"threshold":-1.0', "resource.threshold is -1"),
        (b'"until":"2001-01-01T02', b'"until":"2001-01-01T00', "the end must be later"),
        (b'"until":"2001-01-01', b'"until":"2001-02-02', "by at most 31 days"),
    ],
)
def test_value_that_means_nothing_is_refused_by_its_field(
    one: bytes, other: bytes, why: str
) -> None:
    text = zstandard.ZstdDecompressor().decompress(BODY)
    assert one in text

    with pytest.raises(BundleError, match=why):
        read_bundle(sealed(text.replace(one, other)))


def test_text_that_grows_beyond_all_bounds_is_not_unpacked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bundle, "_MOST_BYTES", 1 << 20)

    with pytest.raises(BundleError, match="larger than 1 MiB when it is unpacked"):
        read_bundle(sealed(b" " * ((1 << 20) + 1)))


def test_matrix_that_no_machine_could_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_MOST_CELLS", 1439)

    with pytest.raises(BundleError, match="2 subjects of disk over 2:00:00"):
        read_bundle(WHOLE)


def sealed(text: bytes) -> bytes:
    """A file with a good checksum, whatever is in it."""
    body = zstandard.ZstdCompressor().compress(text)
    return f"sluice-bundle 1 {hashlib.sha256(body).hexdigest()}\n".encode() + body


@pytest.mark.parametrize(
    "part",
    [
        Part(counter=0, begin=0, first=0, chunk="bm8gY2h1bms="),
        Part(counter=0, begin=0, first=0, chunk="???"),
        Part(counter=0, begin=-1, first=0, chunk=parts_of(np.zeros((2, 1), np.int64), 0)[0].chunk),
        Part(counter=0, begin=9, first=0, chunk=parts_of(np.zeros((2, 1), np.int64), 0)[0].chunk),
    ],
    ids=["no chunk", "no base64", "before the grid", "beyond the grid"],
)
def test_damaged_part_is_refused(part: Part) -> None:
    subject = CapturedSubject(host="host-1", name="device-1")

    with pytest.raises(BundleError, match="part of disk"):
        matrix_of(Track(kind="disk", subjects=(subject,), parts=(part,)), 0, 10)


def test_pseudonym_says_nothing_and_is_the_same_for_the_same_key() -> None:
    ours, theirs = Pseudonyms(key=b"k" * 16), Pseudonyms(key=b"l" * 16)

    assert ours.of("host", "web-1") == ours.of("host", "web-1")
    assert (
        len({ours.of("host", "web-1"), ours.of("host", "web-2"), theirs.of("host", "web-1")}) == 3
    )
    assert "web" not in ours.of("host", "web-1")


@given(st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_times_move_by_whole_weeks_into_the_first(at: datetime) -> None:
    shift = week_shift(at)

    assert shift % timedelta(weeks=1) == timedelta(0)
    assert SINCE <= at + shift < SINCE + timedelta(weeks=1)
