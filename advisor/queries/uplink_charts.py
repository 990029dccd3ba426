"""The charts of an uplink: its load and capacity, and the rates of workloads."""

from __future__ import annotations

from datetime import datetime

from advisor.history.history import numbers
from advisor.models import Resource, Unit
from advisor.queries.charts import (
    PLAIN,
    PLAIN_TOO,
    Chart,
    ChartKind,
    ResourceFigures,
    Track,
    capacity_marks,
    sample_gap,
    threshold_marks,
    workload_chart,
)
from advisor.queries.totals import total
from ingest.core.figures import InterfaceFigures


def uplink_charts(read: ResourceFigures, now: datetime) -> tuple[Chart, ...]:
    found: InterfaceFigures = read.devices.figures
    columns = (found.sent_bits_per_s, found.received_bits_per_s)
    sent, received = (numbers(total(column)) for column in columns)
    drops, errors = (numbers(total(column)) for column in (found.drops_per_s, found.errors_per_s))
    return (
        _utilisation_chart(read.resource, sent, now),
        workload_chart(read.resource, read.tracks, sent),
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
            gap=sample_gap(sent, read.attachments),
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
            gap=sample_gap(drops, read.attachments),
        ),
    )


def _utilisation_chart(resource: Resource, sent: list[float | None], now: datetime) -> Chart:
    capacity = resource.capacity
    values = (
        tuple(None if value is None else value / capacity for value in sent) if capacity else ()
    )
    gap = (
        sample_gap(sent, [])
        if capacity
        else (
            f"The capacity of {resource.name} is not known, so its utilisation is unknown. "
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
