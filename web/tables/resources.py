"""The lists of storage and of networks: one row per datastore or uplink."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from advisor.queries import tables
from advisor.queries.listed import listed
from advisor.queries.tables import ResourceRow
from advisor.resource_kinds.registry import KINDS
from advisor.resource_kinds.traits import ResourceTraits
from web.formatting import level_scale
from web.row_address import row_address
from web.tables import cells
from web.tables.column import Cell, Column, Link, Table
from web.tables.shared_columns import hosts_column, tiers_column, workloads_column


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
        columns=_state_columns(kinds[0]) + _use_columns(now),
        identity=lambda row: f"resource-{row.line.pk}",
        read=lambda scope, at: listed(tables.resource_table_rows(scope, names, now=at)),
        with_days=lambda rows, at: tables.with_resource_days(rows, now=at),
    )


def _state_columns(traits: ResourceTraits) -> tuple[Column[ResourceRow], ...]:
    """What the detector says of a resource."""
    return (
        Column(
            key="name",
            title=traits.words.noun.capitalize(),
            cell=lambda row: Cell(
                links=(Link(text=row.line.name, address=row_address("resource", row.line.pk)),),
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
        *_level_columns(traits),
    )


def _level_columns(traits: ResourceTraits) -> tuple[Column[ResourceRow], ...]:
    """The level, its threshold, and the last day beside it."""
    level, scale = traits.level, level_scale(traits.name)
    return (
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
            needs_day=True,
        ),
    )


def _use_columns(now: datetime) -> tuple[Column[ResourceRow], ...]:
    """What a resource carries, for whom, and when somebody looked."""
    return (
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
                row.line.capacity, row.line.unit, "none is stated, and its host says none"
            ),
            value=lambda row: row.line.capacity,
            plain_unit=lambda row: row.line.unit,
            is_number=True,
            is_shown=False,
        ),
        workloads_column(_workloads, lambda row: row.workload_count),
        hosts_column("Hosts", lambda row: row.hosts),
        tiers_column(lambda row: row.tiers, reason="no workload uses it"),
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
