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
import threading
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import zstandard

VERSION = 1
MOST_WINDOWS = 360
MOST_COLUMNS = 200
MOST_AT_ONCE = 65_536
"""Numbers that are put together at once: many small chunks, or one large one, fit into a cache."""
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
    opened = _opened(data)
    if wanted is None:
        wanted = np.arange(opened.columns)
    return _numbers([opened], wanted)[:, 0].T


def unpack_together(chunks: Sequence[bytes], wanted: Integers) -> Integers:
    """The same of chunks, at least one, with equally many windows: (wanted, chunks, windows)."""
    first = _opened(chunks[0])
    found = np.empty((len(wanted), len(chunks), first.windows), dtype=np.int64)
    at_once = max(MOST_AT_ONCE // max(len(wanted) * first.windows, 1), 1)
    for begin in range(0, len(chunks), at_once):
        part = [_opened(data) for data in chunks[begin : begin + at_once]]
        found[:, begin : begin + at_once] = _numbers(part, wanted)
    return found


def unpack_sums(chunks: Sequence[bytes], wanted: Integers, *, steps: int) -> Integers:
    """Sums over each of so many equal parts of the windows of each: (wanted, chunks, steps).

    What is not known, or not there, counts as nothing.
    """
    found = np.zeros((len(wanted), len(chunks), steps), dtype=np.int64)
    for place, data in enumerate(chunks):
        opened = _opened(data)
        is_there = wanted < opened.columns
        if is_there.all():
            found[:, place] = _sums(opened, wanted, steps)
        else:
            found[is_there, place] = _sums(opened, wanted[is_there], steps)
    return found


class _Opened(NamedTuple):
    """The bytes of a chunk, the lowest first, (planes, columns, windows), which are 0 where
    nothing is known; and what is known, (columns, windows), None if all is.
    """

    content: Bytes
    is_known: Flags | None

    @property
    def columns(self) -> int:
        return int(self.content.shape[1])

    @property
    def windows(self) -> int:
        return int(self.content.shape[2])


def _opened(data: bytes) -> _Opened:
    if len(data) < _HEADER.size:
        raise DamagedChunkError(f"{len(data)} bytes are too few for a chunk")
    version, planes, has_bits, windows, columns, checksum = _HEADER.unpack_from(data)
    if version != VERSION:
        raise DamagedChunkError(f"version {version} of chunks is not known here")
    body = memoryview(data)[_HEADER.size :]
    if data[3] or _checksum((version, planes, has_bits, windows, columns), body) != checksum:
        raise DamagedChunkError("the checksum does not fit: the chunk was cut or changed")
    cells = windows * columns
    bit_count = -(-cells // 8) * has_bits
    raw = _decompressor().decompress(body, max_output_size=bit_count + planes * cells)
    content = np.frombuffer(raw, np.uint8, offset=bit_count).reshape(planes, columns, windows)
    if not has_bits:
        return _Opened(content=content, is_known=None)
    bits = np.frombuffer(raw, np.uint8, count=bit_count)
    is_known = np.unpackbits(bits, count=cells).view(np.bool_).reshape(columns, windows)
    return _Opened(content=content, is_known=is_known)


_own = threading.local()
"""What a decompressor works in takes as long to make as an hour to unpack; threads share none."""


def _decompressor() -> zstandard.ZstdDecompressor:
    if not hasattr(_own, "decompressor"):
        _own.decompressor = zstandard.ZstdDecompressor()
    found: zstandard.ZstdDecompressor = _own.decompressor
    return found


def _numbers(chunks: Sequence[_Opened], wanted: Integers) -> Integers:
    """The numbers of the wanted columns, (wanted, chunks, windows)."""
    planes = max(len(one.content) for one in chunks)
    shape = (len(wanted), len(chunks), chunks[0].windows)
    content = np.zeros((planes, *shape), dtype=np.uint8)
    for place, one in enumerate(chunks):
        there = _there(one, wanted)
        content[: len(one.content), there, place] = one.content[:, wanted[there]]
    # Narrow numbers are shifted faster.
    values: npt.NDArray[np.integer] = np.zeros(shape, np.uint32 if planes <= 4 else np.int64)
    for plane in content[::-1]:
        values <<= 8
        values |= plane
    numbers = values.astype(np.int64, copy=False)
    for place, one in enumerate(chunks):
        there = _there(one, wanted)
        if one.is_known is not None:
            here = numbers[there, place]
            numbers[there, place] = np.where(one.is_known[wanted[there]], here, UNKNOWN)
        if not isinstance(there, slice):
            numbers[~there, place] = UNKNOWN
    return numbers


def _there(chunk: _Opened, wanted: Integers) -> Flags | slice:
    """Which of the wanted columns the chunk has: those that came later are not in it."""
    is_there = wanted < chunk.columns
    return slice(None) if is_there.all() else is_there


def _sums(chunk: _Opened, columns: Integers, steps: int) -> Integers:
    """(columns, steps): bytes of equal weight are added up before they are put together.

    That is faster than to add up numbers, most of all with floats of 32 bits, which hold each such
    sum exactly.
    """
    is_most = 2 * len(columns) > chunk.columns
    content = chunk.content if is_most else chunk.content[:, columns]
    ones = np.ones(chunk.windows // steps, dtype=np.float32)
    added = content.reshape(-1, len(ones)).astype(np.float32) @ ones
    values = np.zeros((content.shape[1], steps), dtype=np.int64)
    for plane in added.reshape(len(content), *values.shape)[::-1]:
        values <<= 8
        values += plane.astype(np.int64)
    return values[columns] if is_most else values


def _checksum(shape: tuple[int, ...], body: bytes | memoryview) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack("<BBBHH", *shape)))
