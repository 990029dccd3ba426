"""The charts of a workload: its rate on each resource, with what it was promised."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from advisor.history.history import numbers
from advisor.history.measured import read_rates
from advisor.models import Allocation, Resource, Workload
from advisor.queries.chart_set import incidents_by_resource
from advisor.queries.charts import (
    PLAIN,
    Chart,
    ChartKind,
    ChartSet,
    ChartSpan,
    Incidents,
    Mark,
    Track,
    charts_on,
)
from advisor.queries.promises import Promise, promises_of
from advisor.queries.totals import total


def workload_chart_plans(workload: Workload) -> list[tuple[str, str, str]]:
    """Key, title and form of each chart: one per resource."""
    resources = _resources(_allocations(workload))
    return [(_key(one), f"Rate on {one.name}", ChartKind.LINE) for one in resources]


def workload_chart_set(
    workload: Workload, span: ChartSpan, *, step_s: int | None = None
) -> ChartSet:
    """The charts over (since, until]; a given `step_s` continues an earlier set."""
    by_resource = _allocations(workload)
    allocations = [one for found in by_resource.values() for one in found]
    finest_s = max((one.resource.window_s for one in allocations), default=1.0)
    grid = span.grid(step_s, finest_s=finest_s)
    rate = read_rates(allocations, grid).rate
    promises = promises_of(allocations)
    incidents = incidents_by_resource(by_resource, since=span.since, until=span.until)
    charts = []
    for resource in _resources(by_resource):
        own = [one.resource_id == resource.pk for one in allocations]
        values = numbers(total(rate[:, own]))
        rows = by_resource[resource.pk]
        marks = _marks([promises[one.pk][-1] for one in rows])
        charts.append(_chart(resource, rows, values, marks, incidents[resource.pk]))
    return charts_on(grid, charts)


def _allocations(workload: Workload) -> dict[int, list[Allocation]]:
    rows = workload.allocations.select_related("resource", "host", "workload")
    found: dict[int, list[Allocation]] = defaultdict(list)
    for one in rows.order_by("resource__name", "host__name", "pk"):
        found[one.resource_id].append(one)
    return found


def _resources(by_resource: dict[int, list[Allocation]]) -> list[Resource]:
    return [found[0].resource for found in by_resource.values()]


def _key(resource: Resource) -> str:
    return f"rate-{resource.pk}"


def _chart(
    resource: Resource,
    allocations: list[Allocation],
    values: list[float | None],
    marks: tuple[Mark, ...],
    incidents: Incidents,
) -> Chart:
    is_empty = all(value is None for value in values)
    adapters = ", ".join(f"{one.adapter} on {one.host.name}" for one in allocations)
    return Chart(
        key=_key(resource),
        title=f"Rate on {resource.name}",
        unit=resource.unit,
        kind=ChartKind.LINE,
        tracks=(Track(label="rate", colour=PLAIN, values=tuple(values)),),
        marks=marks,
        gap=f"No samples of {adapters} arrived in this range." if is_empty else None,
        incidents=incidents,
    )


def _marks(promises: Sequence[Promise]) -> tuple[Mark, ...]:
    """What allocations are promised together; a limit only if each of them has one."""
    levels = {
        "reserved": [one.reservation or None for one in promises],
        "limit": [one.limit for one in promises],
        "entitled": [one.entitlement for one in promises],
    }
    marks = []
    for label, values in levels.items():
        known = [value for value in values if value is not None]
        if known and (label == "reserved" or len(known) == len(values)):
            marks.append(Mark(label=label, value=sum(known)))
    return tuple(marks)
