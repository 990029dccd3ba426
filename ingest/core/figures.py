"""What counters on a grid say: rates, latencies and waits, as columns.

Every rate is a growth divided by the time that readings cover, so it is an exact mean. Columns are
(windows, subjects); NaN is what is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from ingest.core.catalogue import (
    CGROUP,
    CGROUP_COST,
    CGROUP_PRESSURE,
    DISKIO,
    MOUNT,
    NET,
    NSTAT,
    SCSI_RESERVATION,
    VDISK,
    Measurement,
)
from ingest.core.grid import Flags, Floats, GridGrowth, Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Transfers:
    """Reads and writes; `mean_io_bytes` is NaN where none completed."""

    seconds: Floats
    read_iops: Floats
    write_iops: Floats
    read_bytes_per_s: Floats
    write_bytes_per_s: Floats
    mean_io_bytes: Floats

    @property
    def iops(self) -> Floats:
        return self.read_iops + self.write_iops

    @property
    def bytes_per_s(self) -> Floats:
        return self.read_bytes_per_s + self.write_bytes_per_s


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DiskFigures(_Transfers):
    """Block devices.

    `latency_ms` is the mean time of the I/Os that completed, measured at the device; it and
    `mean_io_bytes` are NaN where none completed. `outstanding_io` is the mean number of I/Os in
    flight; `utilisation_ratio` is the part of the time in which any was, at most, where no
    collector counts it.
    """

    latency_ms: Floats
    outstanding_io: Floats
    utilisation_ratio: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InterfaceFigures:
    """Network interfaces.

    `drops_per_s` counts both directions, `sent_drops_per_s` only packets that should have left.
    """

    seconds: Floats
    sent_bits_per_s: Floats
    received_bits_per_s: Floats
    sent_packets_per_s: Floats
    received_packets_per_s: Floats
    drops_per_s: Floats
    sent_drops_per_s: Floats
    errors_per_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CgroupFigures(_Transfers):
    """Cgroups, each on one device."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PressureFigures:
    """The part of the time in which some task of a cgroup waited for I/O."""

    seconds: Floats
    some_ratio: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldFigures:
    """The part of the time in which iocost kept I/O of a cgroup back from a device."""

    seconds: Floats
    held_ratio: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OwnTimeFigures:
    """Virtual disks: how many I/Os were in flight, and what those that completed took."""

    seconds: Floats
    in_flight: Floats
    latency_ms: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimedFigures:
    """I/Os of both kinds a second, and how long one of each takes, NaN where none completed."""

    seconds: Floats
    read_iops: Floats
    write_iops: Floats
    read_ms: Floats
    write_ms: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClientFigures:
    """Mounts: how many requests the client had not sent yet, and how many had no answer yet."""

    seconds: Floats
    unsent: Floats
    unanswered: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConflictFigures:
    """SCSI commands of a host on a device, and how many met another host's reservation."""

    seconds: Floats
    commands_per_s: Floats
    conflicts_per_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TcpFigures:
    """TCP segments of a host over all its interfaces, and how many were sent again."""

    seconds: Floats
    segments_per_s: Floats
    retransmits_per_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateFigures:
    """What subjects got a second, and nothing else of them."""

    seconds: Floats
    rate: Floats


FiguresT = TypeVar(
    "FiguresT",
    DiskFigures,
    InterfaceFigures,
    CgroupFigures,
    PressureFigures,
    HeldFigures,
    OwnTimeFigures,
    TimedFigures,
    ClientFigures,
    ConflictFigures,
    TcpFigures,
    RateFigures,
)


