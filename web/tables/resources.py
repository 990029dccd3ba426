"""The lists of storage and of networks: one row per datastore or uplink."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from advisor.queries import tables
from advisor.queries.tables import ResourceRow
from advisor.resource_kinds.registry import KINDS
from advisor.resource_kinds.traits import ResourceTraits
from web.formatting import level_scale
from web.tables import cells
from web.tables.column import Cell, Column, Link, Needs, Table


def storage_table(now: datetime) -> Table[ResourceRow]:
    """The list of datastores as of now."""
    return _table("storage", "Storage", "Storage", now)


def network_table(now: datetime) -> Table[ResourceRow]:
    """The list of uplinks as of now."""
    return _table("networks", "Networks", "Network", now)


def _table(name: str, title: str, area: str, now: datetime) -> Table[ResourceRow]:
    """The list of the kinds of one area, in the words of the first of them."""
    kinds = [traits for traits in KINDS if traits.words.area == area]
    names, words = [traits.name for traits in kinds], kinds[0].words
    return Table(
        name=name,
        title=title,
        noun=words.noun,
        plural=words.plural,
        empty=f"A {words.noun} appears here with the first samples of a disk or network "
        "interface.",
        columns=_columns(kinds[0], now),
        text=lambda row: row.line.name,
        identity=lambda row: f"resource-{row.line.pk}",
        read=lambda scope, at: tables.resource_table_rows(scope, names, now=at),
        measured=lambda scope, rows, wanted, at: tables.with_resource_figures(
            scope, rows, wanted, now=at
        ),
    )


def _columns(traits: ResourceTraits, now: datetime) -> tuple[Column[ResourceRow], ...]:
    level = traits.level
    scale = level_scale(traits.name)
    return (
        Column(
            key="name",
            title=traits.words.noun.capitalize(),
            cell=lambda row: Cell(
                links=(Link(text=row.line.name, address=reverse("resource", args=[row.line.pk])),),
                note=row.noun if row.noun != traits.words.noun else "",
            ),
            value=lambda row: row.line.name,
        ),
        Column(
            key="state",
            title="State",
            cell=lambda row: cells.state_cell(row.line),
            value=lambda row: cells.state_order(row.line),
            plain=lambda row: row.line.shown_state,
            parts=lambda row: [row.line.shown_state],
            order=cells.STATES,
        ),
        Column(
            key="level",
            title=level.noun.capitalize(),
            cell=lambda row: Cell(
                text="" if row.line.value is None else scale.with_unit(row.line.value),
                reason=row.line.reason or "nothing was measured",
            ),
            value=lambda row: row.line.value,
            plain_unit=lambda _: "ratio" if level.unit == "%" else level.unit,
            is_number=True,
        ),
        Column(
            key="threshold",
            title="Threshold",
            cell=lambda row: Cell(
                text="" if row.line.threshold is None else scale.with_unit(row.line.threshold),
                reason="no threshold yet: the baseline is still being learned",
            ),
            value=lambda row: row.line.threshold,
            plain_unit=lambda _: "ratio" if level.unit == "%" else level.unit,
            is_number=True,
        ),
        Column(
            key="day",
            title="Last 24 h",
            cell=lambda row: cells.level_day_cell(row.line, row.day),
            hint="The worst of each half hour; the dashed line is the threshold.",
            needs=Needs.DAY,
        ),
        Column(
            key="rate",
            title="Rate",
            cell=lambda row: cells.rate_cell(
                row.rate, row.load_unit, "no window was measured in the last 2 minutes"
            ),
            value=lambda row: row.rate,
            plain_unit=lambda row: row.load_unit,
            is_number=True,
        ),
        Column(
            key="capacity",
            title="Capacity",
            cell=lambda row: cells.rate_cell(
                row.line.capacity, row.line.unit, "it is not set: sluice resource set"
            ),
            value=lambda row: row.line.capacity,
            plain_unit=lambda row: row.line.unit,
            is_number=True,
            is_shown=False,
        ),
        Column(
            key="workloads",
            title="Workloads",
            cell=_workloads,
            value=lambda row: float(row.workload_count),
            is_number=True,
        ),
        Column(
            key="host",
            title="Hosts",
            cell=lambda row: cells.hosts_cell(row.hosts),
            value=lambda row: ", ".join(host.name for host in row.hosts),
            parts=lambda row: [host.name for host in row.hosts],
        ),
        Column(
            key="tier",
            title="Tiers",
            cell=lambda row: Cell(text=", ".join(row.tiers), reason="no workload uses it"),
            value=lambda row: ", ".join(row.tiers),
            parts=lambda row: row.tiers,
            order=cells.TIERS,
            is_shown=False,
        ),
        Column(
            key="evaluated",
            title="Evaluated",
            cell=lambda row: cells.evaluated_cell(row.line, now=now),
            value=lambda row: row.line.looked_at,
        ),
    )


def _workloads(row: ResourceRow) -> Cell:
    if not row.workload_count:
        return Cell(reason="no workload has an allocation on it")
    address = f"{reverse('workloads')}?{urlencode({'resource': row.line.name})}"
    about = f"workloads of {row.line.name}"
    return Cell(links=(Link(text=str(row.workload_count), address=address, about=about),))
