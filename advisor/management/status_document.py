"""What is congested, stalled or unknown now, and the health of Sluice itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from accounts.models import Organisation
from accounts.table import table
from advisor.core.duration import duration_text
from advisor.core.health.checks import checks
from advisor.core.health.figures import Failure, Figures
from advisor.history.levels import was_ever_judged
from advisor.history.policy_state import newest_policies, policy_states
from advisor.management.policy_sentences import policy_sentences, state_document
from advisor.management.product_command import level_text
from advisor.management.status_exit import StatusExit
from advisor.models import Resource, State
from advisor.pipeline.muting import muted_resources
from advisor.queries.health import health_figures
from advisor.queries.resources import ResourceLine, resource_line

COLUMNS = ("resource", "state", "since", "level", "allowed", "maintenance_window", "reason")
NO_RESOURCES = "no resources yet; they appear with the first samples"
SHOWN_FAILURES = 10
"""JSON has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusDocument:
    """A row for each resource, the health of Sluice, both as text, and the exit status."""

    resources: Sequence[dict[str, Any]]
    health: dict[str, Any]
    text: str
    exit_status: StatusExit


def status_document(
    organisation: Organisation, *, now: datetime, with_installation: bool
) -> StatusDocument:
    """The state of everything; `with_installation` also what is of no organisation."""
    resources = list(
        Resource.objects.filter(organisation=organisation)
        .select_related("status")
        .prefetch_related("attachments")
    )
    planned = muted_resources(organisation, now=now)
    policies = newest_policies([one.pk for one in resources])
    states = policy_states(policies, now=now)
    by_resource = {policy.resource_id: states[policy.pk] for policy in policies}
    rows = [
        {
            **_row(resource, resource_line(resource, now=now), planned.get(resource.pk)),
            **state_document(by_resource.get(resource.pk)),
        }
        for resource in resources
    ]
    figures = health_figures(
        organisation=organisation, now=now, with_installation=with_installation
    )
    said = policy_sentences((policy, states[policy.pk]) for policy in policies)
    text = (table(rows, COLUMNS) if rows else NO_RESOURCES) + said
    return StatusDocument(
        resources=rows,
        health=_document(figures),
        text=f"{text}\n\n{_health_text(figures, now=now)}",
        exit_status=_exit_code(rows, organisation),
    )


def _document(figures: Figures) -> dict[str, Any]:
    """The health for programs: every check in words, and the figures."""
    return {"checks": [asdict(check) for check in checks(figures)], **asdict(figures)}


def _health_text(figures: Figures, *, now: datetime) -> str:
    rows = [
        {"health of Sluice": check.name, "state": check.condition, "figures": check.text}
        for check in checks(figures)
    ]
    text = table(rows, ["health of Sluice", "state", "figures"])
    open_failures = [one for one in figures.failures if one.solved_at is None]
    if not open_failures:
        return text
    shown = [_failure_row(one, now=now) for one in open_failures[:SHOWN_FAILURES]]
    text += "\n\n" + table(shown, ["failed work", "subject", "times", "last", "reason"])
    failing = figures.failing + figures.failing_installation
    if failing > len(shown):
        text += f"\nand {failing - len(shown)} more"
    return text


def _failure_row(failure: Failure, *, now: datetime) -> dict[str, Any]:
    return {
        "failed work": failure.task,
        "subject": failure.subject,
        "times": failure.times,
        "last": f"{duration_text(now - failure.last_at)} ago",
        "reason": failure.reason,
    }


def _row(resource: Resource, line: ResourceLine, maintenance_window: str | None) -> dict[str, Any]:
    status = getattr(resource, "status", None)
    return {
        "resource": line.name,
        "kind": resource.noun,
        "state": line.state,
        "since": line.state_since,
        "stale": line.is_stale,
        "evaluated_at": line.looked_at,
        "value": line.value,
        "threshold": line.threshold,
        "level": level_text(line.value, line.kind),
        "allowed": level_text(line.threshold, line.kind),
        "reason": line.reason,
        "maintenance_window": maintenance_window,
        "advice_gap": line.advice_gap,
        "other_advice_gaps": status.other_advice_gaps if status else {},
    }


def _exit_code(rows: Sequence[dict[str, Any]], organisation: Organisation) -> StatusExit:
    if any(_is_alarm(row) for row in rows):
        return StatusExit.ALARM
    unknown = [row for row in rows if row["state"] == State.UNKNOWN]
    if rows and not unknown:
        return StatusExit.CLEAR
    if len(unknown) == len(rows) and not was_ever_judged(organisation):
        return StatusExit.NO_ANSWER
    return StatusExit.STALE


def _is_alarm(row: dict[str, Any]) -> bool:
    is_excused = row["state"] == State.CONGESTED and row["maintenance_window"]
    return row["state"] in (State.CONGESTED, State.STALLED) and not is_excused
