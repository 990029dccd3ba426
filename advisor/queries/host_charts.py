"""The charts of a host: what its disks, interfaces and workloads do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict, TypeVar

from advisor.models import Allocation, ResourceKind, Unit
from advisor.queries.allocation_rates import values_by_allocation
from advisor.queries.charts import Chart, ChartKind, ChartSet, ChartSpan, Track
from advisor.queries.grid import Grid, mean_on, total_of
from ingest.core.rates import DISK, INTERFACE, DiskRates, NetRates
from ingest.many_rates import rates_of
from ingest.models import Host

RatesT = TypeVar("RatesT", DiskRates, NetRates)

MOST_LINES = 8
"""More lines in one chart cannot be told apart; the highest are shown."""


class _Times(TypedDict):
    since: datetime
    until: datetime
    max_points: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HostChartPlan:
    """One chart of the page, known before its data."""

    key: str
    title: str
    form: ChartKind
    unit: str


_DISK_PLANS = (
    HostChartPlan(key="disk-rate", title="I/O rate per disk", form=ChartKind.STACK, unit="iops"),
    HostChartPlan(key="disk-latency", title="Latency per disk", form=ChartKind.LINE, unit="ms"),
    HostChartPlan(
        key="disk-throughput",
        title="Throughput per disk",
        form=ChartKind.STACK,
        unit="bytes_per_s",
    ),
)
_NET_PLANS = (
    HostChartPlan(key="sent", title="Sent per interface", form=ChartKind.STACK, unit="bits_per_s"),
    HostChartPlan(
        key="received", title="Received per interface", form=ChartKind.STACK, unit="bits_per_s"
    ),
)
_WORKLOAD_TITLES = {
    Unit.IOPS: "I/O rate per workload",
    Unit.BYTES_PER_S: "Throughput per workload",
    Unit.BITS_PER_S: "Sent per workload",
}
_DISK_VALUES: dict[str, Callable[[DiskRates], float | None]] = {
    "disk-rate": lambda one: one.read_iops + one.write_iops,
    "disk-latency": lambda one: one.latency_ms,
    "disk-throughput": lambda one: one.read_bytes_per_s + one.write_bytes_per_s,
}
_NET_VALUES: dict[str, Callable[[NetRates], float | None]] = {
    "sent": lambda one: one.sent_bits_per_s,
    "received": lambda one: one.received_bits_per_s,
}


def host_chart_plans(host: Host) -> list[HostChartPlan]:
    """The charts that a host has, by the devices and allocations on it."""
    kinds = set(host.attachments.values_list("resource__kind", flat=True))
    units = set(host.allocations.values_list("resource__unit", flat=True))
    plans = [
        HostChartPlan(key=_workload_key(unit), title=title, form=ChartKind.STACK, unit=unit)
        for unit, title in _WORKLOAD_TITLES.items()
        if unit in units
    ]
    plans += _DISK_PLANS if ResourceKind.DATASTORE in kinds else ()
    plans += _NET_PLANS if ResourceKind.UPLINK in kinds else ()
    return plans


def host_chart_set(host: Host, span: ChartSpan, *, step_s: int | None = None) -> ChartSet:
    """The charts over (since, until]; a given `step_s` continues an earlier set."""
    devices: dict[str, set[tuple[int, str]]] = defaultdict(set)
    for kind, device in host.attachments.values_list("resource__kind", "device"):
        devices[kind].add((host.pk, device))
    times = _Times(since=span.since, until=span.reach, max_points=span.points)
    disks = rates_of(DISK, devices[ResourceKind.DATASTORE], **times)
    cards = rates_of(INTERFACE, devices[ResourceKind.UPLINK], **times)
    rates: list[DiskRates | NetRates] = [one for found in disks.values() for one in found]
    rates += [one for found in cards.values() for one in found]
    grid = span.grid(rates, step_s)
    tracks = {
        **{key: _tracks(grid, disks, value) for key, value in _DISK_VALUES.items()},
        **{key: _tracks(grid, cards, value) for key, value in _NET_VALUES.items()},
        **_workload_tracks(host, grid, span),
    }
    return ChartSet(
        step_s=grid.step_s,
        ends_s=grid.ends_s,
        charts=tuple(_chart(plan, tracks[plan.key]) for plan in host_chart_plans(host)),
    )


def _tracks(
    grid: Grid,
    rates: Mapping[tuple[int, str], list[RatesT]],
    value: Callable[[RatesT], float | None],
) -> list[Track]:
    """One track per device, by name."""
    return [
        Track(
            label=device,
            colour=place,
            values=tuple(mean_on(grid, found, [value(one) for one in found])),
        )
        for place, ((_, device), found) in enumerate(sorted(rates.items()), start=1)
    ]


def _workload_key(unit: str) -> str:
    return f"workloads-{unit.replace('_', '-')}"


def _workload_tracks(host: Host, grid: Grid, span: ChartSpan) -> dict[str, list[Track]]:
    """By chart one track per workload, over its allocations in this unit."""
    rows = host.allocations.select_related("host", "resource", "workload")
    allocations: list[Allocation] = list(rows.order_by("workload__name"))
    values = values_by_allocation(allocations, grid, since=span.since, until=span.reach)
    found: dict[str, dict[str, list[list[float | None]]]] = defaultdict(lambda: defaultdict(list))
    for one in allocations:
        found[_workload_key(one.resource.unit)][one.workload.name].append(values[one.pk])
    return {
        key: [
            Track(label=name, colour=place, values=tuple(total_of(rows)))
            for place, (name, rows) in enumerate(workloads.items(), start=1)
        ]
        for key, workloads in found.items()
    }


def _chart(plan: HostChartPlan, tracks: Sequence[Track]) -> Chart:
    if plan.form is ChartKind.LINE and len(tracks) > MOST_LINES:
        highest = sorted(tracks, key=lambda track: -_mean(track.values))[:MOST_LINES]
        tracks = [track for track in tracks if track in highest]
    is_empty = all(value is None for track in tracks for value in track.values)
    return Chart(
        key=plan.key,
        title=plan.title,
        unit=plan.unit,
        kind=plan.form,
        tracks=tuple(tracks),
        marks=(),
        gap="No samples arrived in this range." if is_empty else None,
    )


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else 0.0
