import gzip
import io
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.body import (
    BodyError,
    BodyTooLargeError,
    LineTooLargeError,
    UnknownEncodingError,
    UnreadableBodyError,
    read_body,
)

LIMIT = 1_000_000


class Counted(io.BytesIO):
    """A stream that says how much of it was read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        chunk = super().read(size)
        self.taken += len(chunk)
        return chunk


def read(content: bytes, *, encoding: str = "", length: int | None = None) -> bytes:
    size = len(content) if length is None else length
    return read_body(io.BytesIO(content), encoding=encoding, length=size, max_bytes=LIMIT)


LINES = st.binary(min_size=1, max_size=300).filter(lambda content: content.strip())


@given(st.lists(LINES, min_size=1, max_size=4), st.integers(0, 9))
def test_packed_body_is_unpacked_in_any_number_of_members(parts: list[bytes], level: int) -> None:
    packed = b"".join(gzip.compress(part, level) for part in parts)

    assert read(packed, encoding="gzip") == b"".join(parts)


@given(LINES)
def test_plain_body_is_itself(content: bytes) -> None:
    assert read(content) == read(content, encoding="identity") == content


@given(LINES, st.data())
def test_cut_off_gzip_is_never_taken_for_whole(content: bytes, data: st.DataObject) -> None:
    packed = gzip.compress(content)
    cut = data.draw(st.integers(1, len(packed) - 1))

    with pytest.raises(UnreadableBodyError):
        read(packed[:cut], encoding="gzip")


@given(st.binary(max_size=200))
def test_any_bytes_as_gzip_give_a_body_or_a_reason(content: bytes) -> None:
    with suppress(BodyError):
        assert read(content, encoding="gzip").strip()


def test_repeated_long_lines_survive_packing() -> None:
    content = b"diskio,host=h1,name=sda reads=1i 1700000000000000000\n" * 15_000

    assert read(gzip.compress(content), encoding="gzip") == content


def test_bomb_is_refused_without_unpacking_it() -> None:
    # 1.2 GB of lines in about 1 MB, of which only the beginning may be looked at.
    bomb = gzip.compress(b"m v=1\n" * 2_000_000) * 100
    stream = Counted(bomb)

    with pytest.raises(BodyTooLargeError, match="larger than 1000000 bytes unpacked"):
        read_body(stream, encoding="gzip", length=len(bomb), max_bytes=LIMIT)

    assert len(bomb) > 500_000
    assert stream.taken <= 2 * 64 * 1024


def test_bomb_without_line_breaks_is_refused_soon() -> None:
    bomb = gzip.compress(bytes(10**7)) * 100
    stream = Counted(bomb)

    with pytest.raises(BodyTooLargeError):
        read_body(stream, encoding="gzip", length=len(bomb), max_bytes=LIMIT)

    assert stream.taken <= 2 * 64 * 1024


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param(b"m v=1\n" * 200_000, BodyTooLargeError, id="many lines can be divided"),
        pytest.param(b"m v=" + b"1" * LIMIT, LineTooLargeError, id="one line cannot"),
        pytest.param(b"m v=" + b"1" * LIMIT + b"\n", LineTooLargeError, id="one ended line"),
        pytest.param(
            b"m v=" + b"1" * LIMIT + b"\nm v=1", BodyTooLargeError, id="a long line and another"
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_too_large_body_is_told_by_whether_it_can_be_divided(
    content: bytes, error: type[BodyError], encoding: str
) -> None:
    sent = gzip.compress(content) if encoding == "gzip" else content

    with pytest.raises(error):
        read(sent, encoding=encoding)


@pytest.mark.parametrize(
    ("content", "encoding", "length", "message"),
    [
        (b"", "", 0, "the body is empty"),
        (b" \n \r\n", "", 5, "the body is empty"),
        (gzip.compress(b"", mtime=0), "gzip", None, "the body is empty"),
        (b"m v=12", "", 10, "the body ends too early: 4 of 10 announced bytes are missing"),
        (b"no gzip", "gzip", None, "the body is not valid gzip"),
        (gzip.compress(b"m v=1", mtime=0)[:-4], "gzip", None, "the gzip body ends too early"),
        (gzip.compress(b"m v=1", mtime=0) + b"xyz", "gzip", None, "the body is not valid gzip"),
    ],
)  # fmt: skip
def test_unreadable_body_says_why(
    content: bytes, encoding: str, length: int | None, message: str
) -> None:
    with pytest.raises(UnreadableBodyError, match=message):
        read(content, encoding=encoding, length=length)


def test_unknown_encoding_names_what_is_understood() -> None:
    with pytest.raises(UnknownEncodingError, match="'br' is not understood; use gzip or identity"):
        read(b"x", encoding="br")
