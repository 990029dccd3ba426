"""Since when each allocation is in its state, for the rows that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import OuterRef, Q, Subquery

from advisor.history.enforced_state import EnforcedState
from advisor.history.policy_reports import BREACHES, IS_READ_BACK
from advisor.models import Allocation
from advisor.queries.enforced_row import EnforcedRow
from advisor.queries.enforcement_read import reports_of_row, truth
from enforcers.contract import Outcome

LOOKED_BACK = timedelta(hours=6)
"""So far back it is looked for the beginning of a state: reports come twice a minute."""

_IS_BREACH = Q(verdict__in=BREACHES, outcome=Outcome.UNCHANGED)


def with_beginnings(rows: Sequence[EnforcedRow], *, now: datetime) -> list[EnforcedRow]:
    """The rows with the beginning of their states, in one query for all."""
    last = _last_otherwise(rows, since=now - LOOKED_BACK)
    return [_with_beginning(row, last.get(row.allocation), now) for row in rows]


def _with_beginning(row: EnforcedRow, last: datetime | None, now: datetime) -> EnforcedRow:
    match row.standing.state:
        case EnforcedState.SILENT:
            return replace(row, since=row.last_report_at)
        case (
            EnforcedState.HOLDS
            | EnforcedState.PUT_RIGHT
            | EnforcedState.FALLS_SHORT
            | EnforcedState.DRY_RUN
        ):
            earliest = max(now - LOOKED_BACK, row.decided_at)
            since = last or earliest
            is_longer = last is None and row.decided_at < earliest
            return replace(row, since=since, is_longer=is_longer)
        case EnforcedState.NO_AGENT | EnforcedState.WAITING:
            return replace(row, since=row.decided_at)


def _last_otherwise(rows: Sequence[EnforcedRow], *, since: datetime) -> dict[int, datetime]:
    """By allocation the newest report, since then, that found another state than the present."""
    holding = [one.allocation for one in rows if one.standing.state is EnforcedState.HOLDS]
    held = truth(IS_READ_BACK & ~_IS_BREACH & ~Q(outcome=Outcome.DRIFTED))
    others = reports_of_row().filter(reported_at__gt=since).annotate(held=held)
    newest = others.exclude(held=OuterRef("holds")).order_by("-reported_at")
    found = (
        Allocation.objects.filter(pk__in=[row.allocation for row in rows])
        .annotate(holds=truth(Q(pk__in=holding)))
        .annotate(last=Subquery(newest.values("reported_at")[:1]))
    )
    return {pk: at for pk, at in found.order_by().values_list("pk", "last") if at is not None}
