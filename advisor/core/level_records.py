"""Judged windows as they are stored: a record where a window says something new.

A window that says the same as the one before it needs no record, so a device that nobody uses
takes none but one an hour. `Run` says which windows were judged: they follow each other without a
gap and have the same state. Each window of a run says what the newest record up to it says.

A record lies in the part of five minutes that its window ends in. The first window of a run and
that of each hour have a record, so nobody has to look further back than to the hour.

The bytes of records are

    byte 0      version of this layout, 1
    bytes 1-3   0
    bytes 4-7   number of records, little end first
    bytes 8-11  CRC-32 of all other bytes
    from 12 on  one zstd frame: 4 bytes with the length of a text, then that text, JSON with the
                sayings; then planes (all lowest bytes together, then the next ones) of the times
                as differences in microseconds, of the sayings by number, 32 bits, and of value,
                threshold, load and load of the device as 64-bit floats, NaN for absent
"""

from __future__ import annotations

import json
import math
import struct
import threading
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import zstandard

VERSION = 1
PART_US = 300_000_000
HOUR_US = 3_600_000_000
FIGURES = ("value", "threshold", "load", "device_load")

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_LEVEL = 3


class _Zstd(threading.local):
    """What packs and unpacks in a thread; it takes longer to make than five minutes to pack."""

    def __init__(self) -> None:
        self.compress = zstandard.ZstdCompressor(level=_LEVEL).compress
        self.decompress = zstandard.ZstdDecompressor().decompress


_zstd = _Zstd()
_HEADER = struct.Struct("<BxxxII")
_LENGTH = struct.Struct("<I")


class DamagedLevelsError(ValueError):
    """The bytes are not records that were written here: cut, changed, or of a later version."""


class Saying(NamedTuple):
    """What many windows say in the same words; `signals` are those of an uplink, as JSON."""

    state: str
    since_us: int
    reason: str
    signals: str


class Window(NamedTuple):
    """One judged window, which ends `at_us`; figures as `FIGURES`, None where they are absent."""

    at_us: int
    saying: Saying
    figures: tuple[float | None, ...]

    def says_as(self, other: Window) -> bool:
        """Whether it differs from the other in its time only."""
        return self.saying == other.saying and self.figures == other.figures


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """Windows in order of time: `at_us` and `said`, the number of the saying, each (records).

    `figures` is (figures, records), NaN where absent.
    """

    at_us: Integers
    said: Integers
    figures: Floats
    sayings: tuple[Saying, ...]

    def window(self, place: int) -> Window:
        """One of them; -1 is the last."""
        return Window(
            at_us=int(self.at_us[place]),
            saying=self.sayings[int(self.said[place])],
            figures=tuple(
                None if math.isnan(one) else one for one in self.figures[:, place].tolist()
            ),
        )


def records_of(windows: Sequence[Window]) -> Records:
    """A record for each window."""
    numbers: dict[Saying, int] = {}
    said = [numbers.setdefault(one.saying, len(numbers)) for one in windows]
    # None becomes NaN.
    figures = np.array([one.figures for one in windows], dtype=np.float64)
    return Records(
        at_us=np.array([one.at_us for one in windows], dtype=np.int64),
        said=np.array(said, dtype=np.int64),
        figures=figures.reshape(-1, len(FIGURES)).T,
        sayings=tuple(numbers),
    )


def joined(several: Sequence[Records]) -> Records:
    """All of them as one, in this order; equal sayings are one."""
    numbers: dict[Saying, int] = {}
    said = []
    for records in several:
        own = [numbers.setdefault(one, len(numbers)) for one in records.sayings]
        said.append(np.array(own, dtype=np.int64)[records.said])
    return Records(
        at_us=np.concatenate([one.at_us for one in several]),
        said=np.concatenate(said),
        figures=np.concatenate([one.figures for one in several], axis=1),
        sayings=tuple(numbers),
    )


def pack(records: Records) -> bytes:
    """The bytes of at least one record."""
    text = json.dumps(records.sayings, ensure_ascii=False, separators=(",", ":")).encode()
    raw = b"".join(
        [
            _LENGTH.pack(len(text)),
            text,
            _planes(np.diff(records.at_us, prepend=0).astype("<i8")),
            _planes(records.said.astype("<u4")),
            _planes(records.figures.astype("<f8")),
        ]
    )
    body = _zstd.compress(raw)
    count = len(records.at_us)
    return _HEADER.pack(VERSION, count, _checksum(count, body)) + body


def unpack(data: bytes) -> Records:
    """The records that were packed; raises `DamagedLevelsError` rather than give other ones."""
    if len(data) < _HEADER.size:
        raise DamagedLevelsError(f"{len(data)} bytes are too few for records")
    version, count, checksum = _HEADER.unpack_from(data)
    if version != VERSION:
        raise DamagedLevelsError(f"version {version} of records is not known here")
    body = data[_HEADER.size :]
    if any(data[1:4]) or _checksum(count, body) != checksum:
        raise DamagedLevelsError("the checksum does not fit: the records were cut or changed")
    raw = _zstd.decompress(body)
    (length,) = _LENGTH.unpack_from(raw)
    begin = _LENGTH.size + length
    sayings = tuple(Saying(*one) for one in json.loads(raw[_LENGTH.size : begin]))
    at = begin + 8 * count
    said = at + 4 * count
    return Records(
        at_us=np.cumsum(_from_planes(raw[begin:at], "<i8")).astype(np.int64),
        said=_from_planes(raw[at:said], "<u4").astype(np.int64),
        figures=_from_planes(raw[said:], "<f8").astype(np.float64).reshape(len(FIGURES), count),
        sayings=sayings,
    )


