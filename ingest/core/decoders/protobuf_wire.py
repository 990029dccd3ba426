"""The wire format of protocol buffers, read without generated code.

A library would refuse a message as a whole for one bad part, and remote write has no package of
definitions; three messages here and a dozen of OTLP are little beside that. Specification:
protobuf.dev, "Encoding".
"""

import struct
from collections.abc import Iterator

VARINT = 0
FIXED64 = 1
BYTES = 2
FIXED32 = 5

_LARGEST_VARINT_BYTES = 10
_INT64_SIGN = 1 << 63
_UINT64_MASK = (1 << 64) - 1

unpack_double = struct.Struct("<d").unpack
unpack_fixed64 = struct.Struct("<Q").unpack
unpack_sfixed64 = struct.Struct("<q").unpack


class WireError(ValueError):
    """A message is broken from some place on; the text says how."""


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned number of up to 64 bits and the place behind it."""
    result = 0
    for shift in range(0, 7 * _LARGEST_VARINT_BYTES, 7):
        if position >= len(data):
            raise WireError("the message ends within a number")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & _UINT64_MASK, position
    raise WireError(f"a number is longer than {_LARGEST_VARINT_BYTES} bytes")


def signed(value: int) -> int:
    """A number as int64 and int32 mean it."""
    return value - (1 << 64) if value & _INT64_SIGN else value


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """Number, wire type and value of each field of a message, in its order.

    The value is a number for `VARINT` and the bytes as they are for the others. Raises `WireError`
    at the first broken field, after the good ones before it.
    """
    position, end = 0, len(data)
    while position < end:
        # Nearly all tags and lengths are one byte; the general reader costs three times as much.
        tag = data[position]
        position += 1
        if tag >= 0x80:
            tag, position = read_varint(data, position - 1)
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise WireError("a field has the number 0")
        if wire_type == VARINT:
            value, position = read_varint(data, position)
            yield number, wire_type, value
            continue
        if wire_type == BYTES:
            size, position = read_varint(data, position)
        elif wire_type == FIXED64:
            size = 8
        elif wire_type == FIXED32:
            size = 4
        else:
            raise WireError(f"field {number} has the unknown wire type {wire_type}")
        if position + size > end:
            raise WireError(f"field {number} is longer than its message")
        yield number, wire_type, data[position : position + size]
        position += size


def packed_varints(data: bytes) -> list[int]:
    """The numbers of a packed repeated field."""
    numbers: list[int] = []
    position = 0
    while position < len(data):
        number, position = read_varint(data, position)
        numbers.append(number)
    return numbers


def varint(number: int) -> bytes:
    """A number that is not negative, seven bits a byte, the lowest first."""
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
