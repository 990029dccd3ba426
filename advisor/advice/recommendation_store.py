"""Storing advice: one open piece per topic, and nothing that was rejected before."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from math import isclose
from typing import Any

from advisor.advice.shared.decide.recommended_allocation import DRAFT
from advisor.advice.threshold.decide.threshold_advice import WORTH_RATIO
from advisor.models import Incident, Recommendation, RecommendationState, Resource, Topic

VALID_FOR = timedelta(hours=24)
"""Undecided advice expires: the load it was computed for may be gone."""

DECIDED_FOR = timedelta(days=7)
"""So long the same advice without an incident is not given again after a decision."""

Essence = Callable[[dict[str, Any]], object]

ESSENCE: dict[Topic, Essence] = {
    Topic.POLICY: lambda found: [
        [row[key] for key in ("allocation", "reservation", "limit", "shares")]
        for row in found["allocations"]
    ],
    Topic.THRESHOLD: lambda found: found["threshold_ms"],
    Topic.QUEUE_DEPTH: lambda found: [
        [row["host"], row["advised_queue_depth"]] for row in found["depths"]
    ],
    Topic.OFF_PEAK_WORK: lambda found: found["from_hour_utc"],
    Topic.PLACEMENT: lambda found: [
        [row["vdisks"], row["source"], row["target"], row.get("in_return", [])]
        for row in found["moves"]
    ],
    Topic.HOST_PLACEMENT: lambda found: [
        [[row["workload"], row["target"]] for row in found["moves"]],
        [row["workload"] for row in found["refused"]],
    ],
    Topic.LIMIT_CHECK: lambda found: [[row["name"], row["finding"]] for row in found["limits"]],
}
"""What advice says to do, without its evidence: the same essence is the same advice."""


def subject_of(topic: Topic, inputs: str) -> str:
    """Whom advice of this topic is about, where a resource may have several at a time."""
    if topic != Topic.LIMIT_CHECK:
        return ""
    workload: str = json.loads(inputs)["workload"]
    return workload


def same(topic: Topic, one: str, other: str) -> bool:
    """Whether two answers advise the same."""
    first, second = (ESSENCE[topic](json.loads(answer)) for answer in (one, other))
    if isinstance(first, float) and isinstance(second, float):
        # The fit moves a little with every window.
        return isclose(first, second, rel_tol=WORTH_RATIO)
    return first == second


def rejected_before(
    *, resource: Resource, topic: Topic, incident: Incident | None, found: str, now: datetime
) -> Recommendation | None:
    """A rejection of the same advice, for the same incident or within the last days."""
    rejected = Recommendation.objects.filter(
        resource=resource, topic=topic, state=RecommendationState.REJECTED
    )
    rejected = (
        rejected.filter(incident=incident)
        if incident
        else rejected.filter(decided_at__gt=now - DECIDED_FOR)
    )
    return next((row for row in rejected if same(topic, row.answer, found)), None)


def approved_before(
    *, resource: Resource, topic: Topic, found: str, now: datetime
) -> Recommendation | None:
    """The same work that somebody agreed to within the last days, and that is not done yet."""
    approved = Recommendation.objects.filter(
        resource=resource,
        topic=topic,
        state=RecommendationState.APPROVED,
        decided_at__gt=now - DECIDED_FOR,
    )
    return next((row for row in approved if same(topic, row.answer, found)), None)


def open_advice(
    *, resource: Resource, topic: Topic, subject: str, now: datetime
) -> Recommendation | None:
    """The recommendation of this topic and subject that waits for a decision."""
    return Recommendation.objects.filter(
        resource=resource,
        topic=topic,
        subject=subject,
        state=RecommendationState.PROPOSED,
        expires_at__gt=now,
    ).first()


def keep(
    *,
    resource: Resource,
    topic: Topic,
    incident: Incident | None,
    inputs: str,
    found: str,
    now: datetime,
) -> Recommendation:
    """The open recommendation of this topic and subject; a new one if it says something else."""
    subject = subject_of(topic, inputs)
    current = open_advice(resource=resource, topic=topic, subject=subject, now=now)
    if current is not None and _still_holds(topic, current, found):
        return current
    plain = json.loads(found)
    Recommendation.objects.filter(
        resource=resource, topic=topic, subject=subject, state=RecommendationState.PROPOSED
    ).update(state=RecommendationState.SUPERSEDED)
    return Recommendation.objects.create(
        organisation=resource.organisation,
        resource=resource,
        incident=incident,
        topic=topic,
        subject=subject,
        kind=plain.get("kind", topic),
        summary=plain["summary"],
        inputs=inputs,
        answer=found,
        created_at=now,
        expires_at=now + VALID_FOR,
    )


def _still_holds(topic: Topic, current: Recommendation, found: str) -> bool:
    """Whether it advises the same by the same model: another one may tell its reasons anew."""
    versions = [json.loads(text)["model_version"] for text in (current.answer, found)]
    return versions[0] == versions[1] and same(topic, current.answer, found)


def open_draft(resource: Resource, now: datetime) -> Recommendation | None:
    """The draft that waits for a decision; while it does, no other policy is recommended."""
    return Recommendation.objects.filter(
        resource=resource,
        topic=Topic.POLICY,
        kind=DRAFT,
        state=RecommendationState.PROPOSED,
        expires_at__gt=now,
    ).first()
