"""State rules of the ladder, and how policies come to hosts, as a policy file says."""

from __future__ import annotations

from datetime import datetime

from accounts.actor import Actor
from accounts.models import Organisation
from advisor.decisions.ladder_rules import state_rule
from advisor.decisions.policy_file.decide.document import LadderEntry, RolloutEntry
from advisor.decisions.policy_file.decide.ladder_checks import frozen_time
from advisor.decisions.rollouts.steer import set_terms
from advisor.models import LadderRule, Resource


def state_entry(
    organisation: Organisation, entry: LadderEntry, *, actor: Actor, now: datetime
) -> None:
    """State a rule; its resource is there."""
    own = Resource.objects.filter(organisation=organisation)
    row = LadderRule(
        organisation=organisation,
        name=entry.name,
        resource=own.get(name=entry.resource) if entry.resource else None,
        tier=entry.tier or "",
        kind=entry.kind or "",
        level=entry.level or "",
        windows=list(entry.windows),
        zone=entry.zone,
        frozen_from=frozen_time(entry.frozen_from, entry.zone),
        frozen_until=frozen_time(entry.frozen_until, entry.zone),
        frozen_because=entry.frozen_because,
        cooldown_s=entry.cooldown_s,
        most_changes_per_day=entry.most_per_day,
        second_person=entry.second_person,
    )
    state_rule(row, actor=actor, now=now)


def set_rollouts(
    organisation: Organisation, entry: RolloutEntry, *, actor: Actor, now: datetime
) -> None:
    """State all terms of rollouts."""
    set_terms(
        organisation=organisation,
        actor=actor,
        now=now,
        staged=entry.staged,
        stage_s=entry.stage_s,
        longest_s=entry.longest_s,
        goes_on_unsure=entry.unsure == "goes-on",
        settle_s=entry.settle_s,
    )
