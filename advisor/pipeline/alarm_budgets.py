"""Which budget of false alarms the baseline of a resource has: its own, or a part of one."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from advisor.core.detection.alarm_budget import AlarmBudget
from advisor.models import Resource, SharedAlarmBudget, ThresholdMode


def shared_budget(organisation_id: int) -> AlarmBudget | None:
    """That of the organisation, in equal parts; None if none is stated.

    Those that share it are judged by a baseline, have no budget of their own, and still exist.
    """
    stated = SharedAlarmBudget.objects.filter(organisation=organisation_id).first()
    if stated is None:
        return None
    count = _judged_by_baseline(organisation_id).filter(shares_alarm_budget=True).count()
    return AlarmBudget(alarms_per_week=stated.alarms_per_week, shared_by=max(count, 1))


def budget_of(resource: Resource, shared: AlarmBudget | None) -> AlarmBudget | None:
    """Its own, or its part of what its organisation shares; None for the percentile alone."""
    if shared is not None and resource.shares_alarm_budget:
        return shared
    own = resource.alarms_per_week
    return None if own is None else AlarmBudget(alarms_per_week=own)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnBudgets:
    """How many baselines have a budget of their own, what they may raise, and who has none."""

    count: int
    alarms_per_week: float
    without: int


def own_budgets(organisation_id: int, *, is_shared: bool) -> OwnBudgets:
    """Those beside what the organisation shares, or all if it shares none."""
    rows = _judged_by_baseline(organisation_id)
    if is_shared:
        rows = rows.filter(shares_alarm_budget=False)
    found = list(rows.values_list("alarms_per_week", flat=True))
    known = [one for one in found if one is not None]
    return OwnBudgets(
        count=len(known), alarms_per_week=sum(known), without=len(found) - len(known)
    )


def _judged_by_baseline(organisation_id: int) -> QuerySet[Resource]:
    return Resource.objects.filter(
        organisation=organisation_id, threshold_mode=ThresholdMode.BASELINE, vanished_at=None
    )
