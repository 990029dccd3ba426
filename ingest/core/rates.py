"""Counters as hosts send them become rates.

Every rate is a growth divided by the time between two readings, so it is an exact mean over that
time, however far apart the readings are. Where a growth cannot be known there is no rate but a
reason.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from ingest.core.counters import NoRate, Reading, Step, steps


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived(Generic[RatesT]):
    """The rates of one series in order of time, and the times that have none."""

    rates: list[RatesT]
    missing: list[NoRate]


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
# Linux prints the times of /proc/diskstats as 32-bit milliseconds whatever the machine's width.
_DISK_WIDE = 4


def derive_disk_rates(
    readings: Sequence[Reading],
    *,
    longest_interval_s: float,
    in_flight: Mapping[datetime, int | None] | None = None,
) -> Derived[DiskRates]:
    """Rates from readings of `DISK_COUNTERS`; the times are in milliseconds.

    `in_flight` says how many I/Os the device had at the times of the readings.
    """
    seen = in_flight or {}

    def rates_of(step: Step) -> DiskRates:
        began_at = step.at - timedelta(seconds=step.seconds)
        return _disk_rates(step, before=seen.get(began_at) or 0, after=seen.get(step.at) or 0)

    return _derived(
        steps(readings, wide=_DISK_WIDE, longest_interval_s=longest_interval_s), rates_of
    )


def _disk_rates(step: Step, *, before: int, after: int) -> DiskRates:
    reads, writes, read_bytes, write_bytes, read_ms, write_ms, busy_ms, weighted_ms = step.growth
    completed = reads + writes
    outstanding_io = weighted_ms / 1000 / step.seconds
    # The kernel counts whole ticks, so a busy device can seem busy a tick longer than it was.
    utilisation_ratio = min(1.0, busy_ms / 1000 / step.seconds)
    if not completed and before and after:
        # None ended, so what was in flight at the beginning was so all the time, and what came
        # since still is. Many kernels count neither before an I/O ends.
        outstanding_io = max(outstanding_io, (before + after) / 2)
        utilisation_ratio = 1.0
    return DiskRates(
        at=step.at,
        seconds=step.seconds,
        read_iops=reads / step.seconds,
        write_iops=writes / step.seconds,
        read_bytes_per_s=read_bytes / step.seconds,
        write_bytes_per_s=write_bytes / step.seconds,
        latency_ms=(read_ms + write_ms) / completed if completed else None,
        mean_io_bytes=(read_bytes + write_bytes) / completed if completed else None,
        outstanding_io=outstanding_io,
        utilisation_ratio=utilisation_ratio,
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


def derive_net_rates(
    readings: Sequence[Reading], *, longest_interval_s: float
) -> Derived[NetRates]:
    """Rates from readings of `NET_COUNTERS`."""
    wide = len(NET_COUNTERS)
    return _derived(steps(readings, wide=wide, longest_interval_s=longest_interval_s), _net_rates)


def _net_rates(step: Step) -> NetRates:
    sent, received, sent_packets, received_packets, *lost = step.growth
    drop_in, drop_out, err_in, err_out = lost
    return NetRates(
        at=step.at,
        seconds=step.seconds,
        sent_bits_per_s=sent * 8 / step.seconds,
        received_bits_per_s=received * 8 / step.seconds,
        sent_packets_per_s=sent_packets / step.seconds,
        received_packets_per_s=received_packets / step.seconds,
        drops_per_s=(drop_in + drop_out) / step.seconds,
        sent_drops_per_s=drop_out / step.seconds,
        errors_per_s=(err_in + err_out) / step.seconds,
    )


CONFLICT_COUNTERS = ("commands", "conflicts")


def derive_conflict_rates(
    readings: Sequence[Reading], *, longest_interval_s: float
) -> Derived[ConflictRates]:
    """Rates from readings of `CONFLICT_COUNTERS`."""
    wide = len(CONFLICT_COUNTERS)
    return _derived(
        steps(readings, wide=wide, longest_interval_s=longest_interval_s), _conflict_rates
    )


def _conflict_rates(step: Step) -> ConflictRates:
    commands, conflicts = step.growth
    return ConflictRates(
        at=step.at,
        seconds=step.seconds,
        commands_per_s=commands / step.seconds,
        conflicts_per_s=conflicts / step.seconds,
    )


TCP_COUNTERS = ("TcpOutSegs", "TcpRetransSegs")


def derive_tcp_rates(
    readings: Sequence[Reading], *, longest_interval_s: float
) -> Derived[TcpRates]:
    """Rates from readings of `TCP_COUNTERS`."""
    wide = len(TCP_COUNTERS)
    return _derived(steps(readings, wide=wide, longest_interval_s=longest_interval_s), _tcp_rates)


def _tcp_rates(step: Step) -> TcpRates:
    segments, retransmits = step.growth
    return TcpRates(
        at=step.at,
        seconds=step.seconds,
        segments_per_s=segments / step.seconds,
        retransmits_per_s=retransmits / step.seconds,
    )


CGROUP_COUNTERS = ("rios", "wios", "rbytes", "wbytes")
PRESSURE_COUNTERS = ("some_total", "full_total")


def derive_cgroup_rates(
    readings: Sequence[Reading],
    pressure: Sequence[Reading],
    *,
    device: str,
    longest_interval_s: float,
) -> Derived[CgroupRates]:
    """Rates from readings of `CGROUP_COUNTERS` and of `PRESSURE_COUNTERS` (microseconds).

    Both come from the same gather, so they belong together when their times are equal.
    """
    waits = {
        (step.at, step.seconds): step.growth
        for step in steps(
            pressure, wide=len(PRESSURE_COUNTERS), longest_interval_s=longest_interval_s
        )
        if isinstance(step, Step)
    }
    wide = len(CGROUP_COUNTERS)
    return _derived(
        steps(readings, wide=wide, longest_interval_s=longest_interval_s),
        lambda step: _cgroup_rates(step, waits.get((step.at, step.seconds)), device=device),
    )


def _cgroup_rates(step: Step, wait: tuple[int, ...] | None, *, device: str) -> CgroupRates:
    reads, writes, read_bytes, write_bytes = step.growth
    some, full = (
        (None, None) if wait is None else (min(1.0, us / 1e6 / step.seconds) for us in wait)
    )
    return CgroupRates(
        at=step.at,
        seconds=step.seconds,
        device=device,
        read_iops=reads / step.seconds,
        write_iops=writes / step.seconds,
        read_bytes_per_s=read_bytes / step.seconds,
        write_bytes_per_s=write_bytes / step.seconds,
        some_pressure_ratio=some,
        full_pressure_ratio=full,
    )


def _derived(
    found: Iterable[Step | NoRate], rates_of: Callable[[Step], RatesT]
) -> Derived[RatesT]:
    """The rates of each step, beside those that are none."""
    result: Derived[RatesT] = Derived(rates=[], missing=[])
    for step in found:
        if isinstance(step, NoRate):
            result.missing.append(step)
        else:
            result.rates.append(rates_of(step))
    return result
