"""Storing advice: one open piece per topic, and nothing that was rejected before."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isclose
from typing import Any

from django.db import connection
from django.db.models import Q

from advisor.advice.kind import Kind, Stored
from advisor.advice.shared.decide.recommended_allocation import DRAFT
from advisor.models import (
    OPEN_STATES,
    Incident,
    Recommendation,
    RecommendationState,
    Resource,
)
from advisor.pipeline.recommendation_life import NEWER, supersede

VALID_FOR = timedelta(hours=24)
"""Undecided advice expires: the load it was computed for may be gone."""

DECIDED_FOR = timedelta(days=7)
"""So long the same advice without an incident is not given again after a decision."""

REJUDGING_GAP = "samples came late: windows that they change are judged again first"
"""Until then what was advised stays, and nothing is added: it may be the same in the end."""

# The first of two numbers of an advisory lock; nothing else in this database uses two.
_ADVISERS = 7_011_514
_NUMBERS = 2**31


def be_the_only_adviser(resource: Resource) -> None:
    """Lock advising on the resource until the end of this transaction; wait for others.

    The row of its status cannot be the lock: advice may take minutes, and the detector needs it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_ADVISERS, resource.pk % _NUMBERS])


def subject_of(kind: Kind[Any, Any], inputs: str) -> str:
    """Whom these inputs are about, where a resource may have several recommendations at a time."""
    return kind.subject(json.loads(inputs))


def same(kind: Kind[Any, Any], one: Stored, other: Stored) -> bool:
    """Whether two answers advise the same."""
    first, second = kind.essence(one), kind.essence(other)
    if isinstance(first, float) and isinstance(second, float):
        return isclose(first, second, rel_tol=kind.tolerance_ratio)
    return first == second


def rejected_before(
    *, resource: Resource, kind: Kind[Any, Any], found: str, now: datetime
) -> Recommendation | None:
    """A rejection of the same advice without an incident within the last days."""
    rejected = Recommendation.objects.filter(
        resource=resource,
        topic=kind.topic,
        state=RecommendationState.REJECTED,
        decided_at__gt=now - DECIDED_FOR,
    )
    return _said_before(kind, rejected, json.loads(found))


def approved_before(
    *, resource: Resource, kind: Kind[Any, Any], found: str, now: datetime
) -> Recommendation | None:
    """The same work, approved within the last days and not done yet."""
    approved = Recommendation.objects.filter(
        resource=resource,
        topic=kind.topic,
        state=RecommendationState.APPROVED,
        decided_at__gt=now - DECIDED_FOR,
    )
    return _said_before(kind, approved, json.loads(found))


def _said_before(
    kind: Kind[Any, Any], rows: Iterable[Recommendation], found: Stored
) -> Recommendation | None:
    """The first of these that advises the same."""
    return next((row for row in rows if same(kind, json.loads(row.answer), found)), None)


def open_advice(
    *, resource: Resource, kind: Kind[Any, Any], subject: str, now: datetime
) -> Recommendation | None:
    """The recommendation of this topic and subject that waits for a decision."""
    found = undecided(resource=resource, topic=kind.topic, subject=subject)
    return found if found is not None and found.expires_at > now else None


def undecided(*, resource: Resource, topic: str, subject: str) -> Recommendation | None:
    """The one of this topic and subject that nobody decided on, whether or not it expired."""
    rows = Recommendation.objects.undecided()
    return rows.filter(resource=resource, topic=topic, subject=subject).first()


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingAdvice:
    """What new advice on an incident stands beside, newest first.

    `waiting` are the open recommendations of the topic that are about the resource, `rejected`
    those that were rejected for the incident.
    """

    kind: Kind[Any, Any]
    waiting: tuple[Recommendation, ...]
    rejected: tuple[Recommendation, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.waiting or self.rejected)

    @property
    def draft(self) -> Recommendation | None:
        """The draft that waits for a decision."""
        return next((row for row in self.waiting if row.kind == DRAFT), None)

    def rejected_as(self, found: Stored) -> Recommendation | None:
        """The one that advised the same and was rejected."""
        return _said_before(self.kind, self.rejected, found)

    def open_as(self, found: Stored) -> Recommendation | None:
        """The open one, if it still holds."""
        current = next(iter(self.waiting), None)
        return current if current and _still_holds(self.kind, current, found) else None


def standing_advice(
    *, resource: Resource, kind: Kind[Any, Any], incident: Incident, now: datetime
) -> StandingAdvice:
    """That of a kind that is about resources, in one statement."""
    rows = list(
        Recommendation.objects.filter(
            Q(state__in=OPEN_STATES, subject="", expires_at__gt=now)
            | Q(state=RecommendationState.REJECTED, incident=incident),
            resource=resource,
            topic=kind.topic,
        ).defer("inputs")
    )
    return StandingAdvice(
        kind=kind,
        waiting=tuple(row for row in rows if row.state in OPEN_STATES),
        rejected=tuple(row for row in rows if row.state == RecommendationState.REJECTED),
    )


def keep(
    *,
    resource: Resource,
    kind: Kind[Any, Any],
    incident: Incident | None,
    inputs: str,
    found: str,
    now: datetime,
) -> Recommendation:
    """The open recommendation of this topic and subject; a new one if it says something else."""
    subject = subject_of(kind, inputs)
    current = undecided(resource=resource, topic=kind.topic, subject=subject)
    return keep_beside(
        current,
        resource=resource,
        kind=kind,
        incident=incident,
        inputs=inputs,
        found=found,
        now=now,
        subject=subject,
    )


def keep_beside(
    current: Recommendation | None,
    *,
    resource: Resource,
    kind: Kind[Any, Any],
    incident: Incident | None,
    inputs: str,
    found: str,
    now: datetime,
    subject: str = "",
) -> Recommendation:
    """`current`, the undecided one of topic and subject, or a new one in its place."""
    plain = json.loads(found)
    if current is not None:
        if current.expires_at > now and _still_holds(kind, current, plain):
            return current
        supersede(Recommendation.objects.filter(pk=current.pk), now=now, reason=NEWER)
    return Recommendation.objects.create(
        organisation_id=resource.organisation_id,
        resource=resource,
        incident=incident,
        topic=kind.topic,
        subject=subject,
        kind=plain.get("kind", kind.name),
        summary=plain["summary"],
        inputs=inputs,
        answer=found,
        created_at=now,
        expires_at=now + VALID_FOR,
    )


def _still_holds(kind: Kind[Any, Any], current: Recommendation, found: Stored) -> bool:
    """Whether it advises the same by the same model: another one may tell its reasons anew."""
    answer = json.loads(current.answer)
    return bool(answer["model_version"] == found["model_version"]) and same(kind, answer, found)
