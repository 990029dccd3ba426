"""The list of hosts: their samples, their agents and their load."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from django.urls import reverse

from advisor.core.enumeration import MOST_NAMED
from advisor.queries.host_list import HostRow, with_host_days
from advisor.queries.hosts import AgentState
from advisor.queries.listed import listed
from enforcers.contract import MechanismSupport
from web.row_address import row_address
from web.tables import cells
from web.tables.column import Cell, Column, Link, Table
from web.tables.shared_columns import tiers_column, workloads_column
from web.templatetags.named import agent_mark

URGENCY = (
    AgentState.FAILING,
    AgentState.SILENT,
    AgentState.BEHIND,
    AgentState.WAITING,
    AgentState.ENFORCING,
    AgentState.DRY_RUN,
    AgentState.IDLE,
    AgentState.NOT_ENROLLED,
)
"""The states of agents, those that need care first."""
_AGENTS = tuple(_words.replace("_", " ") for _words in URGENCY)


def host_table(rows: Sequence[HostRow]) -> Table[HostRow]:
    """The list of these hosts, with a column for each mechanism that any agent has reported."""
    mechanisms = dict.fromkeys(one.mechanism for row in rows for one in row.health.mechanisms)
    return Table(
        name="hosts",
        title="Hosts",
        noun="host",
        plural="hosts",
        empty="",
        columns=(
            *_health_columns(),
            *_load_columns(),
            *(_mechanism(name) for name in mechanisms),
        ),
        identity=lambda row: f"host-{row.health.pk}",
        read=lambda _, __: listed(rows),
        with_days=lambda rows, at: with_host_days(rows, now=at),
    )


def _health_columns() -> tuple[Column[HostRow], ...]:
    return (
        Column(
            key="name",
            title="Host",
            cell=lambda row: Cell(
                links=(Link(text=row.health.name, address=row_address("host", row.health.pk)),)
            ),
            value=lambda row: row.health.name,
        ),
        Column(
            key="agent",
            title="Agent",
            cell=_agent,
            value=lambda row: float(URGENCY.index(row.health.agent_state)),
            plain=_agent_words,
            parts=lambda row: [_agent_words(row)],
            order=_AGENTS,
        ),
        Column(
            key="report",
            title="Last report",
            cell=lambda row: Cell(at=row.health.last_report_at, reason="no agent has reported"),
            value=lambda row: row.health.last_report_at,
        ),
        Column(
            key="sample",
            title="Newest sample",
            cell=_sample,
            value=lambda row: row.health.last_sample_at,
        ),
        Column(
            key="held",
            title="Revision held",
            cell=lambda row: _whole(row.health.applied_revision, "the agent holds none"),
            value=lambda row: _number(row.health.applied_revision),
            is_number=True,
        ),
        Column(
            key="published",
            title="Published",
            cell=lambda row: _whole(row.health.published_revision, "nothing was published for it"),
            value=lambda row: _number(row.health.published_revision),
            is_number=True,
        ),
        Column(
            key="drift",
            title="Drift",
            cell=_drift,
            value=lambda row: (
                float(row.health.drift_count) if row.health.allocation_count else None
            ),
            is_number=True,
        ),
    )


def _load_columns() -> tuple[Column[HostRow], ...]:
    return (
        Column(
            key="rate",
            title="Disk I/O",
            cell=lambda row: cells.rate_cell(
                row.rate, "iops", "its disks were not measured in the last 2 minutes"
            ),
            value=lambda row: row.rate,
            plain_unit=lambda _: "iops",
            hint="What its disks did in the newest judged window.",
            is_number=True,
        ),
        Column(
            key="sent",
            title="Sent",
            cell=lambda row: cells.rate_cell(
                row.sent, "bits_per_s", "its uplinks were not measured in the last 2 minutes"
            ),
            value=lambda row: row.sent,
            plain_unit=lambda _: "bits_per_s",
            hint="What its uplinks sent in the newest judged window.",
            is_number=True,
        ),
        Column(
            key="day",
            title="Disk I/O of 24 h",
            cell=lambda row: cells.rate_day_cell(
                row.day, "iops", f"I/O rate of {row.health.name} in the last 24 hours"
            ),
            needs_day=True,
        ),
        workloads_column(_workloads, lambda row: row.workload_count),
        Column(
            key="resource",
            title="Resources",
            cell=_resources,
            value=lambda row: ", ".join(row.resources),
            parts=lambda row: row.resources,
            is_shown=False,
        ),
        tiers_column(lambda row: row.tiers, reason="no workload runs on it"),
    )


def _agent_words(row: HostRow) -> str:
    return row.health.agent_state.replace("_", " ")


def _agent(row: HostRow) -> Cell:
    is_failing = row.health.agent_state is AgentState.FAILING
    needs_care = row.health.agent_needs_care
    return Cell(
        text=_agent_words(row),
        mark=agent_mark(row.health.agent_state),
        tone="state-bad" if is_failing else "state-warn" if needs_care else "",
        title=row.health.agent_reason,
    )


def _sample(row: HostRow) -> Cell:
    if row.health.last_sample_at is None:
        return Cell(reason="none was ever sent")
    trouble = row.health.sample_reason
    return Cell(
        at=row.health.last_sample_at,
        tone="state-warn" if trouble else "",
        title=trouble,
        hidden=f" {trouble}" if trouble else "",
    )


def _drift(row: HostRow) -> Cell:
    if not row.health.allocation_count:
        return Cell(reason="nothing is enforced there")
    return Cell(text=f"{row.health.drift_count} of {row.health.allocation_count}")


def _workloads(row: HostRow) -> Cell:
    if not row.workload_count:
        return Cell(reason="no workload has an allocation there")
    address = f"{reverse('workloads')}?{urlencode({'host': row.health.name})}"
    about = f"workloads of {row.health.name}"
    return Cell(links=(Link(text=str(row.workload_count), address=address, about=about),))


def _resources(row: HostRow) -> Cell:
    more = len(row.resources) - MOST_NAMED
    return Cell(
        text=", ".join(row.resources[:MOST_NAMED]),
        note=f"+{more} more" if more > 0 else "",
        title=", ".join(row.resources),
        reason="no disk or interface of it is known",
    )


def _mechanism(name: str) -> Column[HostRow]:
    """What the host's agent said of a mechanism."""
    return Column(
        key=f"can-{name}",
        title=name,
        cell=lambda row: _support(_said(row, name)),
        value=lambda row: _support_words(_said(row, name)),
        parts=lambda row: [_support_words(_said(row, name)) or "not said"],
        hint=f"Whether its agent can enforce by {name}.",
        # The table below the list says it of all hosts at once.
        is_shown=False,
    )


def _said(row: HostRow, name: str) -> MechanismSupport | None:
    return next((one for one in row.health.mechanisms if one.mechanism == name), None)


def _support_words(answer: MechanismSupport | None) -> str | None:
    if answer is None:
        return None
    return "yes" if answer.supported else "no"


def _support(answer: MechanismSupport | None) -> Cell:
    if answer is None:
        return Cell(reason="the agent has not said")
    return Cell(
        text="yes" if answer.supported else "no",
        mark="clear" if answer.supported else "unknown",
        title=answer.reason,
        hidden="" if answer.supported else f": {answer.reason}",
    )


def _whole(value: int | None, reason: str) -> Cell:
    return Cell(text="" if value is None else str(value), reason=reason)


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)
