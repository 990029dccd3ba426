"""Keep failed work with its reason, and note when it succeeds again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet

from advisor.models import FailedWork, Recommendation, Resource

MOST_ROWS = 1_000
"""Kept per organisation, and for the installation; beyond, what was solved or is oldest goes."""
SOLVED_KEPT = timedelta(days=7)
UNTRIED_KEPT = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a task works on: one row, or the whole installation if all are None."""

    organisation: int | None = None
    resource: int | None = None
    recommendation: int | None = None


INSTALLATION = Subject()


def keep_failure(*, task: str, subject: Subject, reason: str, now: datetime) -> None:
    """Count one more failure of this work; nothing is kept of a subject that is gone."""
    owned = _owned(subject)
    if owned is None or _count_again(task, owned, reason, now):
        return
    try:
        with transaction.atomic():
            FailedWork.objects.create(
                task=task, **_columns(owned), reason=reason, first_at=now, last_at=now
            )
    except IntegrityError:
        # Another process has just made the row.
        _count_again(task, owned, reason, now)
        return
    _drop_beyond_bound(owned.organisation)


def solve(*, task: str, subject: Subject, now: datetime) -> bool:
    """Note that this work succeeded; whether it had failed before."""
    open_rows = FailedWork.objects.filter(task=task, solved_at=None, **_filters(subject))
    return bool(open_rows.update(solved_at=now))


def drop_old_failures(*, now: datetime) -> int:
    """Delete what was solved a week ago or not tried for a month; the number of rows."""
    is_old = Q(solved_at__lt=now - SOLVED_KEPT) | Q(last_at__lt=now - UNTRIED_KEPT)
    deleted, _ = FailedWork.objects.filter(is_old).delete()
    return deleted


def _owned(subject: Subject) -> Subject | None:
    """The subject with its organisation; None if its row is gone."""
    if subject.organisation is not None or subject == INSTALLATION:
        return subject
    rows: QuerySet[Any]
    if subject.resource is not None:
        rows = Resource.objects.filter(pk=subject.resource)
    elif subject.recommendation is not None:
        rows = Recommendation.objects.filter(pk=subject.recommendation)
    else:
        return None
    organisation = rows.values_list("organisation", flat=True).first()
    if organisation is None:
        return None
    return Subject(
        organisation=organisation,
        resource=subject.resource,
        recommendation=subject.recommendation,
    )


def _count_again(task: str, subject: Subject, reason: str, now: datetime) -> bool:
    found = FailedWork.objects.filter(task=task, **_columns(subject))
    return bool(found.update(times=F("times") + 1, last_at=now, reason=reason, solved_at=None))


def _columns(subject: Subject) -> dict[str, int | None]:
    return {
        "organisation_id": subject.organisation,
        "resource_id": subject.resource,
        "recommendation_id": subject.recommendation,
    }


def _filters(subject: Subject) -> dict[str, int | None]:
    """As the columns; the organisation follows from a resource or recommendation."""
    columns = _columns(subject)
    if subject.organisation is None and subject != INSTALLATION:
        del columns["organisation_id"]
    return columns


def _drop_beyond_bound(organisation: int | None) -> None:
    rows = FailedWork.objects.filter(organisation=organisation)
    # Open rows come first, the newest before the others.
    kept = rows.order_by(F("solved_at").asc(nulls_first=True), "-last_at", "-pk")
    beyond = list(kept.values_list("pk", flat=True)[MOST_ROWS:])
    if beyond:
        FailedWork.objects.filter(pk__in=beyond).delete()