def _planes(values: npt.NDArray[np.generic]) -> bytes:
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(np.uint8).reshape(-1, flat.itemsize).T.tobytes()


def _from_planes(data: bytes, kind: str) -> npt.NDArray[np.generic]:
    planes = np.frombuffer(data, np.uint8).reshape(np.dtype(kind).itemsize, -1)
    return np.ascontiguousarray(planes.T).view(kind).reshape(-1)


def _checksum(count: int, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(_HEADER.pack(VERSION, count, 0)))


def part_of(at_us: int) -> int:
    """When the part began that a window with this end belongs to."""
    return (at_us - 1) // PART_US * PART_US


def hour_of(at_us: int) -> int:
    """When the hour began that a window with this end belongs to."""
    return (at_us - 1) // HOUR_US * HOUR_US


class Run(NamedTuple):
    """Windows of one state that follow each other: from `first_us` to `until_us`, both ends.

    `reason` is that of the first.
    """

    state: str
    since_us: int
    first_us: int
    until_us: int
    step_us: int
    reason: str

    def up_to(self, at_us: int) -> Run:
        """Its windows up to this time, of which there is one."""
        whole = (at_us - self.first_us) // self.step_us
        return self._replace(until_us=min(self.until_us, self.first_us + whole * self.step_us))

    def beyond(self, at_us: int) -> Run:
        """Its windows after this time, of which there is one."""
        skipped = max(0, (at_us - self.first_us) // self.step_us + 1)
        return self._replace(first_us=self.first_us + skipped * self.step_us)

    def goes_on_with(self, other: Run) -> bool:
        """Whether the windows of the other are the next of this one."""
        follows = other.first_us - self.until_us == self.step_us == other.step_us
        return follows and other.state == self.state

    def ends(self, since_us: int, until_us: int) -> Integers:
        """The ends of its windows in (since_us, until_us]."""
        skipped = max(0, (since_us - self.first_us) // self.step_us + 1)
        last = min(self.until_us, until_us)
        return np.arange(
            self.first_us + skipped * self.step_us, last + 1, self.step_us, dtype=np.int64
        )


def recorded_ends(runs: Iterable[Run], *, since_us: int) -> set[int]:
    """The ends of windows that have a record whatever they say, after `since_us`, a full hour."""
    found: set[int] = set()
    for run in runs:
        ends_us = run.ends(since_us, run.until_us)
        _, firsts = np.unique((ends_us - 1) // HOUR_US, return_index=True)
        always = ends_us if run.step_us > PART_US else ends_us[firsts]
        found.update(always.tolist())
    return found


class Record(NamedTuple):
    """A window that is kept; `carried` is the record before it if its part begins with that."""

    window: Window
    carried: Window | None


class Kept(NamedTuple):
    """What of new windows is kept: runs in order, the first perhaps a former one, and records."""

    runs: list[Run]
    records: list[Record]


def keep(windows: Iterable[Window], *, run: Run | None, last: Window | None, step_us: int) -> Kept:
    """What is kept of windows in order of time that follow those of the run.

    `run` is the newest one and `last` the newest record; a window alone is taken to be `step_us`
    long until the next one comes.
    """
    runs = [] if run is None else [run]
    records: list[Record] = []
    for window in windows:
        before = runs[-1] if runs else None
        now = _run_on(before, window, step_us)
        if now is before:
            continue
        if before is not None and now.first_us == before.first_us:
            runs[-1] = now
        else:
            runs.append(now)
        begins = before is None or now.first_us != before.first_us
        is_new_hour = before is not None and hour_of(before.until_us) != hour_of(window.at_us)
        is_long = now.step_us > PART_US
        if begins or is_new_hour or is_long or last is None or not window.says_as(last):
            was_in_part = before is not None and before.until_us > part_of(window.at_us)
            records.append(Record(window=window, carried=last if was_in_part else None))
            last = window
    return Kept(runs=runs, records=records)


def _run_on(run: Run | None, window: Window, step_us: int) -> Run:
    """The run with one more window, or the next run."""
    if run is not None:
        step = window.at_us - run.until_us
        follows = step == run.step_us or run.first_us == run.until_us
        if follows and window.saying.state == run.state:
            return run._replace(until_us=window.at_us, step_us=step)
        step_us = step if step == run.step_us else step_us
    return Run(
        state=window.saying.state,
        since_us=window.saying.since_us,
        first_us=window.at_us,
        until_us=window.at_us,
        step_us=step_us,
        reason=window.saying.reason,
    )
