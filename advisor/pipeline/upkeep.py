"""Expire and delete what is too old."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import DatabaseError

from advisor.history.level_store import KEPT_FOR, drop_points
from advisor.models import (
    ComplianceRecord,
    EarlierStates,
    LearntSizeTerm,
    LearntThreshold,
    Resource,
)
from advisor.pipeline.failed_work import drop_old_failures
from advisor.pipeline.recommendation_life import expire_and_wake
from advisor.pipeline.rejudge import drop_unwanted_notes, thin_checkpoints

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """How many rows were ended or removed."""

    expired: int
    levels: int
    compliance_records: int
    learnt_thresholds: int
    failures: int


def tidy(*, now: datetime) -> Tidied:
    """Expire undecided recommendations and remove what is beyond retention.

    Rows of resources go one by one, so that those that cannot be removed now block no others.
    """
    expired = expire_and_wake(now=now)
    thin_checkpoints(now=now)
    drop_unwanted_notes()
    records = thresholds = 0
    for resource in Resource.objects.order_by("pk").values_list("pk", flat=True):
        records += _tried(_drop_records, resource=resource, before=now - KEPT_FOR)
        thresholds += _tried(_drop_thresholds, resource=resource, before=now - KEPT_FOR)
        _tried(_drop_size_terms, resource=resource, before=now - KEPT_FOR)
        _tried(_drop_earlier_states, resource=resource, before=now - KEPT_FOR)
    return Tidied(
        expired=expired,
        levels=_tried(drop_points, before=now - KEPT_FOR),
        compliance_records=records,
        learnt_thresholds=thresholds,
        failures=drop_old_failures(now=now),
    )


def _drop_earlier_states(*, resource: int, before: datetime) -> int:
    return EarlierStates.objects.filter(resource=resource, until__lt=before).delete()[0]


def _drop_records(*, resource: int, before: datetime) -> int:
    old = ComplianceRecord.objects.filter(resource=resource, reported_at__lt=before)
    deleted, _ = old.delete()
    return deleted


def _drop_thresholds(*, resource: int, before: datetime) -> int:
    deleted, _ = LearntThreshold.objects.filter(resource=resource, since__lt=before).delete()
    return deleted


def _drop_size_terms(*, resource: int, before: datetime) -> int:
    """All but the newest of before, which still held then."""
    old = LearntSizeTerm.objects.filter(resource=resource, since__lt=before).order_by("-since")
    deleted, _ = LearntSizeTerm.objects.filter(pk__in=[one.pk for one in old[1:]]).delete()
    return deleted


def _tried(drop: Callable[..., int], **which: Any) -> int:
    """What was dropped; 0 if the database refuses, which the next run tries again."""
    try:
        return drop(**which)
    except DatabaseError as error:
        facts = {"step": drop.__name__, "reason": str(error)}
        log.warning("old rows not removed", extra=facts)
        return 0
