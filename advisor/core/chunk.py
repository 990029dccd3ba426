"""An hour of one figure of many tracks as bytes, and back, exactly.

A chunk is a header, the bits of what is known (left out if all is), and the values cut into
planes: all lowest bytes together, then the next ones. Neighbours in a plane are neighbours in
time, so zstd finds what repeats. Planes that are zero throughout are left out.

    byte 0      version of this layout, 1
    byte 1      kind of the values: 0 growth, 1 gauge
    byte 2      number of planes, 0 to 8
    byte 3      1 if the bits of what is known are there, else 0
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
"""Stands for a growth that is not known; a growth is never negative. An unknown gauge is NaN."""

Growth = npt.NDArray[np.int64]
"""Shape (windows, columns)."""
Gauge = npt.NDArray[np.float64]
"""Shape (windows, columns)."""
Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_KINDS = (np.dtype("<i8"), np.dtype("<f8"))
_HEADER = struct.Struct("<BBBBHHI")
_WIDTH = 8
_LEVEL = 3


class DamagedChunkError(ValueError):
    """The bytes are not a chunk that was written here: cut, changed, or of a later version."""


def pack(values: Growth | Gauge) -> bytes:
    """The chunk of a matrix of growths or gauges; ValueError for a matrix that has none."""
    kind = 1 if values.dtype.kind == "f" else 0
    windows, columns = values.shape
    if not (0 < windows <= MOST_WINDOWS and 0 < columns <= MOST_COLUMNS):
        raise ValueError(f"no chunk has {windows} windows of {columns} columns")
    known = _known(values)
    lines = np.ascontiguousarray(np.where(known, values, 0).T, dtype=_KINDS[kind])
    content = lines.view(np.uint8).reshape(-1, _WIDTH)
    used = content.any(axis=0)
    planes = int(np.flatnonzero(used)[-1]) + 1 if used.any() else 0
    bits = b"" if known.all() else np.packbits(known.T, axis=None).tobytes()
    raw = bits + np.ascontiguousarray(content[:, :planes].T).tobytes()
    body = zstandard.ZstdCompressor(level=_LEVEL, write_content_size=True).compress(raw)
    shape = (VERSION, kind, planes, int(bool(bits)), windows, columns)
    return _HEADER.pack(*shape, _checksum(shape, body)) + body


def unpack(data: bytes) -> Growth | Gauge:
    """The matrix that was packed; raises `DamagedChunkError` rather than give another one."""
    if len(data) < _HEADER.size:
        raise DamagedChunkError(f"{len(data)} bytes are too few for a chunk")
    *shape, checksum = _HEADER.unpack_from(data)
    version, kind, planes, has_bits, windows, columns = shape
    if version != VERSION:
        raise DamagedChunkError(f"version {version} of chunks is not known here")
    body = data[_HEADER.size :]
    if _checksum(tuple(shape), body) != checksum:
        raise DamagedChunkError("the checksum does not fit: the chunk was cut or changed")
    cells = windows * columns
    bit_count = -(-cells // 8) * has_bits
    raw = zstandard.ZstdDecompressor().decompress(body, max_output_size=bit_count + planes * cells)
    content = np.zeros((cells, _WIDTH), dtype=np.uint8)
    content[:, :planes] = np.frombuffer(raw, np.uint8, offset=bit_count).reshape(planes, cells).T
    values = content.view(_KINDS[kind]).reshape(columns, windows).T
    if has_bits:
        bits = np.frombuffer(raw, np.uint8, count=bit_count)
        known = np.unpackbits(bits, count=cells).reshape(columns, windows).T
        values[known == 0] = np.nan if kind else UNKNOWN
    return values


def _known(values: Growth | Gauge) -> Flags:
    """Which values are known; what can be neither known nor unknown is a ValueError."""
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise ValueError("a gauge is a finite number, or NaN where it is not known")
        return ~np.isnan(values)
    if (values < UNKNOWN).any():
        raise ValueError(f"a growth is not negative, or {UNKNOWN} where it is not known")
    return values != UNKNOWN


def _checksum(shape: tuple[int, ...], body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack("<BBBBHH", *shape)))
