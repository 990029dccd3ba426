"""Samples of a resource's devices and adapters, cut into the windows the detector works on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor.core.interval_mean import mean_rate
from advisor.core.observation import AllocationObservation, Observation
from advisor.history.allocation_adapters import allocation_adapters
from advisor.history.cgroup_rate import rate_in_unit
from advisor.history.own_limits import enforced_limits
from advisor.history.queues import QueueReport, queue_reports, report_at
from advisor.history.resource_windows import AllocationsByWindow, resource_windows
from advisor.history.tiers import shares_of
from advisor.history.windows import Span, last_window_end
from advisor.models import Allocation, Resource
from advisor.resource_kinds.reader import SeenAllocation
from ingest import queries
from ingest.core.rates import INTERFACE, CgroupRates, NetRates
from ingest.many_rates import cgroup_rates_of, rates_of

PRESSURE_OF_BACKLOG = 0.05
"""A workload that waits for I/O for this fraction of the time wants more."""


def observations(*, resource: Resource, since: datetime, until: datetime) -> list[Observation]:
    """One observation for each window of the resource that ends in (since, until].

    A window without samples of any host is left out; the detector handles its absence.
    """
    span = Span(since=since, until=until, window_s=resource.window_s)
    allocations = _allocations_by_window(resource, span)
    attachments = list(resource.attachments.select_related("host"))
    return resource_windows(resource, attachments, allocations, span)


def _allocations_by_window(resource: Resource, span: Span) -> AllocationsByWindow:
    result: AllocationsByWindow = defaultdict(list)
    rows = resource.allocations.select_related("workload", "host", "resource")
    allocations = list(rows.order_by("workload__name", "pk"))
    windows = windows_of(allocations, span=span)
    enforced = enforced_limits(resource)
    for allocation in allocations:
        shares = shares_of(allocation)
        for found in windows[allocation.pk]:
            observation = AllocationObservation(
                workload=allocation.workload.name,
                rate=found.rate,
                reservation=allocation.reservation,
                limit=allocation.limit,
                shares=shares,
                backlogged=found.backlogged,
                throttled=enforced.hold_back(allocation, at=found.at, rate=found.rate),
                mean_io_bytes=found.mean_io_bytes,
            )
            result[found.at].append(
                SeenAllocation(
                    host=allocation.host.name,
                    observation=observation,
                    backlog_bytes=found.backlog_bytes,
                    drops=found.drops,
                )
            )
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationWindow:
    """What one allocation got in the window ending at `at`, in the resource's unit.

    `backlogged` says whether it wanted more; None means unknown. `mean_io_bytes` is None on an
    uplink and without I/O. On an uplink with an agent `backlog_bytes` waited in the allocation's
    queue and `drops` packets were dropped from it.
    """

    at: datetime
    rate: float
    backlogged: bool | None = None
    mean_io_bytes: float | None = None
    backlog_bytes: float | None = None
    drops: float | None = None
    read_ratio: float | None = None


def allocation_windows(
    allocation: Allocation, *, span: Span, max_points: int | None = None
) -> list[AllocationWindow]:
    """The windows in which the allocation's adapter was measured, in order of time."""
    return windows_of([allocation], span=span, max_points=max_points)[allocation.pk]


def windows_of(
    allocations: Sequence[Allocation], *, span: Span, max_points: int | None = None
) -> dict[int, list[AllocationWindow]]:
    """By allocation the windows in which its adapter was measured, in order of time.

    They are read in a few queries into memory. With `max_points` a long span is read at about
    that many times per allocation, with exact means between them.
    """
    adapters = allocation_adapters(allocations)
    times = {"since": span.read_since, "until": span.read_until}
    interfaces = set(adapters.interfaces.values())
    received = rates_of(INTERFACE, interfaces, max_points=max_points, **times)
    cgroups = set(adapters.cgroups.values())
    done = cgroup_rates_of(cgroups, max_points=max_points, **times)
    waiting = [allocation for allocation in allocations if allocation.pk in adapters.interfaces]
    reports = queue_reports(waiting, span=span)
    windows: dict[int, list[AllocationWindow]] = {}
    for allocation in allocations:
        windows[allocation.pk] = []
        if allocation.pk in adapters.interfaces:
            rates = received[adapters.interfaces[allocation.pk]]
            windows[allocation.pk] = _vnic_windows(rates, reports[allocation.pk], span)
        elif allocation.pk in adapters.cgroups:
            own = done[adapters.cgroups[allocation.pk]]
            windows[allocation.pk] = _cgroup_windows(own, allocation.resource.unit, span)
    return windows


def _vnic_windows(
    received: list[NetRates], reports: Sequence[QueueReport], span: Span
) -> list[AllocationWindow]:
    """What a workload sends is what its vNIC receives on the host's side."""
    windows = []
    for at, found in span.group(received).items():
        rate = mean_rate(found, [one.received_bits_per_s for one in found])
        queue = report_at(reports, at=at, window_s=span.window_s)
        if queue is None:
            windows.append(AllocationWindow(at=at, rate=rate))
            continue
        dropped = queue.drops_per_s
        windows.append(
            AllocationWindow(
                at=at,
                rate=rate,
                backlogged=queue.backlogged,
                # Bytes that waited only once are not a standing queue.
                backlog_bytes=queue.backlog_bytes if queue.backlogged else 0.0,
                drops=None if dropped is None else dropped * span.window_s,
            )
        )
    return windows


def _cgroup_windows(rates: list[CgroupRates], unit: str, span: Span) -> list[AllocationWindow]:
    return [
        AllocationWindow(
            at=at,
            rate=mean_rate(found, [rate_in_unit(item, unit) for item in found]),
            backlogged=_backlogged(found),
            mean_io_bytes=_mean_io_bytes(found),
            read_ratio=_read_ratio(found),
        )
        for at, found in span.group(rates).items()
    ]


def _read_ratio(rates: list[CgroupRates]) -> float | None:
    reads = sum(item.read_iops * item.seconds for item in rates)
    ios = sum((item.read_iops + item.write_iops) * item.seconds for item in rates)
    return reads / ios if ios > 0 else None


def _mean_io_bytes(rates: list[CgroupRates]) -> float | None:
    ios = sum((item.read_iops + item.write_iops) * item.seconds for item in rates)
    moved = sum((item.read_bytes_per_s + item.write_bytes_per_s) * item.seconds for item in rates)
    return moved / ios if ios > 0 else None


def _backlogged(rates: list[CgroupRates]) -> bool | None:
    pressures = [
        item.some_pressure_ratio for item in rates if item.some_pressure_ratio is not None
    ]
    if not pressures:
        return None
    return max(pressures) >= PRESSURE_OF_BACKLOG


def whole_windows(resource: Resource, *, now: datetime) -> datetime:
    """The end of the last window that can no longer change, however late hosts send.

    Telegraf sends once per flush interval, so a window is whole when every host that still
    sends has samples after its end, and in any case after `GRACE`.
    """
    newest = [
        queries.latest_sample_at(attachment.host)
        for attachment in resource.attachments.select_related("host")
    ]
    alive = [at for at in newest if at is not None and at > now - GRACE]
    reached = min(alive, default=now - GRACE)
    return last_window_end(reached, resource.window_s)


GRACE = timedelta(seconds=60)
"""Samples later than this do not change past states."""
