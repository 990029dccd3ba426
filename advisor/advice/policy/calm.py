"""Resources that were not congested lately: no policy is called for, and the reason is known."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, TextField, Value, When
from django.db.models.functions import Concat

from advisor.advice.policy.recommend import (
    CALM_GAP,
    NEVER_LOOKED,
    RECENT,
    UNKNOWN_GAP,
    calm_gap,
)
from advisor.history.recordset import update_rows
from advisor.models import Incident, Resource, ResourceStatus, State


def congested_lately(now: datetime) -> QuerySet[Resource]:
    """The resources with an incident that may call for a policy."""
    return Resource.objects.filter(Exists(_recent(now).filter(resource=OuterRef("pk"))))


@transaction.atomic
def note_calm(now: datetime) -> int:
    """Say so of all others where it is not said; the number of resources.

    What the detector is writing at this moment is left for the next time.
    """
    text = TextField()
    # As `ResourceStatus.why` has it.
    why = Case(
        When(reason="", silence="", then=Value(NEVER_LOOKED)),
        When(reason="", then=F("silence")),
        When(silence="", then=F("reason")),
        default=Concat("reason", Value("; "), "silence", output_field=text),
        output_field=text,
    )
    unknown = Concat(Value(UNKNOWN_GAP, output_field=text), why, output_field=text)
    gap = Case(When(state=State.UNKNOWN, then=unknown), default=Value(CALM_GAP), output_field=text)
    calm = ResourceStatus.objects.filter(
        ~Exists(_recent(now).filter(resource=OuterRef("resource")))
    ).exclude(advice_gap=gap)
    rows = list(calm.select_for_update(skip_locked=True, of=("self",)).order_by("pk"))
    for row in rows:
        row.advice_gap = calm_gap(row)
    update_rows(rows, ["advice_gap"])
    return len(rows)


def _recent(now: datetime) -> QuerySet[Incident]:
    return Incident.objects.filter(Q(ended_at=None) | Q(ended_at__gte=now - RECENT)).order_by()
