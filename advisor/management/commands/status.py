"""`sluice status`: what is congested, stalled or unknown now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from accounts.models import Organisation
from advisor.management.product_command import ProductCommand, level_text
from advisor.management.status_exit import MEANING, StatusExit
from advisor.models import Resource, State, StatePoint
from advisor.pipeline.muting import muted_resources
from advisor.queries.resources import ResourceLine, resource_line


class Command(ProductCommand):
    help = (
        "Show the state of every resource, with its latency or load against the threshold. "
        f"{MEANING}"
    )

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        now = timezone.now()
        resources = (
            Resource.objects.filter(organisation=organisation)
            .select_related("status")
            .prefetch_related("attachments")
        )
        planned = muted_resources(organisation, now=now)
        rows = [
            _row(resource, resource_line(resource, now=now), planned.get(resource.pk))
            for resource in resources
        ]
        self.show(
            rows,
            as_json=options["as_json"],
            columns=[
                "resource",
                "state",
                "since",
                "level",
                "allowed",
                "maintenance_window",
                "reason",
            ],
            empty="no resources yet; they appear with the first samples",
        )
        code = _exit_code(rows, organisation)
        if code:
            raise SystemExit(int(code))


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
    if len(unknown) == len(rows) and not _was_ever_judged(organisation):
        return StatusExit.NO_ANSWER
    return StatusExit.STALE


def _is_alarm(row: dict[str, Any]) -> bool:
    is_excused = row["state"] == State.CONGESTED and row["maintenance_window"]
    return row["state"] in (State.CONGESTED, State.STALLED) and not is_excused


def _was_ever_judged(organisation: Organisation) -> bool:
    judged = StatePoint.objects.filter(resource__organisation=organisation)
    return judged.exclude(state=State.UNKNOWN).exists()
