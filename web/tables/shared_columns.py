"""Columns that several lists have: hosts, tiers and the number of workloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from advisor.queries.tables import HostName
from web.tables import cells
from web.tables.column import Cell, Column, RowT


def hosts_column(
    title: str, hosts: Callable[[RowT], Sequence[HostName]], *, of: str = ""
) -> Column[RowT]:
    """The hosts of a row, by which it can be filtered and grouped."""
    return Column(
        key="host",
        title=title,
        cell=lambda row: cells.hosts_cell(hosts(row)),
        value=lambda row: ", ".join(host.name for host in hosts(row)),
        parts=lambda row: [host.name for host in hosts(row)],
        of=of,
    )


def tiers_column(tiers: Callable[[RowT], Sequence[str]], *, reason: str) -> Column[RowT]:
    """The tiers of all workloads of a row; `reason` says why there is none."""
    return Column(
        key="tier",
        title="Tiers",
        cell=lambda row: Cell(text=", ".join(tiers(row)), reason=reason),
        value=lambda row: ", ".join(tiers(row)),
        parts=tiers,
        order=cells.TIERS,
        is_shown=False,
    )


def workloads_column(cell: Callable[[RowT], Cell], count: Callable[[RowT], int]) -> Column[RowT]:
    """How many workloads a row has, with a way to them."""
    return Column(
        key="workloads",
        title="Workloads",
        cell=cell,
        value=lambda row: float(count(row)),
        is_number=True,
    )
