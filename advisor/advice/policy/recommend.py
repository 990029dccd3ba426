"""From an incident to a recommendation, or to the reason why there is none."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from django.db import transaction

from accounts.models import Organisation
from advisor.advice.policy.gather import policy_inputs
from advisor.advice.policy.kind import POLICY
from advisor.advice.recommendation_store import (
    be_the_only_adviser,
    keep,
    open_draft,
    rejected_before,
)
from advisor.core.canonical import dumps
from advisor.core.explanation.answer import AdviceOutcome
from advisor.models import (
    Incident,
    Recommendation,
    RecommendationState,
    Resource,
    ResourceStatus,
    State,
)
from advisor.pipeline.muting import comes_from_outside, maintenance_windows_of, muting_of

RECENT = timedelta(hours=24)
"""An incident that ended longer ago calls for no advice any more."""

CALM_GAP = "it was not congested in the last 24 hours"
UNKNOWN_GAP = "whether it is congested is not known: "
NEVER_LOOKED = "nobody has looked at it"
STALLED_GAP = "it stalled: no share, limit or reservation makes I/O complete"

NOT_LOOKED_GAP = "load from outside has not been looked for yet"
REJUDGING_GAP = "samples came late: windows that they change are judged again first"


def recommend_all(
    *, organisation: Organisation, now: datetime
) -> list[tuple[Resource, Recommendation | str]]:
    """Advice for every resource: a recommendation, or the reason why there is none."""
    resources = Resource.objects.filter(organisation=organisation)
    return [(resource, recommend(resource=resource, now=now)) for resource in resources]


@transaction.atomic
def recommend(*, resource: Resource, now: datetime) -> Recommendation | str:
    """The open recommendation for the resource's newest incident, or why there is none.

    Advice that says the same as an open recommendation changes nothing; advice that says
    something else supersedes it; advice that a person rejected for this incident is not repeated.
    """
    ResourceStatus.objects.get_or_create(resource=resource)
    be_the_only_adviser(resource)
    status = ResourceStatus.objects.get(resource=resource)
    if status.is_rejudging:
        return _save_gap(status, REJUDGING_GAP)
    incident = _newest_incident(resource, now)
    if incident is None:
        return _save_gap(status, calm_gap(status))
    muting = muting_of(incident, maintenance_windows_of(resource.organisation), now=now)
    if muting.muted:
        return _save_gap(status, f"maintenance window: {muting.reason}")
    if status.state == State.STALLED or incident.peak_value is None:
        return _save_gap(status, STALLED_GAP)
    if outside := _outside(incident):
        return _save_gap(status, outside)
    if draft := open_draft(resource, now):
        return _save_gap(status, _waits(draft))
    inputs = dumps(policy_inputs(resource, incident, judged_until=status.judged_until, now=now))
    found = POLICY.answer(inputs)
    plain = json.loads(found)
    # Only now, because the detector needs the row; a person may have composed a draft meanwhile.
    status = ResourceStatus.objects.select_for_update().get(resource=resource)
    if draft := open_draft(resource, now):
        return _save_gap(status, _waits(draft))
    if plain["outcome"] != AdviceOutcome.RECOMMENDATION:
        return _save_gap(status, plain["summary"])
    rejected = rejected_before(
        resource=resource, kind=POLICY, incident=incident, found=found, now=now
    )
    if rejected is not None:
        return _save_gap(status, f"rejected as {rejected.pk}: {rejected.decision_reason}")
    _save_gap(status, "")
    return keep(
        resource=resource,
        kind=POLICY,
        incident=incident,
        inputs=inputs,
        found=found,
        now=now,
    )


def calm_gap(status: ResourceStatus) -> str:
    """Why there is no policy advice for a resource without a recent incident."""
    if status.state == State.UNKNOWN:
        return UNKNOWN_GAP + (status.why or NEVER_LOOKED)
    return CALM_GAP


def _newest_incident(resource: Resource, now: datetime) -> Incident | None:
    newest = Incident.objects.filter(resource=resource).order_by("-started_at").first()
    if newest is None or (newest.ended_at is not None and newest.ended_at < now - RECENT):
        return None
    return newest


def _outside(incident: Incident) -> str:
    """Why nothing is advised because of load from outside; empty if it is not."""
    if incident.external is None and incident.resource.traits.hides_load:
        return NOT_LOOKED_GAP
    if reason := comes_from_outside(incident):
        _withdraw(incident)
        return f"suspended, load from outside: {reason}"
    return ""


def _withdraw(incident: Incident) -> None:
    """Advice from before it was known that our own workloads are not the cause."""
    incident.recommendations.filter(
        topic=POLICY.topic, state=RecommendationState.PROPOSED, created_by=None
    ).update(state=RecommendationState.SUPERSEDED)


def _waits(draft: Recommendation) -> str:
    return f"a draft, recommendation {draft.pk}, waits for a decision"


def _save_gap(status: ResourceStatus, reason: str) -> str:
    if status.advice_gap != reason:
        status.advice_gap = reason
        status.save(update_fields=["advice_gap"])
    return reason
