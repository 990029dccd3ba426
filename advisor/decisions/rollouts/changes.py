"""Change the state or stage of a policy, and keep who did it, when and why."""

from __future__ import annotations

from datetime import datetime

from advisor.core.rollout import PolicyStage
from advisor.models import Policy, PolicyChange, PolicyRollout, Resource

BY_ITSELF = "the rollout"
"""Who changes what no person decided."""


def note(rollout: PolicyRollout, state: PolicyStage, *, who: str, why: str, now: datetime) -> None:
    """Bring the rollout into this state, or into its next stage in the same one."""
    rollout.state = state
    rollout.save()
    PolicyChange.objects.create(
        organisation=rollout.organisation,
        policy=rollout.policy,
        state=state,
        stage=rollout.stage,
        at=now,
        who=who,
        why=why,
    )


def leave(
    resource: Resource, policy: Policy, state: PolicyStage, *, who: str, why: str, now: datetime
) -> None:
    """End what is still open of the versions before this one."""
    over = [one.value for one in PolicyStage if one.is_over]
    rows = PolicyRollout.objects.filter(
        policy__resource=resource, policy__version__lt=policy.version
    )
    for rollout in rows.exclude(state__in=over).select_related("policy", "organisation"):
        note(rollout, state, who=who, why=why, now=now)
