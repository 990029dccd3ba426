"""An hour of one figure of many tracks as bytes, and back, exactly.

A chunk is a header, the bits of what is known (left out if all is), and the values cut into
planes: all lowest bytes together, then the next ones. Neighbours in a plane are neighbours in
time, so zstd finds what repeats. Planes that are zero throughout are left out.

    byte 0      version of this layout, 1
    byte 1      number of planes, 0 to 8
    byte 2      1 if the bits of what is known are there, else 0
    byte 3      0
    bytes 4-7   windows and columns, 16 bits each, little end first
    bytes 8-11  CRC-32 of all other bytes
    from 12 on  one zstd frame: bits, then planes; in both, one column after the other
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt
import zstandard

VERSION = 1
MOST_WINDOWS = 360
MOST_COLUMNS = 200
UNKNOWN = -1
"""Stands for what is not known: no growth and no gauge is negative."""

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_HEADER = struct.Struct("<BBBxHHI")
_WIDTH = 8
_LEVEL = 3


class DamagedChunkError(ValueError):
    """The bytes are not a chunk that was written here: cut, changed, or of a later version."""


def pack(values: Integers) -> bytes:
    """The chunk of a matrix, (windows, columns); ValueError for a matrix that has none."""
    windows, columns = values.shape
    if not (0 < windows <= MOST_WINDOWS and 0 < columns <= MOST_COLUMNS):
        raise ValueError(f"no chunk has {windows} windows of {columns} columns")
    lowest = int(values.min())
    if lowest < UNKNOWN:
        raise ValueError(f"a value is not negative, or {UNKNOWN} where it is not known")
    bits = b""
    if lowest == UNKNOWN:
        known = values != UNKNOWN
        bits = np.packbits(known.T, axis=None).tobytes()
        values = np.where(known, values, 0)
    planes = -(-int(values.max()).bit_length() // 8)
    lines = np.ascontiguousarray(values.T, dtype="<i8")
    content = lines.view(np.uint8).reshape(-1, _WIDTH)
    raw = bits + np.ascontiguousarray(content[:, :planes].T).tobytes()
    body = zstandard.ZstdCompressor(level=_LEVEL).compress(raw)
    shape = (VERSION, planes, int(bool(bits)), windows, columns)
    return _HEADER.pack(*shape, _checksum(shape, body)) + body


def unpack(data: bytes, wanted: Integers | None = None) -> Integers:
    """The matrix that was packed; raises `DamagedChunkError` rather than give another one.

    Of `wanted` columns, if given, only these, in this order: one that the chunk does not have is
    unknown. Most of the time goes into putting numbers together, so fewer columns take less.
    """
    if len(data) < _HEADER.size:
        raise DamagedChunkError(f"{len(data)} bytes are too few for a chunk")
    version, planes, has_bits, windows, columns, checksum = _HEADER.unpack_from(data)
    if version != VERSION:
        raise DamagedChunkError(f"version {version} of chunks is not known here")
    body = data[_HEADER.size :]
    if data[3] or _checksum((version, planes, has_bits, windows, columns), body) != checksum:
        raise DamagedChunkError("the checksum does not fit: the chunk was cut or changed")
    cells = windows * columns
    bit_count = -(-cells // 8) * has_bits
    raw = zstandard.ZstdDecompressor().decompress(body, max_output_size=bit_count + planes * cells)
    content = np.frombuffer(raw, np.uint8, offset=bit_count).reshape(planes, columns, windows)
    is_known = None
    if has_bits:
        bits = np.frombuffer(raw, np.uint8, count=bit_count)
        is_known = np.unpackbits(bits, count=cells).view(np.bool_).reshape(columns, windows)
    if wanted is None:
        return _numbers(content, is_known).T
    is_there = wanted < columns
    own = wanted[is_there]
    found = _numbers(content[:, own], None if is_known is None else is_known[own])
    if len(own) < len(wanted):
        every = np.full((len(wanted), windows), UNKNOWN, dtype=np.int64)
        every[is_there] = found
        found = every
    return found.T


def _numbers(content: Bytes, is_known: Flags | None) -> Integers:
    """(columns, windows) from the planes of the same shape, the lowest bytes first."""
    planes, *shape = content.shape
    # Narrow numbers are shifted faster.
    values: npt.NDArray[np.integer] = np.zeros(shape, np.uint32 if planes <= 4 else np.int64)
    for plane in content[::-1]:
        values <<= 8
        values |= plane
    numbers = values.astype(np.int64, copy=False)
    if is_known is not None:
        numbers[~is_known] = UNKNOWN
    return numbers


def _checksum(shape: tuple[int, ...], body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack("<BBBHH", *shape)))
