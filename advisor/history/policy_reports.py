"""What agents report of policies: applied, read back from the kernel, and measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import and_
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, F, Max, Q

from advisor.core.compliance import Verdict
from advisor.core.quantity import format_rate
from advisor.models import ComplianceRecord, Policy
from enforcers.contract import Outcome

REPORT_GRACE = timedelta(minutes=3)
"""An agent without a report for this long is silent."""
MEASURED_FOR = timedelta(minutes=5)
"""Earlier windows do not tell whether a policy holds at present."""
ENOUGH_WINDOWS = 3
"""So many windows without a breach show that a policy holds; each is one report's."""

HELD = (Outcome.APPLIED, Outcome.UNCHANGED, Outcome.REPLACED, Outcome.DRIFTED)
"""With one of these outcomes the kernel has the settings of the policy."""
_AGREE = (Verdict.MET, Verdict.NO_DEMAND)
BREACHES = (Verdict.LIMIT_EXCEEDED, Verdict.OVER_THROTTLED, Verdict.RESERVATION_UNMET)
# Of these two the kernel may show something though nobody asked for anything.
_ONLY_IF_APPLIED = ("reservation", "shares")

# A dry run reports what it would do, and applies nothing.
IS_READ_BACK = reduce(
    and_,
    (
        Q(**{f"applied__{control}": None})
        | Q(**{f"read_back__{control}": F(f"applied__{control}")})
        for control in _ONLY_IF_APPLIED
    ),
    Q(outcome__in=HELD, applied__isnull=False, read_back__limit=F("applied__limit")),
)
"""Of a record: after that pass the kernel showed what was applied."""


def is_applied(record: ComplianceRecord) -> bool:
    """Whether the agent took the kernel to have the policy's settings after that pass."""
    return record.outcome in HELD and record.applied is not None


def unlike(record: ComplianceRecord, unit: str) -> str:
    """What the kernel shows instead of what was applied; empty if it shows just that."""
    if record.read_back is None:
        return "the kernel shows nothing of it"
    return next(_differences(record.applied or {}, record.read_back, unit), "")


def _differences(applied: dict[str, Any], shown: dict[str, Any], unit: str) -> Iterator[str]:
    for control in (*_ONLY_IF_APPLIED, "limit"):
        wanted, found = applied.get(control), shown.get(control)
        if found == wanted or (wanted is None and control in _ONLY_IF_APPLIED):
            continue
        words = [_words(control, value, unit) for value in (found, wanted)]
        yield f"the kernel shows {words[0]}, applied was {words[1]}"


def _words(control: str, value: float | None, unit: str) -> str:
    if value is None:
        return f"no {control}"
    return f"{control} {f'{value:g}' if control == 'shares' else format_rate(value, unit)}"


def newest_records(
    policies: Sequence[Policy], now: datetime
) -> dict[tuple[int | None, str], ComplianceRecord]:
    """The newest fresh record by policy and allocation."""
    rows = ComplianceRecord.objects.filter(
        policy__in=policies, reported_at__gt=now - REPORT_GRACE
    ).order_by("policy_id", "allocation", "-reported_at")
    fields = ("policy_id", "allocation", "reported_at", "outcome", "reason", "applied")
    newest = rows.distinct("policy_id", "allocation").only(
        *fields, "read_back", "verdict", "verdict_reason"
    )
    return {(row.policy_id, row.allocation): row for row in newest}


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """The windows in which an allocation was in force and judged; `breaches` newest first.

    `is_shown`: in one at least it got what it is entitled to. `until` is the end of the newest.
    """

    judged: int = 0
    is_shown: bool = False
    breaches: tuple[str, ...] = ()
    until: datetime | None = None


def judged_windows(
    policies: Sequence[Policy], now: datetime
) -> dict[tuple[int | None, str], Windows]:
    """The latest windows by policy and allocation.

    A window counts if the agent found the policy untouched at its end, and the kernel shows it.
    """
    judged = Q(verdict__in=(*_AGREE, *BREACHES))
    rows = (
        ComplianceRecord.objects.filter(
            IS_READ_BACK,
            policy__in=policies,
            outcome=Outcome.UNCHANGED,
            reported_at__gt=now - MEASURED_FOR,
        )
        .order_by()
        .values("policy_id", "allocation")
        .annotate(
            judged=Count("pk", filter=judged),
            met=Count("pk", filter=Q(verdict=Verdict.MET)),
            until=Max("reported_at", filter=judged),
            breaches=ArrayAgg(
                "verdict_reason", filter=Q(verdict__in=BREACHES), order_by="-reported_at"
            ),
        )
    )
    return {
        (row["policy_id"], row["allocation"]): Windows(
            judged=row["judged"],
            is_shown=row["met"] > 0,
            breaches=tuple(row["breaches"] or ()),
            until=row["until"],
        )
        for row in rows
    }
