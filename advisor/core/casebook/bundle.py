"""A bundle: what the analysis of one incident read, as a file that says nothing of its owner.

A file is one line that names the format, its version and the SHA-256 of the rest, and then one
zstd frame: the canonical JSON of `Bundle`. Counters are stored as in the history (`core.chunk`),
by hour of the grid. Only what is a field here can be in a file.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import zstandard

from advisor.core.allocation import ReservationMode
from advisor.core.canonical import ADDED, CanonicalError, dumps, loads
from advisor.core.chunk import (
    MOST_COLUMNS,
    MOST_WINDOWS,
    UNKNOWN,
    DamagedChunkError,
    Integers,
    pack,
    unpack,
)
from advisor.core.resource import ResourceKind, Tier, Unit
from advisor.core.stored_hour import WINDOW_S

NAME, VERSION = "sluice-bundle", 1
_LEVEL = 19
_MOST_BYTES = 1 << 28
"""A larger text is none of ours; whoever sends a small file that grows beyond it means harm."""
_MOST_SPAN = timedelta(days=31)
_MOST_CELLS = 50_000_000
"""Windows of the grid times subjects of a kind, which are held at once for each counter."""


class BundleError(ValueError):
    """The file is no bundle that this version can read; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Device:
    """A device of a host by which it reaches the resource.

    `number` is `major:minor`, by which cgroups count; empty where no cgroup does.
    """

    host: str
    name: str
    number: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedAllocation:
    """What a workload was promised, and which counters are its own."""

    workload: str
    kind: str
    tier: Tier
    host: str
    adapter_kind: str
    adapter: str
    vdisk: str = ""
    reservation: float = 0.0
    limit: float | None = None
    shares: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedResource:
    """The resource as it was stated; `threshold` is the one in force in the incident."""

    name: str
    kind: ResourceKind
    unit: Unit
    mode: ReservationMode
    window_s: float
    threshold: float
    activity_floor: float
    reservable_ratio: float
    capacity: float | None = None
    line_rate: float | None = None
    devices: tuple[Device, ...] = ()
    allocations: tuple[CapturedAllocation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedSubject:
    """What a counter is of: a device, or a cgroup, and on which device of that host."""

    host: str
    name: str
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """A figure kind of several subjects; `parts` are chunks in base64, by `Part` of the grid."""

    kind: str
    subjects: tuple[CapturedSubject, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Windows from place `begin` on of the subjects from `first` on.

    `counter` is the place of the counter in its kind, or `KNOWN_MS`: how many milliseconds of each
    window readings cover. `LAST_GAUGE - n` is gauge n at the end of each window.
    """

    counter: int
    begin: int
    first: int
    chunk: str


KNOWN_MS, LAST_GAUGE = -1, -2


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRate:
    """What a workload got, and what a policy granted it then; in the resource's unit.

    `latency_ms` is what its I/Os took on the mean; None where nobody measured it.
    """

    workload: str
    rate: float
    reservation: float
    limit: float | None
    shares: int
    latency_ms: float | None = field(default=None, metadata=ADDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is known of an incident by whoever caused it, or what a person found.

    `culprit` None says that nobody did. `measured` has each workload under one policy.
    Congestion began at `began_at` and ended with the bundle; None means at its beginning.
    `is_stalled`: the device took I/Os and completed none.
    """

    is_congested: bool
    culprit: str | None
    victims: tuple[str, ...]
    measured: tuple[MeasuredRate, ...] = ()
    began_at: datetime | None = None
    is_stalled: bool = field(default=False, metadata=ADDED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A resource, its windows from `since` to `until` and what is known of them.

    Times were moved by whole weeks, so the hour of the week is the real one. `note` says who made
    it and how; `truth` None means that nobody knows.
    """

    resource: CapturedResource
    since: datetime
    until: datetime
    tracks: tuple[Track, ...]
    truth: Truth | None = None
    note: str = ""


def parts_of(values: Integers, counter: int) -> list[Part]:
    """The parts of a matrix (windows, subjects) in which `UNKNOWN` is not known."""
    windows, subjects = values.shape
    return [
        Part(
            counter=counter,
            begin=begin,
            first=first,
            chunk=base64.b64encode(
                pack(values[begin : begin + MOST_WINDOWS, first : first + MOST_COLUMNS])
            ).decode(),
        )
        for begin in range(0, windows, MOST_WINDOWS)
        for first in range(0, subjects, MOST_COLUMNS)
    ]


def matrix_of(track: Track, counter: int, windows: int) -> Integers:
    """The matrix of which the parts of this counter are; raises `BundleError`."""
    found = np.full((windows, len(track.subjects)), UNKNOWN, dtype=np.int64)
    for part in track.parts:
        if part.counter != counter:
            continue
        try:
            values = unpack(base64.b64decode(part.chunk, validate=True))
        except (DamagedChunkError, binascii.Error) as error:
            raise BundleError(f"a part of {track.kind} is damaged: {error}") from error
        rows, columns = values.shape
        place = found[part.begin : part.begin + rows, part.first : part.first + columns]
        if min(part.begin, part.first) < 0 or place.shape != values.shape:
            raise BundleError(f"a part of {track.kind} lies beyond its windows or subjects")
        place[:] = values
    return found


def write_bundle(bundle: Bundle) -> bytes:
    """The file; the same bundle gives the same bytes."""
    body = zstandard.ZstdCompressor(level=_LEVEL).compress(dumps(bundle).encode())
    return f"{NAME} {VERSION} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def read_bundle(data: bytes) -> Bundle:
    """The bundle of a file; raises `BundleError`."""
    head, found, body = data.partition(b"\n")
    words = head.decode("ascii", errors="replace").split(" ")
    if not found or len(words) != 3 or words[0] != NAME:
        raise BundleError("this is no bundle: its first line does not say so")
    if words[1] != str(VERSION):
        raise BundleError(
            f"it is of version {words[1]}, and this program knows version {VERSION}: update it"
        )
    if hashlib.sha256(body).hexdigest() != words[2]:
        raise BundleError("it was cut or changed: its checksum is not that of its first line")
    try:
        bundle = loads(Bundle, _text(body))
    except (zstandard.ZstdError, UnicodeDecodeError, CanonicalError) as error:
        raise BundleError(f"it cannot be read: {error}") from error
    _check(bundle)
    return bundle


def _text(body: bytes) -> str:
    # A bound given to `decompress` would be ignored where the frame states a size of its own.
    text = zstandard.ZstdDecompressor().stream_reader(body).read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise BundleError(f"it is larger than {_MOST_BYTES >> 20} MiB when it is unpacked")
    return text.decode()


def _check(bundle: Bundle) -> None:
    span = bundle.until - bundle.since
    if not timedelta(0) < span <= _MOST_SPAN:
        raise BundleError(
            f"its time is from {bundle.since} to {bundle.until}: "
            f"the end must be later, by at most {_MOST_SPAN.days} days"
        )
    resource = bundle.resource
    for name in ("window_s", "threshold", "capacity", "line_rate"):
        value = getattr(resource, name)
        if value is not None and value <= 0:
            raise BundleError(f"resource.{name} is {value:g}, and must be above 0")
    windows = span / timedelta(seconds=WINDOW_S)
    for track in bundle.tracks:
        if windows * len(track.subjects) > _MOST_CELLS:
            raise BundleError(
                f"it has {len(track.subjects)} subjects of {track.kind} over {span}: "
                f"more than {_MOST_CELLS:,} figures of each counter"
            )
