"""The body of a write, unpacked, and never larger than allowed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

from ingest.native_lines import unpacked

_READ_BYTES = 64 * 1024
_GZIP = 16 + zlib.MAX_WBITS
# How far a body that is too large is looked at for a line break, in multiples of what is allowed.
_SEARCHED = 4
# Samples are seldom packed closer; what is packed smaller is read whole and unpacked in one go.
_USUAL_RATIO = 8


class BodyError(ValueError):
    """The body cannot be used; the text says why.

    BodyError
    ├── BodyTooLargeError       smaller parts of it can be used
    ├── LineTooLargeError       one line fills it; no part of it can ever be used
    ├── UnreadableBodyError     broken or truncated; sending it again would not help
    └── UnknownEncodingError    packed in a way that is not understood
    """


class BodyTooLargeError(BodyError):
    pass


class LineTooLargeError(BodyError):
    def __init__(self, start: bytes, max_bytes: int) -> None:
        super().__init__(f"one line is larger than the {max_bytes} bytes of a whole body")
        self.start = start


class UnreadableBodyError(BodyError):
    pass


class UnknownEncodingError(BodyError):
    pass


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def read_body(stream: Readable, *, encoding: str, length: int, max_bytes: int) -> bytes:
    """The unpacked body; raises a `BodyError` if there is none of at most `max_bytes`.

    `length` is the number of packed bytes that were announced. Unpacking stops soon after the
    limit, so a small body that unpacks to gigabytes costs little.
    """
    packed = _announced(stream, length)
    match encoding.strip().lower():
        case "" | "identity":
            chunks = packed
        case "gzip" | "x-gzip":
            if length * _USUAL_RATIO <= max_bytes:
                whole = b"".join(packed)
                content = unpacked(whole, max_bytes)
                if content is not None and not _is_blank(content):
                    return content
                packed = iter([whole])
            chunks = _gunzipped(packed)
        case other:
            raise UnknownEncodingError(
                f"Content-Encoding {other!r} is not understood; use gzip or identity"
            )
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > max_bytes:
            raise _too_large(bytes(body), chunks, max_bytes)
    if not body.strip():
        raise UnreadableBodyError("the body is empty: there is nothing to store")
    return bytes(body)


def line_count(body: bytes) -> int:
    """The lines of an unpacked body, empty ones and comments among them."""
    return body.count(b"\n") + (not body.endswith(b"\n"))


def _too_large(body: bytes, following: Iterator[bytes], max_bytes: int) -> BodyError:
    """Which error it is: a body of several lines can be sent in parts, a single line cannot."""
    too_large = BodyTooLargeError(
        f"the body is larger than {max_bytes} bytes unpacked; send it in smaller parts"
    )
    searched = len(body)
    last = body.rstrip(b"\r\n")
    if b"\n" in last:
        return too_large
    for chunk in following:
        searched += len(chunk)
        if b"\n" in chunk.rstrip(b"\r\n") or searched > _SEARCHED * max_bytes:
            return too_large
    return LineTooLargeError(body[:1024], max_bytes)


def _announced(stream: Readable, length: int) -> Iterator[bytes]:
    """The body as it was sent; a truncated body must not pass as complete.

    The last line of a body that was cut off can be a good line with a wrong number.
    """
    missing = length
    while missing > 0:
        try:
            chunk = stream.read(min(missing, _READ_BYTES))
        except OSError as error:
            raise UnreadableBodyError(f"the body ends too early: {error}") from error
        if not chunk:
            raise UnreadableBodyError(
                f"the body ends too early: {missing} of {length} announced bytes are missing"
            )
        missing -= len(chunk)
        yield chunk


def _gunzipped(packed: Iterator[bytes]) -> Iterator[bytes]:
    """The content of one gzip member after another, a limited piece at a time."""
    member = zlib.decompressobj(_GZIP)
    finished = True
    for chunk in packed:
        waiting = chunk
        while waiting:
            if member.eof:
                member = zlib.decompressobj(_GZIP)
            try:
                unpacked = member.decompress(waiting, _READ_BYTES)
            except zlib.error as error:
                raise UnreadableBodyError(f"the body is not valid gzip: {error}") from error
            if unpacked:
                yield unpacked
            finished = member.eof
            waiting = member.unused_data if finished else member.unconsumed_tail
    if not finished:
        raise UnreadableBodyError("the gzip body ends too early: a part of it is missing")


def _is_blank(content: bytes) -> bool:
    return not content or content.isspace()
