"""Snappy's block format, with a bound on what a body may unpack to."""

import cramjam

from ingest.core.decoders.errors import BodyTooLargeError, FormatError
from ingest.core.decoders.protobuf_wire import WireError, read_varint


def decompress(body: bytes, *, most_bytes: int) -> bytes:
    """The unpacked body. The block says its size first, so a bomb is refused before it unpacks."""
    try:
        size, _ = read_varint(body, 0)
    except WireError as error:
        raise FormatError("the body is not snappy: it does not begin with its size") from error
    if size > most_bytes:
        raise BodyTooLargeError(f"the body unpacks to {size} bytes; at most {most_bytes} may come")
    try:
        return bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise FormatError(f"the body is not snappy: {error}") from error
