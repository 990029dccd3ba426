"""Windows of a datastore or uplink, from the rates of its devices and the allocations on it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from advisor.core import resource as core
from advisor.core.interval_mean import mean_rate
from advisor.core.observation import (
    AllocationObservation,
    DatastoreObservation,
    HostLatency,
    Observation,
    UplinkObservation,
)
from advisor.core.own_limit import HostShare, latency_is_of_limits
from advisor.history.device_rates import device_rates
from advisor.history.windows import Span
from advisor.models import Allocation, Attachment, Resource, Unit
from ingest import queries
from ingest.core.rates import DiskRates, NetRates, TcpRates


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenAllocation:
    """An allocation in one window, as the core sees it, and its queue on an uplink."""

    allocation: Allocation
    observation: AllocationObservation
    backlog_bytes: float | None
    drops: float | None


AllocationsByWindow = dict[datetime, list[SeenAllocation]]


def uplink_windows(
    resource: Resource, attachment: Attachment, allocations: AllocationsByWindow, span: Span
) -> list[Observation]:
    """The windows in which the uplink's adapter was measured, in order of time."""
    host, since, until = attachment.host, span.read_since, span.read_until
    rates = queries.net_rates(host=host, interface=attachment.device, since=since, until=until)
    tcp = span.group(queries.tcp_rates(host=host, since=since, until=until))
    return [
        _uplink_window(resource, at, found, allocations.get(at, []), tcp.get(at, []))
        for at, found in span.group(rates).items()
    ]


def _uplink_window(
    resource: Resource,
    at: datetime,
    rates: list[NetRates],
    allocations: list[SeenAllocation],
    tcp: list[TcpRates],
) -> UplinkObservation:
    # What waits or is lost at a limit of ours is no sign of the uplink, and which of the
    # retransmits come from there nobody can tell.
    free = [one for one in allocations if not one.observation.throttled]
    waiting = [one.backlog_bytes for one in free if one.backlog_bytes is not None]
    tcp = tcp if len(free) == len(allocations) else []
    return UplinkObservation(
        at=at,
        window_s=resource.window_s,
        tx_bits_per_s=mean_rate(rates, [item.sent_bits_per_s for item in rates]),
        capacity_bits_per_s=resource.capacity,
        packets=sum(item.sent_packets_per_s * item.seconds for item in rates),
        drops=sum(item.sent_drops_per_s * item.seconds for item in rates)
        + sum(one.drops or 0.0 for one in free),
        backlog_bytes=sum(waiting) if waiting else None,
        segments=sum(item.segments_per_s * item.seconds for item in tcp) if tcp else None,
        retransmits=sum(item.retransmits_per_s * item.seconds for item in tcp) if tcp else None,
        allocations=tuple(one.observation for one in allocations),
    )


def datastore_windows(
    resource: Resource, attachments: list[Attachment], allocations: AllocationsByWindow, span: Span
) -> list[Observation]:
    """The windows in which some host measured the datastore's device, in order of time."""
    hosts: dict[datetime, list[HostLatency]] = defaultdict(list)
    for attachment, windows in device_rates(attachments, span):
        for at, found in windows.items():
            own = [
                one
                for one in allocations.get(at, ())
                if one.allocation.host_id == attachment.host_id
            ]
            hosts[at].append(_host_latency(attachment.host.name, found, own))
    return [
        DatastoreObservation(
            at=at,
            window_s=resource.window_s,
            hosts=tuple(hosts[at]),
            allocations=tuple(one.observation for one in allocations.get(at, ())),
            unit=core.Unit(resource.unit),
        )
        for at in sorted(hosts)
    ]


def _host_latency(
    host: str, rates: list[DiskRates], allocations: list[SeenAllocation]
) -> HostLatency:
    counts = [(item.read_iops + item.write_iops) * item.seconds for item in rates]
    total = sum(counts)
    waited = sum(
        item.latency_ms * count
        for item, count in zip(rates, counts, strict=True)
        if item.latency_ms is not None
    )
    moved = sum(
        item.mean_io_bytes * count
        for item, count in zip(rates, counts, strict=True)
        if item.mean_io_bytes is not None
    )
    return HostLatency(
        host=host,
        latency_ms=waited / total if total else None,
        io_count=total,
        mean_io_bytes=moved / total if total else None,
        throttled=latency_is_of_limits(total, [_host_share(one) for one in allocations]),
        outstanding_io=mean_rate(rates, [item.outstanding_io for item in rates]),
        busy_ratio=mean_rate(rates, [item.utilisation_ratio for item in rates]),
    )


def _host_share(seen: SeenAllocation) -> HostShare:
    window = seen.observation
    unit, size = seen.allocation.resource.unit, window.mean_io_bytes
    iops = window.rate if unit == Unit.IOPS else window.rate / size if size else 0.0
    return HostShare(
        io_count=iops * seen.allocation.resource.window_s,
        held_back=window.throttled,
        waits=window.backlogged,
    )
