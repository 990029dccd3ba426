"""The tiers that people give workloads."""

from __future__ import annotations

from accounts.models import Organisation
from advisor.core.resource import Tier
from advisor.models import Workload


def stated_workload(organisation: Organisation, name: str, tier: str | None) -> Workload:
    """The workload of this name, created if missing, in the tier; None keeps its tier."""
    workload, _ = Workload.objects.get_or_create(organisation=organisation, name=name)
    if tier is not None and (workload.tier != tier or not workload.tier_stated):
        _save(workload, tier=tier, is_stated=True)
    return workload


def withdraw_tier(organisation: Organisation, name: str) -> None:
    """Nobody gives the workload a tier any more; rules do when it is looked next."""
    for workload in Workload.objects.filter(organisation=organisation, name=name):
        _save(workload, tier=Tier.MEDIUM, is_stated=False)


def _save(workload: Workload, *, tier: str, is_stated: bool) -> None:
    workload.tier, workload.tier_stated, workload.tier_reason = tier, is_stated, ""
    workload.save(update_fields=["tier", "tier_stated", "tier_reason"])