def part_of(figures: FiguresT, columns: slice) -> FiguresT:
    """These columns of the figures."""
    return replace(
        figures, **{one.name: getattr(figures, one.name)[:, columns] for one in fields(figures)}
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FigureKind(Generic[FiguresT]):
    """What is read of a measurement, and what is made of it.

    The first `wide` of the counters are 64-bit, the others 32-bit; None means all. Gauges say
    what was at the moment of a reading. `by_device`: whether a subject has a series per device.
    Collectors may leave out the `optional` counters, which are the last ones.
    `part_of` is the kind of which this has some counters only, for long times; None means all.
    """

    name: str
    measurement: Measurement
    counters: tuple[str, ...]
    figures: Callable[[GridGrowth], FiguresT]
    wide: int | None = None
    optional: int = 0
    gauges: tuple[str, ...] = ()
    by_device: bool = False
    part_of: FigureKind[Any] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return self.counters + self.gauges

    @property
    def needed(self) -> int | None:
        """So many of the first counters must be sent; None means all."""
        return len(self.counters) - self.optional if self.optional else None

    @property
    def whole(self) -> FigureKind[Any]:
        """With all counters: whether a counter was reset is seen by all of them together."""
        return self if self.part_of is None else self.part_of

    def grown(self, whole: GridGrowth) -> GridGrowth:
        """Its part of what was read of the whole kind."""
        if self.part_of is None:
            return whole
        own = [self.part_of.counters.index(name) for name in self.counters]
        return replace(whole, growth=whole.growth[own], gauges=whole.gauges[:0])


def _disk(found: GridGrowth) -> DiskFigures:
    """The times are in milliseconds; a gauge that was not sent is negative."""
    reads, writes, read_bytes, write_bytes, read_ms, write_ms, busy_ms, weighted_ms = found.growth
    before, after = found.gauges[0][:-1], found.gauges[0][1:]
    seconds, completed = _known(found.seconds), reads + writes
    # What is counted once it ends is in flight for the time that it took.
    weighted_ms = np.where(weighted_ms > 0, weighted_ms, read_ms + write_ms)
    outstanding_io = weighted_ms / 1000 / seconds
    # None ended, so what was in flight at the beginning was so all the time, and what came since
    # still is. Many kernels count neither before an I/O ends.
    hung = (completed == 0) & (before > 0) & (after > 0)
    busy_ratio = np.minimum(1.0, np.where(busy_ms > 0, busy_ms / 1000 / seconds, outstanding_io))
    return DiskFigures(
        seconds=found.seconds,
        read_iops=reads / seconds,
        write_iops=writes / seconds,
        read_bytes_per_s=read_bytes / seconds,
        write_bytes_per_s=write_bytes / seconds,
        latency_ms=_each(read_ms + write_ms, completed),
        mean_io_bytes=_each(read_bytes + write_bytes, completed),
        outstanding_io=np.where(
            hung, np.maximum(outstanding_io, (before + after) / 2), outstanding_io
        ),
        # The kernel counts whole ticks, so a busy device can seem busy a tick longer than it was.
        utilisation_ratio=np.where(hung & (found.seconds > 0), 1.0, busy_ratio),
    )


def _interface(found: GridGrowth) -> InterfaceFigures:
    sent, received, sent_packets, received_packets, *lost = found.growth
    drop_in, drop_out, err_in, err_out = lost
    seconds = _known(found.seconds)
    return InterfaceFigures(
        seconds=found.seconds,
        sent_bits_per_s=sent * 8 / seconds,
        received_bits_per_s=received * 8 / seconds,
        sent_packets_per_s=sent_packets / seconds,
        received_packets_per_s=received_packets / seconds,
        drops_per_s=(drop_in + drop_out) / seconds,
        sent_drops_per_s=drop_out / seconds,
        errors_per_s=(err_in + err_out) / seconds,
    )


def _cgroup(found: GridGrowth) -> CgroupFigures:
    reads, writes, read_bytes, write_bytes = found.growth
    seconds = _known(found.seconds)
    return CgroupFigures(
        seconds=found.seconds,
        read_iops=reads / seconds,
        write_iops=writes / seconds,
        read_bytes_per_s=read_bytes / seconds,
        write_bytes_per_s=write_bytes / seconds,
        mean_io_bytes=_each(read_bytes + write_bytes, reads + writes),
    )


def _rate(found: GridGrowth) -> RateFigures:
    """The sum over the counters, which are in one unit."""
    seconds = _known(found.seconds)
    rate: Floats = found.growth[0] / seconds
    # Of a day of many subjects, memory that is new for each sum costs as much as the sums.
    part = np.empty_like(rate)
    for grown in found.growth[1:]:
        rate += np.divide(grown, seconds, out=part)
    return RateFigures(seconds=found.seconds, rate=rate)


def _bit_rate(found: GridGrowth) -> RateFigures:
    (grown,) = found.growth
    return RateFigures(seconds=found.seconds, rate=grown * 8 / _known(found.seconds))


def _pressure(found: GridGrowth) -> PressureFigures:
    some_us = found.growth[0]
    ratio = np.minimum(1.0, some_us / 1e6 / _known(found.seconds))
    return PressureFigures(seconds=found.seconds, some_ratio=ratio)


def _held(found: GridGrowth) -> HeldFigures:
    (held_us,) = found.growth
    ratio = np.minimum(1.0, held_us / 1e6 / _known(found.seconds))
    return HeldFigures(seconds=found.seconds, held_ratio=ratio)


def _own_time(found: GridGrowth) -> OwnTimeFigures:
    """By Little's law the I/Os in flight are the time that all take over the time that passes."""
    reads, writes, read_ns, write_ns = found.growth
    taken_ns = read_ns + write_ns
    return OwnTimeFigures(
        seconds=found.seconds,
        in_flight=taken_ns / 1e9 / _known(found.seconds),
        latency_ms=_each(taken_ns, reads + writes) / 1e6,
    )


def _timed(found: GridGrowth, *, per_ms: float) -> TimedFigures:
    reads, writes, read_time, write_time = found.growth
    seconds = _known(found.seconds)
    return TimedFigures(
        seconds=found.seconds,
        read_iops=reads / seconds,
        write_iops=writes / seconds,
        read_ms=_each(read_time, reads) / per_ms,
        write_ms=_each(write_time, writes) / per_ms,
    )


def _client(found: GridGrowth) -> ClientFigures:
    """By the same law."""
    read_queue_ms, write_queue_ms, read_trip_ms, write_trip_ms = found.growth
    seconds = _known(found.seconds)
    return ClientFigures(
        seconds=found.seconds,
        unsent=(read_queue_ms + write_queue_ms) / 1000 / seconds,
        unanswered=(read_trip_ms + write_trip_ms) / 1000 / seconds,
    )


def _conflicts(found: GridGrowth) -> ConflictFigures:
    commands, conflicts = found.growth
    seconds = _known(found.seconds)
    return ConflictFigures(
        seconds=found.seconds,
        commands_per_s=commands / seconds,
        conflicts_per_s=conflicts / seconds,
    )


def _tcp(found: GridGrowth) -> TcpFigures:
    segments, retransmits = found.growth
    seconds = _known(found.seconds)
    return TcpFigures(
        seconds=found.seconds,
        segments_per_s=segments / seconds,
        retransmits_per_s=retransmits / seconds,
    )


def _known(seconds: Floats) -> Floats:
    some: Flags = seconds > 0
    return seconds if some.all() else np.where(some, seconds, np.nan)


def _each(total: Integers, count: Integers) -> Floats:
    some: Flags = count > 0
    return np.where(some, total / np.maximum(count, 1), np.nan)


DISK = FigureKind(
    name="disk",
    measurement=DISKIO,
    counters=(
        "reads",
        "writes",
        "read_bytes",
        "write_bytes",
        "read_time",
        "write_time",
        "io_time",
        "weighted_io_time",
    ),
    figures=_disk,
    # Linux prints the times of /proc/diskstats as 32-bit milliseconds whatever the machine.
    wide=4,
    # Only block devices of Linux count these.
    optional=2,
    gauges=("iops_in_progress",),
)
INTERFACE = FigureKind(
    name="interface",
    measurement=NET,
    counters=(
        "bytes_sent",
        "bytes_recv",
        "packets_sent",
        "packets_recv",
        "drop_in",
        "drop_out",
        "err_in",
        "err_out",
    ),
    figures=_interface,
    # Hypervisors count bytes of a workload, some of them nothing else.
    optional=6,
)
CGROUP_IO = FigureKind(
    name="cgroup",
    measurement=CGROUP,
    counters=("rios", "wios", "rbytes", "wbytes"),
    figures=_cgroup,
    by_device=True,
)
PRESSURE = FigureKind(
    name="pressure",
    measurement=CGROUP_PRESSURE,
    counters=("some_total", "full_total"),
    figures=_pressure,
)
HELD = FigureKind(
    name="held",
    measurement=CGROUP_COST,
    counters=("cost_wait",),
    figures=_held,
    by_device=True,
)
OWN_TIME = FigureKind(
    name="vdisk",
    measurement=VDISK,
    counters=("reads", "writes", "read_time", "write_time"),
    figures=_own_time,
    by_device=True,
)
DISK_TIMES = FigureKind(
    name=DISK.name,
    measurement=DISKIO,
    counters=("reads", "writes", "read_time", "write_time"),
    figures=partial(_timed, per_ms=1.0),
    part_of=DISK,
)
VDISK_TIMES = FigureKind(
    name=OWN_TIME.name,
    measurement=VDISK,
    counters=("reads", "writes", "read_time", "write_time"),
    figures=partial(_timed, per_ms=1e6),
    by_device=True,
    part_of=OWN_TIME,
)
CLIENT = FigureKind(
    name="client",
    measurement=MOUNT,
    counters=("read_queue", "write_queue", "read_rtt", "write_rtt"),
    figures=_client,
)
CONFLICT = FigureKind(
    name="reservation",
    measurement=SCSI_RESERVATION,
    counters=("commands", "conflicts"),
    figures=_conflicts,
)
TCP = FigureKind(
    name="tcp",
    measurement=NSTAT,
    counters=("TcpOutSegs", "TcpRetransSegs"),
    figures=_tcp,
)
CGROUP_IOPS = FigureKind(
    name=CGROUP_IO.name,
    measurement=CGROUP,
    counters=("rios", "wios"),
    figures=_rate,
    by_device=True,
    part_of=CGROUP_IO,
)
CGROUP_BYTES = FigureKind(
    name=CGROUP_IO.name,
    measurement=CGROUP,
    counters=("rbytes", "wbytes"),
    figures=_rate,
    by_device=True,
    part_of=CGROUP_IO,
)
RECEIVED_BITS = FigureKind(
    name=INTERFACE.name,
    measurement=NET,
    counters=("bytes_recv",),
    figures=_bit_rate,
    part_of=INTERFACE,
)
WAITING = FigureKind(
    name=PRESSURE.name,
    measurement=CGROUP_PRESSURE,
    counters=("some_total",),
    figures=_pressure,
    part_of=PRESSURE,
)
FIGURE_KINDS = (DISK, INTERFACE, CGROUP_IO, PRESSURE, HELD, OWN_TIME, CLIENT, CONFLICT, TCP)
