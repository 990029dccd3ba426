"""The list of workloads: one row per workload and resource."""

from __future__ import annotations

from datetime import datetime

from advisor.models import Team
from advisor.queries.tables import WorkloadRow, with_workload_days
from advisor.queries.workload_list import workload_list
from web.row_address import row_address
from web.tables import cells
from web.tables.column import Cell, Column, Link, Table
from web.tables.shared_columns import hosts_column


def workload_table(
    now: datetime, *, host_pk: int | None = None, team: Team | None = None
) -> Table[WorkloadRow]:
    """The list as of now, or the part of it on one host or of one team."""
    return Table(
        name="workloads",
        title="Workloads",
        noun="workload",
        plural="workloads",
        empty="Workloads appear here soon after a host sends counters of its virtual machines, "
        "containers or units. One that is not found can be added: "
        "sluice allocation set RESOURCE WORKLOAD --cgroup PATH",
        columns=_place_columns() + _measured_columns(now),
        identity=lambda row: f"workload-{row.pk}-{row.resource.pk}",
        read=lambda scope, at: workload_list(scope, now=at, host_pk=host_pk, team=team),
        with_days=lambda rows, at: with_workload_days(rows, now=at),
    )


def _place_columns() -> tuple[Column[WorkloadRow], ...]:
    """What a workload is, and where."""
    return (
        Column(
            key="name",
            title="Workload",
            cell=lambda row: Cell(
                links=(Link(text=row.name, address=row_address("workload", row.pk)),)
            ),
            value=lambda row: row.name,
            of="workload",
            is_name=True,
        ),
        Column(
            key="resource",
            title="Resource",
            cell=_resource,
            value=lambda row: row.resource.name,
            parts=lambda row: [row.resource.name],
            of="resource",
        ),
        Column(
            key="kind",
            title="Kind",
            cell=lambda row: Cell(text=row.resource.kind),
            value=lambda row: row.resource.kind,
            parts=lambda row: [row.resource.kind],
            of="resource",
            is_shown=False,
        ),
        hosts_column("Host", lambda row: row.hosts, of="hosts"),
        Column(
            key="tier",
            title="Tier",
            cell=lambda row: Cell(text=row.tier),
            value=lambda row: float(cells.TIERS.index(row.tier)),
            plain=lambda row: row.tier,
            parts=lambda row: [row.tier],
            of="tier",
            order=cells.TIERS,
        ),
        Column(
            key="team",
            title="Team",
            cell=lambda row: Cell(text=", ".join(row.teams), reason="no team owns it"),
            value=lambda row: ", ".join(row.teams) or None,
            parts=lambda row: row.teams,
            of="teams",
            hint="Teams own workloads by their tags.",
            is_shown=False,
        ),
    )


def _measured_columns(now: datetime) -> tuple[Column[WorkloadRow], ...]:
    """What a workload gets, and how its resource does."""
    return (
        Column(
            key="rate",
            title="Rate",
            cell=lambda row: cells.rate_cell(
                row.rate, row.resource.unit, "not measured in the last 2 minutes"
            ),
            value=lambda row: row.rate,
            plain_unit=lambda row: row.resource.unit,
            hint="In the newest judged window. Sorted by it, the rates of storage and of networks "
            "stand apart.",
            is_number=True,
        ),
        Column(
            key="day",
            title="Last 24 h",
            cell=lambda row: cells.rate_day_cell(
                row.day, row.resource.unit, f"Rate of {row.name} in the last 24 hours"
            ),
            needs_day=True,
        ),
        Column(
            key="state",
            title="State of the resource",
            cell=lambda row: cells.state_cell(row.resource),
            value=lambda row: cells.state_order(row.resource),
            plain=lambda row: row.resource.shown_state,
            parts=lambda row: [row.resource.shown_state],
            of="resource",
            order=cells.STATES,
        ),
        Column(
            key="sample",
            title="Newest sample",
            cell=lambda row: cells.sample_cell(row.last_sample_at, now=now),
            value=lambda row: row.last_sample_at,
            of="hosts",
        ),
    )


def _resource(row: WorkloadRow) -> Cell:
    address = row_address("resource", row.resource.pk)
    return Cell(links=(Link(text=row.resource.name, address=address),))
