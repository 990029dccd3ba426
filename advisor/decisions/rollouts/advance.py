"""Look at a rollout: go on to its next stage, roll it back, wait, or say what it brought."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta

import numpy as np
from django.db import transaction
from django.db.models import Q, QuerySet

from advisor.core.enumeration import clauses
from advisor.core.rollout import PolicyStage, Step, next_step
from advisor.core.rollout_guard import Against, Guarded, judge
from advisor.decisions.decide import take_back
from advisor.decisions.documents import publish_documents
from advisor.decisions.rollouts.begin import terms_of
from advisor.decisions.rollouts.changes import BY_ITSELF, note
from advisor.errors import DecisionRefused
from advisor.history.policy_on_host import HostLink, Link
from advisor.history.policy_state import host_links
from advisor.history.rollout_figures import watched_hosts
from advisor.models import PolicyRollout, PredictionScore, Resource, RolloutHost, RolloutTerms

SCORED_FOR = timedelta(hours=26)
"""A prediction is scored on the first day; after it the state stays."""
_IN_FORCE = (Link.READ_BACK, Link.MEASURED)
UNDER_WAY = Q(state=PolicyStage.ROLLING_OUT) | Q(guarded=True, guarded_until=None)
_PROVEN = (PolicyStage.IN_FORCE, PolicyStage.VERIFIED, PolicyStage.INEFFECTIVE)


def open_rollouts(*, now: datetime) -> QuerySet[PolicyRollout]:
    """Those that something can still become of."""
    over = [one.value for one in PolicyStage if one.is_over]
    return PolicyRollout.objects.filter(UNDER_WAY | Q(started_at__gt=now - SCORED_FOR)).exclude(
        state__in=over
    )


@transaction.atomic
def advance(*, rollout: PolicyRollout, now: datetime) -> PolicyRollout:
    """Bring one rollout up to date; safe to run again, and changes nothing while it is stopped."""
    found = held_rollout(rollout)
    terms = terms_of(found.organisation)
    if PolicyStage(found.state).is_over or terms.stopped_at is not None:
        return found
    if found.settled_at is None:
        _settle(found, now)
    if found.settled_at is not None and found.is_watched:
        _guard(found, terms, now)
    if found.state in _PROVEN and not found.is_watched:
        _verify(found, now)
    return found


def held_rollout(rollout: PolicyRollout) -> PolicyRollout:
    """The row as it is now, which nobody else changes until this transaction ends."""
    # In the order of those who decide: the resource first.
    Resource.objects.select_for_update(no_key=True).get(pk=rollout.policy.resource_id)
    rows = PolicyRollout.objects.select_for_update(of=("self",))
    return rows.select_related("policy__resource", "former", "organisation").get(pk=rollout.pk)


def _settle(rollout: PolicyRollout, now: datetime) -> None:
    """Note since when all hosts of the stage have it in force, or which do not yet."""
    links = host_links([rollout.policy], now=now)[rollout.policy_id]
    if rollout.is_partial:
        given = rollout.hosts.filter(released_at__isnull=False).values_list("host", flat=True)
        links = {host: links[host] for host in given if host in links}
    gaps = [one.gap for one in links.values() if not _is_in_force(one)]
    if not links and rollout.policy.allocations:
        gaps = ["no host with an agent is in this stage"]
    rollout.waits_for = clauses(gaps)
    if not gaps:
        rollout.settled_at = now
        if rollout.is_at_last_stage and rollout.state == PolicyStage.ROLLING_OUT:
            why = "all hosts have applied and read it back"
            note(rollout, PolicyStage.IN_FORCE, who=BY_ITSELF, why=why, now=now)
    rollout.save()


def _is_in_force(link: HostLink) -> bool:
    return link.link in _IN_FORCE


def _guard(rollout: PolicyRollout, terms: RolloutTerms, now: datetime) -> None:
    """Judge the stage by what was measured since it was in force, and act on it."""
    assert rollout.settled_at is not None
    guards = guards_of(rollout, stage_s=terms.stage_s, now=now)
    rollout.guards = [asdict(one) for one in guards]
    lasted_s = (now - rollout.settled_at).total_seconds()
    found = next_step(guards, lasted_s=lasted_s, pace=terms.pace, is_last=rollout.is_at_last_stage)
    rollout.waits_for = found.reason if found.step is Step.WAIT else ""
    rollout.save()
    match found.step:
        case Step.ROLL_BACK:
            _take_back(rollout, found.reason, now)
        case Step.GO_ON:
            next_stage(rollout, who=BY_ITSELF, why=found.reason, now=now)
        case Step.WAIT:
            pass


def _take_back(rollout: PolicyRollout, why: str, now: datetime) -> None:
    try:
        with transaction.atomic():
            take_back(rollout=rollout, why=why, now=now)
    except DecisionRefused as error:
        rollout.waits_for = f"{why}, but it cannot be taken back: {error}"
        rollout.save()
    else:
        rollout.refresh_from_db()


def next_stage(rollout: PolicyRollout, *, who: str, why: str, now: datetime) -> None:
    """Give the version to the hosts of the next stage; after the last one the guard ends."""
    if rollout.is_at_last_stage:
        rollout.guarded_until, rollout.waits_for = now, ""
        note(rollout, PolicyStage(rollout.state), who=who, why=why, now=now)
        return
    rollout.stage += 1
    rollout.published_at, rollout.settled_at = now, None
    rollout.guards, rollout.waits_for = [], ""
    note(rollout, PolicyStage.ROLLING_OUT, who=who, why=why, now=now)
    rows = rollout.hosts.filter(stage__lte=rollout.stage, released_at=None)
    rows.update(released_at=now)
    publish_documents(resource=rollout.policy.resource, now=now)


def guards_of(rollout: PolicyRollout, *, stage_s: float, now: datetime) -> list[Guarded]:
    """What is known of the present stage; empty before its first whole window."""
    watched = watched_hosts(rollout, stage_s=stage_s, now=now)
    if watched is None:
        return []
    stages = dict(RolloutHost.objects.filter(rollout=rollout).values_list("host__name", "stage"))
    last = len(rollout.sizes) - 1
    stage = np.array([stages.get(name, last) for name in watched.hosts])
    changed, later, earlier = (
        stage == rollout.stage, stage > rollout.stage, stage < rollout.stage,
    )  # fmt: skip
    against, compared = Against.BEFORE, np.zeros(len(stage), dtype=np.bool_)
    if later.any():
        against, compared = Against.UNCHANGED, later
    elif earlier.any():
        against, compared = Against.CHANGED_EARLIER, earlier
    return [
        judge(one, changed=changed, compared=compared, against=against) for one in watched.figures
    ]


def _verify(rollout: PolicyRollout, now: datetime) -> None:
    """Say whether the effect that was foretold was measured, once there is a score of it."""
    policy = rollout.policy
    score = PredictionScore.objects.filter(
        recommendation=policy.recommendation_id, began_at__gte=rollout.started_at
    ).first()
    if score is None or policy.recommendation_id is None:
        return
    state = PolicyStage.VERIFIED if score.held else PolicyStage.INEFFECTIVE
    if rollout.state != state:
        off = f"the worst rate is off by {100 * score.worst_error_ratio:.0f} % of the capacity"
        why = f"{score.windows} windows were compared with the prediction: {off}"
        note(rollout, state, who=BY_ITSELF, why=why, now=now)
