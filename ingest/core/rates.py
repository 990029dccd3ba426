"""Counters as hosts send them become rates.

Every rate is a growth divided by the time between two readings, so it is an exact mean over that
time, however far apart the readings are. Where a growth cannot be known there is no rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

import numpy as np

from ingest.core.catalogue import DISKIO, NET, NSTAT, SCSI_RESERVATION, Measurement
from ingest.core.grid import Flags, Floats, Integers
from ingest.core.growth_columns import GrowthColumns, growth_columns
from ingest.core.microseconds import moment


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskRates:
    """What one device did in the `seconds` before `at`.

    `latency_ms` is the mean time of the I/Os that completed, measured at the device; None means
    that none completed, and so does `mean_io_bytes`. `outstanding_io` is the mean number of
    I/Os in flight; `utilisation_ratio` is the part of the time in which any was.
    """

    at: datetime
    seconds: float
    read_iops: float
    write_iops: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    latency_ms: float | None
    mean_io_bytes: float | None
    outstanding_io: float
    utilisation_ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NetRates:
    """What one interface carried in the `seconds` before `at`.

    `drops_per_s` counts both directions, `sent_drops_per_s` only packets that should have left.
    """

    at: datetime
    seconds: float
    sent_bits_per_s: float
    received_bits_per_s: float
    sent_packets_per_s: float
    received_packets_per_s: float
    drops_per_s: float
    sent_drops_per_s: float
    errors_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupRates:
    """What one cgroup did on one device in the `seconds` before `at`.

    The pressure is that of the whole cgroup: the part of the time in which some task, or all of
    them, waited for I/O. None means that it was not sent.
    """

    at: datetime
    seconds: float
    device: str
    read_iops: float
    write_iops: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    some_pressure_ratio: float | None
    full_pressure_ratio: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictRates:
    """SCSI commands of one host on one device, and how many met another host's reservation."""

    at: datetime
    seconds: float
    commands_per_s: float
    conflicts_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpRates:
    """TCP segments of one host over all its interfaces, and how many were sent again."""

    at: datetime
    seconds: float
    segments_per_s: float
    retransmits_per_s: float


RatesT = TypeVar("RatesT", DiskRates, NetRates, CgroupRates, ConflictRates, TcpRates)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateKind(Generic[RatesT]):
    """What is read of a measurement to make rates of it, and how they are made.

    The first `wide` of the counters are 64-bit, the others 32-bit. Gauges say what was at the
    moment of a reading; they stand after the growth of the counters, each before and after the
    interval.
    """

    measurement: Measurement
    counters: tuple[str, ...]
    rates: Callable[[GrowthColumns], list[RatesT]]
    wide: int | None = None
    gauges: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return self.counters + self.gauges

    @property
    def width(self) -> int:
        """The number of columns of `growth`."""
        return len(self.counters) + 2 * len(self.gauges)

    def growth(self, at_us: Integers, readings: Integers, *, longest_s: float) -> GrowthColumns:
        """The growth of one series, from a row of `columns` per time; times are in order."""
        counters, gauges = np.split(readings, [len(self.counters)], axis=1)
        found = growth_columns(at_us, counters, longest_s=longest_s, wide=self.wide)
        after = np.searchsorted(at_us, found.at_us)
        return found.beside(np.concatenate([gauges[after - 1], gauges[after]], axis=1))


DISK_COUNTERS = (
    "reads",
    "writes",
    "read_bytes",
    "write_bytes",
    "read_time",
    "write_time",
    "io_time",
    "weighted_io_time",
)
IN_FLIGHT = "iops_in_progress"
"""What Telegraf calls the I/Os that a device has not completed; no counter."""


def _disk_rates(growth: GrowthColumns) -> list[DiskRates]:
    """The times are in milliseconds; a gauge that was not sent is negative."""
    reads, writes, read_bytes, write_bytes, *times_ms, before, after = growth.growth.T
    read_ms, write_ms, busy_ms, weighted_ms = times_ms
    seconds = growth.seconds
    completed = reads + writes
    outstanding_io = weighted_ms / 1000 / seconds
    # None ended, so what was in flight at the beginning was so all the time, and what came since
    # still is. Many kernels count neither before an I/O ends.
    hung = (completed == 0) & (before > 0) & (after > 0)
    return _objects(
        DiskRates,
        growth,
        read_iops=reads / seconds,
        write_iops=writes / seconds,
        read_bytes_per_s=read_bytes / seconds,
        write_bytes_per_s=write_bytes / seconds,
        latency_ms=_quotient_or_none(read_ms + write_ms, completed),
        mean_io_bytes=_quotient_or_none(read_bytes + write_bytes, completed),
        outstanding_io=np.where(
            hung, np.maximum(outstanding_io, (before + after) / 2), outstanding_io
        ),
        # The kernel counts whole ticks, so a busy device can seem busy a tick longer than it was.
        utilisation_ratio=np.where(hung, 1.0, np.minimum(1.0, busy_ms / 1000 / seconds)),
    )


