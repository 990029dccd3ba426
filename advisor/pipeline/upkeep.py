"""Expire and delete what is too old."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError

from advisor.history.level_store import drop_points
from advisor.models import (
    ComplianceRecord,
    Recommendation,
    RecommendationState,
    Resource,
)
from advisor.pipeline.failed_work import drop_old_failures

log = logging.getLogger(__name__)

KEEP = timedelta(days=30)
"""Evaluated windows are kept as long as their samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """How many rows were ended or removed."""

    expired: int
    levels: int
    compliance_records: int
    failures: int


def tidy(*, now: datetime) -> Tidied:
    """Expire undecided recommendations and remove windows, reports and failures beyond retention.

    Reports go resource by resource, so that rows that cannot be removed now do not block others.
    """
    expired = Recommendation.objects.filter(
        state=RecommendationState.PROPOSED, expires_at__lte=now
    ).update(state=RecommendationState.EXPIRED)
    records = 0
    for resource in Resource.objects.order_by("pk").values_list("pk", flat=True):
        records += _tried(_drop_records, resource=resource, before=now - KEEP)
    return Tidied(
        expired=expired,
        levels=_tried(drop_points, before=now - KEEP),
        compliance_records=records,
        failures=drop_old_failures(now=now),
    )


def _drop_records(*, resource: int, before: datetime) -> int:
    old = ComplianceRecord.objects.filter(resource=resource, reported_at__lt=before)
    deleted, _ = old.delete()
    return deleted


def _tried(drop: Callable[..., int], **which: Any) -> int:
    """What was dropped; 0 if the database refuses, which the next run tries again."""
    try:
        return drop(**which)
    except DatabaseError as error:
        facts = {"step": drop.__name__, "reason": str(error)}
        log.warning("old rows not removed", extra=facts)
        return 0
