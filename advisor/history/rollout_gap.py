"""Why advice on a policy waits: hosts are still being given a version, or its guard watches it."""

from __future__ import annotations

from django.db.models import F, QuerySet
from django.db.models.functions import JSONObject

from advisor.core.rollout import PolicyStage
from advisor.models import PolicyRollout, Resource

PLACE = JSONObject(version=F("policy__version"), stage=F("stage"), sizes=F("sizes"))
"""What `rollout_gap_text` says of one."""


def watched_rollouts() -> QuerySet[PolicyRollout]:
    """Those of which a guard has still to say that they harm nobody; none that no host gets."""
    over = [one.value for one in PolicyStage if one.is_over]
    rows = PolicyRollout.objects.filter(guarded=True, guarded_until=None)
    return rows.exclude(state__in=over).exclude(sizes=[0])


def rollout_gap(resource: Resource) -> str:
    """Why no other version is advised on the resource; empty where none is watched."""
    rows = watched_rollouts().filter(policy__resource=resource).order_by("-policy__version")
    place = rows.values_list(PLACE, flat=True).first()
    return rollout_gap_text(**place) if place else ""


def rollout_gap_text(*, version: int, stage: int, sizes: list[int]) -> str:
    return (
        f"version {version} of the policy still rolls out, in stage {stage + 1} of {len(sizes)}, "
        "and its guard has not ended"
    )