DISK = RateKind(
    measurement=DISKIO,
    counters=DISK_COUNTERS,
    rates=_disk_rates,
    # Linux prints the times of /proc/diskstats as 32-bit milliseconds whatever the machine.
    wide=4,
    gauges=(IN_FLIGHT,),
)

NET_COUNTERS = (
    "bytes_sent",
    "bytes_recv",
    "packets_sent",
    "packets_recv",
    "drop_in",
    "drop_out",
    "err_in",
    "err_out",
)


def _net_rates(growth: GrowthColumns) -> list[NetRates]:
    sent, received, sent_packets, received_packets, *lost = growth.growth.T
    drop_in, drop_out, err_in, err_out = lost
    seconds = growth.seconds
    return _objects(
        NetRates,
        growth,
        sent_bits_per_s=sent * 8 / seconds,
        received_bits_per_s=received * 8 / seconds,
        sent_packets_per_s=sent_packets / seconds,
        received_packets_per_s=received_packets / seconds,
        drops_per_s=(drop_in + drop_out) / seconds,
        sent_drops_per_s=drop_out / seconds,
        errors_per_s=(err_in + err_out) / seconds,
    )


INTERFACE = RateKind(measurement=NET, counters=NET_COUNTERS, rates=_net_rates)


def _conflict_rates(growth: GrowthColumns) -> list[ConflictRates]:
    return _objects(
        ConflictRates, growth, commands_per_s=growth.per_s(0), conflicts_per_s=growth.per_s(1)
    )


CONFLICT = RateKind(
    measurement=SCSI_RESERVATION, counters=("commands", "conflicts"), rates=_conflict_rates
)


def _tcp_rates(growth: GrowthColumns) -> list[TcpRates]:
    return _objects(
        TcpRates, growth, segments_per_s=growth.per_s(0), retransmits_per_s=growth.per_s(1)
    )


TCP = RateKind(measurement=NSTAT, counters=("TcpOutSegs", "TcpRetransSegs"), rates=_tcp_rates)

CGROUP_COUNTERS = ("rios", "wios", "rbytes", "wbytes")
PRESSURE_COUNTERS = ("some_total", "full_total")
UNKNOWN = -1
"""Stands for a growth of pressure that is not known; a growth is never negative."""


def cgroup_rates(growth: GrowthColumns, *, device: str) -> list[CgroupRates]:
    """From the growth of `CGROUP_COUNTERS` and after them that of `PRESSURE_COUNTERS` (µs)."""
    reads, writes, read_bytes, write_bytes, some_us, full_us = growth.growth.T
    seconds = growth.seconds
    return _objects(
        CgroupRates,
        growth,
        device=[device] * len(seconds),
        read_iops=reads / seconds,
        write_iops=writes / seconds,
        read_bytes_per_s=read_bytes / seconds,
        write_bytes_per_s=write_bytes / seconds,
        some_pressure_ratio=_known(np.minimum(1.0, some_us / 1e6 / seconds), some_us != UNKNOWN),
        full_pressure_ratio=_known(np.minimum(1.0, full_us / 1e6 / seconds), full_us != UNKNOWN),
    )


def _quotient_or_none(total: Integers, count: Integers) -> list[float | None]:
    return _known(total / np.maximum(count, 1), count > 0)


def _known(values: Floats, is_known: Flags) -> list[float | None]:
    pairs = zip(values.tolist(), is_known.tolist(), strict=True)
    return [value if known else None for value, known in pairs]


def _objects(
    kind: type[RatesT], growth: GrowthColumns, **columns: Floats | list[Any]
) -> list[RatesT]:
    """One object per interval, from a column of values for each of its fields."""
    names = ("at", "seconds", *columns)
    ends = [moment(at_us) for at_us in growth.at_us.tolist()]
    values = [one if isinstance(one, list) else one.tolist() for one in columns.values()]
    rows = zip(ends, growth.seconds.tolist(), *values, strict=True)
    return [kind(**dict(zip(names, row, strict=True))) for row in rows]
