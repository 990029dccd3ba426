"""Lines of a file that comes in chunks, in memory bounded by the longest line."""

import codecs
from collections.abc import Iterable, Iterator

from ingest.core.decoders.rejections import Rejections

LONGEST_LINE_BYTES = 64 * 1024 * 1024
"""A header of 500,000 esxtop columns has about 50 MB."""

_UTF8_MARK = codecs.BOM_UTF8
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def lines(
    chunks: Iterable[bytes],
    rejections: Rejections,
    *,
    longest_bytes: int = LONGEST_LINE_BYTES,
    last_is_whole: bool = True,
) -> Iterator[bytes]:
    """The lines of a file in UTF-8, without line breaks.

    A file that Windows wrote in UTF-16 is read as well. A longer line is refused as a whole, and
    so is a last one without a line break where `last_is_whole` is false: it may be cut off.
    """
    pieces: list[bytes] = []
    size = 0
    for chunk in _in_utf8(chunks):
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            pieces.append(chunk[start:end])
            size += end - start
            yield from _line(pieces, size, longest_bytes, rejections)
            pieces, size, start = [], 0, end + 1
        size += len(chunk) - start
        # Of a line that is too long already, only the length is kept.
        if size <= longest_bytes or not pieces:
            pieces.append(chunk[start:])
    if size and not last_is_whole:
        rejections.add(_start(pieces), "the last line may be cut off")
    elif size:
        yield from _line(pieces, size, longest_bytes, rejections)


def _line(
    pieces: list[bytes], size: int, longest_bytes: int, rejections: Rejections
) -> Iterator[bytes]:
    if size > longest_bytes:
        start = b"".join(pieces)[:80]
        rejections.add(
            start.decode("utf-8", "replace"), f"the line is longer than {longest_bytes} bytes"
        )
        return
    yield b"".join(pieces).removesuffix(b"\r")


def _start(pieces: list[bytes]) -> str:
    return b"".join(pieces)[:80].decode("utf-8", "replace")


def _in_utf8(chunks: Iterable[bytes]) -> Iterator[bytes]:
    following = iter(chunks)
    first = b""
    for chunk in following:
        first += chunk
        if len(first) >= len(_UTF8_MARK):
            break
    if first.startswith(_UTF16_MARKS):
        yield from _from_utf16(first, following)
        return
    yield first.removeprefix(_UTF8_MARK)
    yield from following


def _from_utf16(first: bytes, following: Iterator[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder("utf-16")("replace")
    yield decoder.decode(first).encode("utf-8", "replace")
    for chunk in following:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")
