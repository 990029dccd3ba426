"""Writes protocol buffers for tests, as their specification encodes field numbers and values."""

import struct

Field = tuple[int, "int | float | str | bytes"]


def varint(value: int) -> bytes:
    value %= 2**64
    out = b""
    while value > 127:
        out += bytes([value % 128 + 128])
        value //= 128
    return out + bytes([value])


def message(*fields: Field) -> bytes:
    """An int is a varint, a float a double, text and bytes are length-delimited."""
    return b"".join(_field(number, value) for number, value in fields)


def fixed64(number: int, value: int) -> bytes:
    return varint(number * 8 + 1) + struct.pack("<q" if value < 0 else "<Q", value)


def _field(number: int, value: int | float | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number * 8) + varint(value)
    if isinstance(value, float):
        return varint(number * 8 + 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number * 8 + 2) + varint(len(data)) + data
