"""The reading of one window: a value to compare, a load, or the reason why there is none."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from advisor.core.detection.latency import normalized_latency
from advisor.core.detection.nic_signals import NicWindow
from advisor.core.detection.stall import is_stalled
from advisor.core.iosize import size_cost
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
