"""From an incident to a recommendation, or to the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Exists, OuterRef, Subquery
from django.db.models.functions import JSONObject

from accounts.models import Organisation
from advisor.advice.policy.decide.policy_advice import MODEL_VERSION, Choice, choose, explain
from advisor.advice.policy.gather import policy_inputs
from advisor.advice.policy.kind import POLICY
from advisor.advice.recommendation_store import (
    REJUDGING_GAP,
    StandingAdvice,
    be_the_only_adviser,
    keep_beside,
    standing_advice,
    undecided,
)
from advisor.advice.shared.decide.recommended_allocation import DRAFT
from advisor.core.canonical import dumps, to_plain
from advisor.core.detection.maintenance_windows import MaintenanceWindow, Muting
from advisor.core.explanation.answer import InsufficientData, NoChange
from advisor.history.rollout_gap import PLACE, rollout_gap_text, watched_rollouts
from advisor.history.stated_pools import pool_terms
from advisor.models import (
    Allocation,
    Incident,
    Policy,
    Recommendation,
    Resource,
    ResourceStatus,
    State,
)
from advisor.pipeline.muting import (
    comes_from_outside,
    maintenance_windows_beside,
    maintenance_windows_in,
    muting_of,
)
from advisor.pipeline.recommendation_life import supersede

RECENT = timedelta(hours=24)
"""An incident that ended longer ago calls for no advice any more."""

CALM_GAP = "it was not congested in the last 24 hours"
UNKNOWN_GAP = "whether it is congested is not known: "
NEVER_LOOKED = "nobody has looked at it"
STALLED_GAP = "it stalled: no share, limit or reservation makes I/O complete"

OUTSIDE = "the load comes from outside"

NOT_LOOKED_GAP = "load from outside has not been looked for yet"


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
    be_the_only_adviser(resource)
    newest = _newest(resource)
    incident, policy = newest.incident, newest.policy
    status = _status_of(resource, incident)
    if status.is_rejudging:
        return _save_gap(status, REJUDGING_GAP)
    if incident is None or (incident.ended_at is not None and incident.ended_at < now - RECENT):
        return _save_gap(status, calm_gap(status))
    standing = standing_advice(resource=resource, kind=POLICY, incident=incident, now=now)
    muting = muting_of(incident, newest.planned, now=now)
    if reason := newest.rollout_gap or _held_up(status, incident, muting, standing.draft, now):
        return _save_gap(status, reason)
    until = status.judged_until or now
    look = partial(
        policy_inputs, resource, incident,
        policy=policy, pools=pool_terms(resource) if newest.has_pools else (),
        until=until, now=now,
    )  # fmt: skip
    # What is told of a policy costs more than to choose it, and most looks choose what stands.
    # Limits on top of a policy in force are weighed against the past.
    is_likely_new = standing.is_empty or policy is not None
    inputs = look(with_past=is_likely_new)
    chosen = choose(inputs)
    if not is_likely_new and isinstance(_settled(chosen, standing), Choice):
        inputs = look(with_past=True)
        chosen = choose(inputs)
    settled = _settled(chosen, standing)
    if isinstance(settled, Recommendation):
        _save_gap(status, "")
        return settled
    if isinstance(settled, str):
        return _save_gap(status, settled)
    found = dumps(explain(settled))
    # Only now, because the detector needs the row. Meanwhile judging again may have begun, and a
    # person may have composed a draft.
    status = ResourceStatus.objects.select_for_update().get(resource=resource)
    if status.is_rejudging:
        return _save_gap(status, REJUDGING_GAP)
    current = undecided(resource=resource, topic=POLICY.topic, subject="")
    if current is not None and current.kind == DRAFT and current.expires_at > now:
        return _save_gap(status, _waits(current))
    _save_gap(status, "")
    return keep_beside(
        current,
        resource=resource,
        kind=POLICY,
        incident=incident,
        inputs=dumps(inputs),
        found=found,
        now=now,
    )


def _settled(
    chosen: Choice | InsufficientData | NoChange, standing: StandingAdvice
) -> Choice | Recommendation | str:
    """The choice if it is new, else the open one that says it, or why nothing is said."""
    if not isinstance(chosen, Choice):
        return chosen.summary
    plain = {
        "model_version": MODEL_VERSION,
        "allocations": to_plain(chosen.policy),
        "pools": to_plain(chosen.setting.inputs.pools_after),
    }
    if rejected := standing.rejected_as(plain):
        return f"rejected as {rejected.pk}: {rejected.decision_reason}"
    return standing.open_as(plain) or chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class _Newest:
    """The newest incident with the status, and the maintenance windows of its organisation.

    `policy` says what the newest one grants since when. `has_pools`: workloads are in pools.
    `rollout_gap` is why advice waits for a version that rolls out, or empty.
    """

    incident: Incident | None = None
    policy: Policy | None = None
    planned: Sequence[MaintenanceWindow] = ()
    has_pools: bool = False
    rollout_gap: str = ""


def _newest(resource: Resource) -> _Newest:
    """What was found and stated of the resource, in one statement."""
    granted = Policy.objects.filter(resource=OuterRef("resource")).order_by("-version")
    plain = JSONObject(pk="pk", created_at="created_at", allocations="allocations", pools="pools")
    members = Allocation.objects.filter(resource=OuterRef("resource"), pool__isnull=False)
    watched = watched_rollouts().filter(policy__resource=OuterRef("resource"))
    incident = (
        Incident.objects.filter(resource=resource)
        .select_related("resource__status")
        .annotate(
            policy=Subquery(granted.values(plain=plain)[:1]),
            planned=maintenance_windows_beside(OuterRef("organisation")),
            has_pools=Exists(members),
            rolling_out=Subquery(watched.order_by("-policy__version").values(plain=PLACE)[:1]),
        )
        .order_by("-started_at")
        .first()
    )
    if incident is None:
        return _Newest()
    policy = None
    if incident.policy is not None:
        created_at = datetime.fromisoformat(incident.policy["created_at"])
        policy = Policy(resource=resource, **incident.policy | {"created_at": created_at})
    planned = maintenance_windows_in(incident.planned)
    place = incident.rolling_out
    return _Newest(
        incident=incident,
        policy=policy,
        planned=planned,
        has_pools=incident.has_pools,
        rollout_gap=rollout_gap_text(**place) if place else "",
    )


def _status_of(resource: Resource, incident: Incident | None) -> ResourceStatus:
    if incident is not None and hasattr(incident.resource, "status"):
        return incident.resource.status
    return ResourceStatus.objects.get_or_create(resource=resource)[0]


def _held_up(
    status: ResourceStatus,
    incident: Incident,
    muting: Muting,
    draft: Recommendation | None,
    now: datetime,
) -> str:
    """Why nothing is advised whatever was measured; empty if nothing speaks against it."""
    if muting.muted:
        return f"maintenance window: {muting.reason}"
    if status.state == State.STALLED or incident.peak_value is None:
        return STALLED_GAP
    return _outside(incident, now) or ("" if draft is None else _waits(draft))


def calm_gap(status: ResourceStatus) -> str:
    """Why there is no policy advice for a resource without a recent incident."""
    if status.state == State.UNKNOWN:
        return UNKNOWN_GAP + (status.why or NEVER_LOOKED)
    return CALM_GAP


def _outside(incident: Incident, now: datetime) -> str:
    """Why nothing is advised because of load from outside; empty if it is not."""
    if incident.external is None and incident.resource.traits.hides_load:
        return NOT_LOOKED_GAP
    if reason := comes_from_outside(incident):
        _withdraw(incident, now)
        return f"suspended, load from outside: {reason}"
    return ""


def _withdraw(incident: Incident, now: datetime) -> None:
    """Advice from before it was known that our own workloads are not the cause."""
    advised = Recommendation.objects.filter(incident=incident, topic=POLICY.topic, created_by=None)
    supersede(advised, now=now, reason=OUTSIDE)


def _waits(draft: Recommendation) -> str:
    return f"a draft, recommendation {draft.pk}, waits for a decision"


def _save_gap(status: ResourceStatus, reason: str) -> str:
    if status.advice_gap != reason:
        status.advice_gap = reason
        status.save(update_fields=["advice_gap"])
    return reason
