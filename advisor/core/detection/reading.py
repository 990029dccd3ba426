"""The reading of one window: a value to compare, a load, or the reason why there is none.

A datastore's value is its latency, size-normalised per host and weighted by I/O count; a device
that has I/O in flight and completes none is stalled.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from advisor.core.detection.nic_signals import NicWindow
from advisor.core.enumeration import listed
from advisor.core.iosize import size_cost, size_normalized_ms
from advisor.core.observation import (
    AllocationObservation,
    DatastoreObservation,
    HostLatency,
    Observation,
    UplinkObservation,
)

UNMET_TOLERANCE = 0.05
"""A reservation is unmet if more than this fraction of it is missing."""
BUSY_RATIO = 0.8
"""Below this fraction of capacity, without drops or backlog, no workload is held back."""
SEEN_RATIO = 0.95
"""Queues are known if those of this fraction of the traffic are."""
STALLED_BUSY_RATIO = 0.9
"""Fraction of the window with I/O in flight; the rest allows for late collectors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """`value` is normalised latency in ms, or the used fraction of an uplink's capacity.

    `load` is I/Os or bits per second. None is absence, with `reason`. `own_limit` means that our
    own limits caused all latency of the window; `unmet` names the workloads below their
    reservation. `device_load` is a datastore's load in device time, as I/Os of the reference size
    per second; `nic` has the signals of an uplink. `stalled` has the hosts whose device had I/O
    in flight all the time and completed none.
    """

    at: datetime
    window_s: float
    value: float | None
    load: float | None
    reason: str = ""
    own_limit: bool = False
    unmet: tuple[str, ...] = ()
    device_load: float | None = None
    nic: NicWindow | None = None
    stalled: tuple[HostLatency, ...] = ()

    @property
    def began_at(self) -> datetime:
        """The beginning of the window."""
        return self.at - timedelta(seconds=self.window_s)


def read(observation: Observation) -> Reading:
    """The reading of one window of a datastore or uplink."""
    match observation:
        case DatastoreObservation():
            return _read_datastore(observation)
        case UplinkObservation():
            return _read_uplink(observation)
        case _:
            assert_never(observation)


def _read_datastore(observation: DatastoreObservation) -> Reading:
    latency = normalized_latency(observation.hosts)
    return Reading(
        at=observation.at,
        window_s=observation.window_s,
        value=latency.latency_ms,
        load=latency.io_count / observation.window_s if observation.hosts else None,
        reason=latency.reason,
        own_limit=latency.throttled,
        device_load=_device_load(observation) if observation.hosts else None,
        stalled=tuple(host for host in observation.hosts if is_stalled(host)),
    )


def _device_load(observation: DatastoreObservation) -> float:
    costs = [host.io_count * size_cost(host.mean_io_bytes) for host in observation.hosts]
    return sum(costs) / observation.window_s


def _read_uplink(observation: UplinkObservation) -> Reading:
    rate, used_ratio = observation.tx_bits_per_s, _used_ratio(observation)
    if rate is None:
        reason = "nothing was measured"
    else:
        reason = "the capacity is not known; set it" if used_ratio is None else ""
    nic = nic_window(observation)
    return Reading(
        at=observation.at,
        window_s=observation.window_s,
        value=used_ratio,
        load=rate,
        reason=reason,
        unmet=nic.unmet,
        nic=nic,
    )


def nic_window(observation: UplinkObservation) -> NicWindow:
    """The signals of an uplink in this window."""
    return NicWindow(
        at=observation.at,
        window_s=observation.window_s,
        tx_bits_per_s=observation.tx_bits_per_s,
        capacity_bits_per_s=observation.capacity_bits_per_s,
        packets=observation.packets,
        drops=observation.drops,
        backlog_bytes=observation.backlog_bytes,
        segments=observation.segments,
        retransmits=observation.retransmits,
        unmet=_unmet(observation, _used_ratio(observation)),
        nobody_waits=_nobody_waits(observation),
    )


def _used_ratio(observation: UplinkObservation) -> float | None:
    rate, capacity = observation.tx_bits_per_s, observation.capacity_bits_per_s
    return None if rate is None or capacity is None else rate / capacity


def _nobody_waits(observation: UplinkObservation) -> bool:
    """Whether all traffic belongs to workloads that wait for nothing but their own limit."""
    seen = sum(one.rate for one in observation.allocations if one.backlogged is not None)
    if observation.tx_bits_per_s is None or seen < SEEN_RATIO * observation.tx_bits_per_s:
        return False
    return not any(one.backlogged and not one.throttled for one in observation.allocations)


def _unmet(observation: UplinkObservation, used_ratio: float | None) -> tuple[str, ...]:
    busy = (
        (used_ratio is not None and used_ratio >= BUSY_RATIO)
        or bool(observation.drops)
        or bool(observation.backlog_bytes)
    )
    if not busy:
        return ()
    return tuple(
        sorted(
            allocation.workload for allocation in observation.allocations if is_unmet(allocation)
        )
    )


def is_unmet(allocation: AllocationObservation) -> bool:
    """Whether it wants more and is below its reservation, for another reason than its limit."""
    missing = allocation.rate < allocation.reservation * (1 - UNMET_TOLERANCE)
    return missing and allocation.backlogged is True and not allocation.throttled


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizedLatency:
    """The latency of a datastore; `latency_ms` None has its reason in `reason`.

    `io_count` counts all I/Os of the window, also those without latency. `throttled` is true if
    the only known latency was caused by our own limits.
    """

    latency_ms: float | None
    io_count: float
    reason: str = ""
    throttled: bool = False


def normalized_latency(hosts: Sequence[HostLatency]) -> NormalizedLatency:
    """Mean latency over all I/Os of the hosts, converted to the reference I/O size.

    Hosts that our own limit held back are left out: the limit caused that wait, not the device.
    """
    io_count = sum(host.io_count for host in hosts)
    if not hosts:
        return NormalizedLatency(latency_ms=None, io_count=0.0, reason="no host reported")
    if io_count == 0:
        return NormalizedLatency(latency_ms=None, io_count=0.0, reason="no I/O in the window")
    timed = [
        (size_normalized_ms(host.latency_ms, host.mean_io_bytes), host.io_count)
        for host in hosts
        if host.latency_ms is not None and host.io_count > 0 and not host.throttled
    ]
    timed_count = sum(count for _, count in timed)
    if timed_count == 0:
        throttled = any(host.throttled and host.io_count > 0 for host in hosts)
        reason = "latency was caused by our own limit" if throttled else "no latency was measured"
        return NormalizedLatency(
            latency_ms=None, io_count=io_count, reason=reason, throttled=throttled
        )
    latency_ms = sum(latency * count for latency, count in timed) / timed_count
    return NormalizedLatency(latency_ms=latency_ms, io_count=io_count)


def is_stalled(host: HostLatency) -> bool:
    """Whether the host's device has I/O in flight and completes none."""
    return host.io_count == 0 and (host.busy_ratio or 0.0) >= STALLED_BUSY_RATIO


def stall_text(hosts: Sequence[HostLatency]) -> str:
    """The hosts that wait for I/O, and how many I/Os each waits for."""
    return f"I/O is in flight and none completes: {listed(map(_waiting_text, hosts))}"


def _waiting_text(host: HostLatency) -> str:
    # Kernels that count an I/O only on completion do not say how many are in flight.
    count = round(host.outstanding_io or 0.0)
    return f"{count} on {host.host}" if count else f"on {host.host}"
