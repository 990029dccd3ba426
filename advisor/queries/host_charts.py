"""The charts of a host: what its disks, interfaces and workloads do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from advisor.history.history import numbers
from advisor.history.inventory import cgroup_device_numbers
from advisor.history.measured import rates_of, read_measured
from advisor.history.subjects import device_subject, rate_subjects
from advisor.models import Allocation, Attachment, Unit
from advisor.queries.charts import Chart, ChartKind, ChartSet, ChartSpan, Track, charts_on
from advisor.queries.totals import total
from advisor.resource_kinds.registry import traits_of
from ingest.core.figures import DISK, INTERFACE, DiskFigures, FigureKind, InterfaceFigures
from ingest.core.grid import Floats
from ingest.models import Host

MOST_LINES = 8
"""More lines in one chart cannot be told apart; the highest are shown."""


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
_DISK_VALUES: dict[str, Callable[[DiskFigures], Floats]] = {
    "disk-rate": lambda found: found.iops,
    "disk-latency": lambda found: found.latency_ms,
    "disk-throughput": lambda found: found.bytes_per_s,
}
_NET_VALUES: dict[str, Callable[[InterfaceFigures], Floats]] = {
    "sent": lambda found: found.sent_bits_per_s,
    "received": lambda found: found.received_bits_per_s,
}


def host_chart_plans(host: Host) -> list[HostChartPlan]:
    """The charts that a host has, by the devices and allocations on it."""
    kinds = set(host.attachments.values_list("resource__kind", flat=True))
    measured = [traits_of(kind).reader.figures for kind in kinds]
    units = set(host.allocations.values_list("resource__unit", flat=True))
    plans = [
        HostChartPlan(key=_workload_key(unit), title=title, form=ChartKind.STACK, unit=unit)
        for unit, title in _WORKLOAD_TITLES.items()
        if unit in units
    ]
    plans += _DISK_PLANS if DISK in measured else ()
    plans += _NET_PLANS if INTERFACE in measured else ()
    return plans


def host_chart_set(host: Host, span: ChartSpan, *, step_s: int | None = None) -> ChartSet:
    """The charts over (since, until]; a given `step_s` continues an earlier set."""
    attachments = list(host.attachments.select_related("resource"))
    allocations = _allocations(host)
    resources = [one.resource for one in attachments] + [one.resource for one in allocations]
    grid = span.grid(step_s, finest_s=max((one.window_s for one in resources), default=1.0))
    disks = _devices(attachments, DISK)
    cards = _devices(attachments, INTERFACE)
    subjects = rate_subjects(allocations, cgroup_device_numbers(allocations))
    on_disks = [device_subject(one) for one in disks.values()]
    on_cards = [device_subject(one) for one in cards.values()]
    measured = read_measured(
        {**subjects.wanted, DISK: on_disks, INTERFACE: [*subjects.vnics, *on_cards]}, grid
    )
    done, carried = measured.figures(DISK, on_disks), measured.figures(INTERFACE, on_cards)
    tracks = {
        **{key: _tracks(list(disks), value(done)) for key, value in _DISK_VALUES.items()},
        **{key: _tracks(list(cards), value(carried)) for key, value in _NET_VALUES.items()},
        **_workload_tracks(allocations, rates_of(subjects, measured).rate),
    }
    return charts_on(grid, [_chart(plan, tracks[plan.key]) for plan in host_chart_plans(host)])


def _devices(attachments: Sequence[Attachment], figures: FigureKind[Any]) -> dict[str, Attachment]:
    """One attachment for each device that is measured so, by name."""
    found = {
        one.device: one for one in attachments if one.resource.traits.reader.figures is figures
    }
    return {name: found[name] for name in sorted(found)}


def _tracks(names: Sequence[str], columns: Floats) -> list[Track]:
    """One track per column (windows, names)."""
    return [
        Track(label=name, colour=place + 1, values=tuple(numbers(columns[:, place])))
        for place, name in enumerate(names)
    ]


def _workload_key(unit: str) -> str:
    return f"workloads-{unit.replace('_', '-')}"


def _allocations(host: Host) -> list[Allocation]:
    rows = host.allocations.select_related("host", "resource", "workload")
    return list(rows.order_by("workload__name"))


def _workload_tracks(allocations: Sequence[Allocation], rate: Floats) -> dict[str, list[Track]]:
    """By chart one track per workload, over its allocations in this unit."""
    places: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, one in enumerate(allocations):
        places[_workload_key(one.resource.unit)][one.workload.name].append(place)
    return {
        key: _tracks(
            list(workloads), np.column_stack([total(rate[:, own]) for own in workloads.values()])
        )
        for key, workloads in places.items()
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
