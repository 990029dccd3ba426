"""Latency and throughput of a datastore against outstanding I/O."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Set
from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor.core.device.device_fit import LoadPoint
from advisor.core.device.device_model import MixPoint
from advisor.core.interval_mean import mean_rate
from advisor.core.iosize import size_cost
from advisor.history.device_rates import device_rates
from advisor.history.external_load import disturbed_times
from advisor.history.windows import Span
from advisor.models import Resource
from ingest.core.rates import DiskRates

SPAN = timedelta(days=1)
"""A day covers most of a datastore's depths."""

SHORTEST_WINDOW_S = 10.0
MOST_POINTS = 8640
"""Length of the windows of that day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceWindow:
    """A window of a device with I/O: means over time, sums over hosts.

    The sum of two windows is that of both hosts.
    """

    outstanding_io: float
    iops: float
    bytes_per_s: float
    reads_per_s: float

    def __add__(self, other: DeviceWindow) -> DeviceWindow:
        return DeviceWindow(
            outstanding_io=self.outstanding_io + other.outstanding_io,
            iops=self.iops + other.iops,
            bytes_per_s=self.bytes_per_s + other.bytes_per_s,
            reads_per_s=self.reads_per_s + other.reads_per_s,
        )

    @property
    def latency_ms(self) -> float:
        """Latency by Little's law over the whole window."""
        return 1000 * self.outstanding_io / self.iops

    @property
    def load_point(self) -> LoadPoint:
        """The window without its mix."""
        return LoadPoint(
            outstanding_io=self.outstanding_io, latency_ms=self.latency_ms, iops=self.iops
        )

    @property
    def normalized_point(self) -> LoadPoint:
        """The window converted to I/Os of the reference size; N = X·R still holds."""
        cost = size_cost(self.bytes_per_s / self.iops)
        return LoadPoint(
            outstanding_io=self.outstanding_io,
            latency_ms=self.latency_ms / cost,
            iops=self.iops * cost,
        )

    @property
    def mix_point(self) -> MixPoint | None:
        """The window with its mix; None if no bytes were counted."""
        if self.bytes_per_s <= 0:
            return None
        return MixPoint(
            outstanding_io=self.outstanding_io,
            latency_ms=self.latency_ms,
            mean_io_bytes=self.bytes_per_s / self.iops,
            read_ratio=min(self.reads_per_s / self.iops, 1.0),
        )


def load_points(resource: Resource, *, until: datetime) -> list[LoadPoint]:
    """Windows of the last day in which some host did I/O.

    Windows with external load are left out, and those with a gap in the samples of a host, because
    their latency does not belong to the measured depth.
    """
    return [window.load_point for window in device_windows(resource, until=until)]


def normalized_load_points(resource: Resource, *, until: datetime) -> list[LoadPoint]:
    """The same at the reference size, at which latency is compared with a threshold."""
    return [window.normalized_point for window in device_windows(resource, until=until)]


def device_windows(resource: Resource, *, until: datetime) -> list[DeviceWindow]:
    """The same windows with their mix of I/Os."""
    window_s = max(resource.window_s, SHORTEST_WINDOW_S)
    span = Span(since=until - SPAN, until=until, window_s=window_s)
    found: dict[datetime, list[DeviceWindow]] = defaultdict(list)
    measured: list[set[datetime]] = []
    attachments = resource.attachments.select_related("host")
    for _, windows in device_rates(attachments, span, max_points=MOST_POINTS):
        measured.append(set(windows))
        for at, items in windows.items():
            window = _host_window(items)
            if window is not None:
                found[at].append(window)
    disturbed = disturbed_times(resource, since=span.since, until=until)
    holes = set().union(*(_holes(own, found) for own in measured))
    return [
        _together(found[at])
        for at in sorted(found)
        if not any(began_at < at <= ended_at for began_at, ended_at in disturbed)
        and at not in holes
    ]


def _holes(measured: Set[datetime], ends: Iterable[datetime]) -> set[datetime]:
    """The windows between the first and last sample of a host in which it was not measured.

    During a gap or after a reset its load is unknown, but it affects the latency of all hosts.
    Before its first sample and after its last a host counts as away.
    """
    if not measured:
        return set()
    first, last = min(measured), max(measured)
    return {end for end in ends if first < end < last and end not in measured}


def _host_window(rates: list[DiskRates]) -> DeviceWindow | None:
    """One host's window; None if it did no I/O."""
    iops = mean_rate(rates, [item.read_iops + item.write_iops for item in rates])
    outstanding = mean_rate(rates, [item.outstanding_io for item in rates])
    if iops == 0 or outstanding == 0:
        return None
    return DeviceWindow(
        outstanding_io=outstanding,
        iops=iops,
        bytes_per_s=mean_rate(
            rates, [item.read_bytes_per_s + item.write_bytes_per_s for item in rates]
        ),
        reads_per_s=mean_rate(rates, [item.read_iops for item in rates]),
    )


def _together(windows: list[DeviceWindow]) -> DeviceWindow:
    """All hosts of a window: the sums of outstanding and completed I/O."""
    whole, *rest = windows
    for window in rest:
        whole += window
    return whole
