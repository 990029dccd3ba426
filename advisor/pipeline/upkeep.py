"""Expire and delete what is too old."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError
from django.db.models import QuerySet

from advisor.models import (
    ComplianceRecord,
    LearntThreshold,
    Recommendation,
    RecommendationState,
    Resource,
    StatePoint,
)
from advisor.pipeline.failed_work import drop_old_failures
from advisor.pipeline.rejudge import drop_unwanted_notes, thin_checkpoints

log = logging.getLogger(__name__)

KEEP = timedelta(days=30)
"""Evaluated windows are kept as long as their samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """How many rows were ended or removed."""

    expired: int
    state_points: int
    compliance_records: int
    learnt_thresholds: int
    failures: int


def tidy(*, now: datetime) -> Tidied:
    """Expire undecided recommendations and remove what is beyond retention.

    That is windows, learnt thresholds, reports and failures: resource by resource, so that rows
    that cannot be removed now do not block others.
    """
    expired = Recommendation.objects.filter(
        state=RecommendationState.PROPOSED, expires_at__lte=now
    ).update(state=RecommendationState.EXPIRED)
    thin_checkpoints(now=now)
    drop_unwanted_notes()
    points = records = thresholds = 0
    for resource in Resource.objects.order_by("pk").values_list("pk", flat=True):
        points += _delete(StatePoint.objects.filter(resource=resource, at__lt=now - KEEP))
        records += _delete(
            ComplianceRecord.objects.filter(resource=resource, reported_at__lt=now - KEEP)
        )
        thresholds += _delete(
            LearntThreshold.objects.filter(resource=resource, since__lt=now - KEEP)
        )
    return Tidied(
        expired=expired,
        state_points=points,
        compliance_records=records,
        learnt_thresholds=thresholds,
        failures=drop_old_failures(now=now),
    )


def _delete(rows: QuerySet[Any]) -> int:
    """Delete the rows; 0 if the database refuses, which the next run tries again."""
    try:
        deleted, _ = rows.delete()
    except DatabaseError as error:
        facts = {"rows": rows.model.__name__, "reason": str(error)}
        log.warning("old rows not removed", extra=facts)
        return 0
    return deleted
