"""The charts of an uplink: its load and capacity, and the rates of workloads."""

from __future__ import annotations

from datetime import datetime

from advisor.models import Attachment, Resource, Unit
from advisor.queries.allocation_rates import workload_tracks
from advisor.queries.charts import (
    PLAIN,
    PLAIN_TOO,
    Chart,
    ChartKind,
    ChartRange,
    Track,
    capacity_marks,
    sample_gap,
    threshold_marks,
    workload_chart,
)
from advisor.queries.grid import Grid, mean_on
from ingest import queries


def uplink_charts(
    read: ChartRange, attachments: list[Attachment], step_s: int | None, now: datetime
) -> tuple[Grid, tuple[Chart, ...]]:
    rates = [
        item
        for attachment in attachments
        for item in queries.net_rates(
            host=attachment.host,
            interface=attachment.device,
            since=read.since,
            until=read.reach,
            max_points=read.points,
        )
    ]
    grid = read.grid(rates, step_s)
    sent = mean_on(grid, rates, [item.sent_bits_per_s for item in rates])
    received = mean_on(grid, rates, [item.received_bits_per_s for item in rates])
    drops = mean_on(grid, rates, [item.drops_per_s for item in rates])
    errors = mean_on(grid, rates, [item.errors_per_s for item in rates])
    tracks = workload_tracks(read.resource, grid, since=read.since, until=read.reach)
    charts = (
        _utilisation_chart(read.resource, sent, now),
        workload_chart(read.resource, tracks, sent),
        Chart(
            key="rate",
            title="Sent and received",
            unit=Unit.BITS_PER_S,
            kind=ChartKind.LINE,
            tracks=(
                Track(label="sent", colour=PLAIN, values=tuple(sent)),
                Track(label="received", colour=PLAIN_TOO, values=tuple(received)),
            ),
            marks=capacity_marks(read.resource),
            gap=sample_gap(sent, attachments),
        ),
        Chart(
            key="losses",
            title="Dropped and broken packets",
            unit="packets_per_s",
            kind=ChartKind.LINE,
            tracks=(
                Track(label="dropped", colour=PLAIN, values=tuple(drops)),
                Track(label="with errors", colour=PLAIN_TOO, values=tuple(errors)),
            ),
            marks=(),
            gap=sample_gap(drops, attachments),
        ),
    )
    return grid, charts


def _utilisation_chart(resource: Resource, sent: list[float | None], now: datetime) -> Chart:
    capacity = resource.capacity
    values = (
        tuple(None if value is None else value / capacity for value in sent) if capacity else ()
    )
    gap = (
        sample_gap(sent, [])
        if capacity
        else (
            f"The capacity of {resource.name} is not set, so its utilisation is unknown. "
            "Set it with: sluice resource set"
        )
    )
    return Chart(
        key="level",
        title="Utilisation",
        unit="ratio",
        kind=ChartKind.LINE,
        tracks=(Track(label="in use", colour=PLAIN, values=values),),
        marks=threshold_marks(resource, now),
        gap=gap,
    )
