"""The list of what is enforced where: one row per allocation of a policy, on its host."""

from __future__ import annotations

from advisor.core.duration import duration_text
from advisor.history.enforced_state import EnforcedState
from advisor.queries.enforced_row import EnforcedRow
from advisor.queries.enforcement_since import LOOKED_BACK, with_beginnings
from advisor.queries.listed import Listed
from enforcers.contract import Outcome
from web.row_address import row_address
from web.tables.column import Cell, Column, Link, Table

STATES = tuple(map(str, EnforcedState))
_OUTCOMES = tuple(one.replace("_", " ") for one in reversed(Outcome))
_MARKS = {
    EnforcedState.FALLS_SHORT: "congested",
    EnforcedState.PUT_RIGHT: "near",
    EnforcedState.SILENT: "near",
    EnforcedState.NO_AGENT: "unknown",
    EnforcedState.WAITING: "proposed",
    EnforcedState.DRY_RUN: "proposed",
    EnforcedState.HOLDS: "clear",
}
_TONES = {
    EnforcedState.FALLS_SHORT: "state-bad",
    EnforcedState.PUT_RIGHT: "state-warn",
    EnforcedState.SILENT: "state-warn",
}


def enforcement_table(rows: Listed[EnforcedRow]) -> Table[EnforcedRow]:
    """The list of these rows, which come by name; those that need care stand first."""
    return Table(
        name="enforcement",
        title="Enforcement",
        noun="allocation",
        plural="allocations",
        empty="No policy gives any workload something yet. When a recommendation is approved, "
        "each of its allocations has a row here.",
        columns=(*_place_columns(), *_state_columns(), *_version_columns(), *_why_columns()),
        identity=lambda row: f"allocation-{row.allocation}",
        read=lambda _, __: rows,
        with_days=lambda rows, at: with_beginnings(rows, now=at),
        usual_sort="state",
    )


def _place_columns() -> tuple[Column[EnforcedRow], ...]:
    return (
        Column(
            key="name",
            title="Workload",
            cell=lambda row: _linked("workload", row.workload_pk, row.workload),
            value=lambda row: row.workload,
            of="workload",
            is_name=True,
        ),
        Column(
            key="host",
            title="Host",
            cell=lambda row: _linked("host", row.host_pk, row.host),
            value=lambda row: row.host,
            parts=lambda row: [row.host],
            of="host",
        ),
        Column(
            key="resource",
            title="Resource",
            cell=lambda row: _linked("resource", row.resource_pk, row.resource),
            value=lambda row: row.resource,
            parts=lambda row: [row.resource],
            of="resource",
        ),
        Column(
            key="device",
            title="Device",
            cell=lambda row: Cell(
                text=row.device, reason="its host has no device that reaches it"
            ),
            value=lambda row: row.device or None,
            is_shown=False,
        ),
    )


def _state_columns() -> tuple[Column[EnforcedRow], ...]:
    return (
        Column(
            key="state",
            title="State",
            cell=_state,
            value=lambda row: float(STATES.index(row.standing.state)),
            plain=lambda row: row.standing.state,
            parts=lambda row: [row.standing.state],
            of="state",
            order=STATES,
        ),
        Column(
            key="since",
            title="Since",
            cell=_since,
            hint="To within one report of the agent, of the last six hours.",
            needs_day=True,
        ),
        Column(
            key="outcome",
            title="Outcome",
            cell=lambda row: Cell(
                text=row.by_control or _outcome_words(row), reason="no agent has reported on it"
            ),
            value=lambda row: _outcome_words(row) or None,
            plain=lambda row: row.by_control or _outcome_words(row) or None,
            parts=lambda row: [_outcome_words(row) or "not reported"],
            of="outcome",
            order=_OUTCOMES,
            hint="What the agent said of its newest pass, of each control if they differ.",
        ),
    )


def _version_columns() -> tuple[Column[EnforcedRow], ...]:
    return (
        Column(
            key="wanted",
            title="Version wanted",
            cell=lambda row: Cell(text=str(row.wanted)),
            value=lambda row: float(row.wanted),
            hint="The version of the policy of the resource that this host is to have.",
            is_number=True,
        ),
        Column(
            key="applied",
            title="Applied",
            cell=lambda row: _version(row.applied, "the agent has applied none"),
            value=lambda row: None if row.applied is None else float(row.applied),
            hint="By the newest report of the agent.",
            is_number=True,
        ),
        Column(
            key="shown",
            title="Read back",
            cell=lambda row: _version(row.shown, "the kernel did not show what was applied"),
            value=lambda row: None if row.shown is None else float(row.shown),
            hint="What the kernel showed after the newest report's pass.",
            is_number=True,
        ),
        Column(
            key="report",
            title="Last report",
            cell=lambda row: Cell(at=row.last_report_at, reason="no agent has reported"),
            value=lambda row: row.last_report_at,
        ),
    )


def _why_columns() -> tuple[Column[EnforcedRow], ...]:
    return (
        Column(
            key="reason",
            title="Why",
            cell=lambda row: Cell(text=_sentence(row.standing.reason), reason="nothing is wrong"),
            value=lambda row: row.standing.reason or None,
        ),
        Column(
            key="step",
            title="What to do",
            cell=_step,
            value=lambda row: row.standing.step or None,
        ),
    )


def _linked(page: str, pk: int, name: str) -> Cell:
    return Cell(links=(Link(text=name, address=row_address(page, pk)),))


def _state(row: EnforcedRow) -> Cell:
    state = row.standing.state
    return Cell(text=state, mark=_MARKS[state], tone=_TONES.get(state, ""))


def _since(row: EnforcedRow) -> Cell:
    if row.is_longer:
        return Cell(text=f"over {duration_text(LOOKED_BACK)}")
    return Cell(at=row.since, reason="its beginning is not known")


def _outcome_words(row: EnforcedRow) -> str:
    return row.outcome.replace("_", " ")


def _version(version: int | None, reason: str) -> Cell:
    return Cell(text="" if version is None else str(version), reason=reason)


def _step(row: EnforcedRow) -> Cell:
    return Cell(text=row.standing.step, reason="nothing is to be done")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
