"""State how many false alarms baselines may raise: one of them, or all of an organisation."""

from __future__ import annotations

import math

from accounts.models import Organisation
from advisor.core.detection.alarm_budget import ALARMS_PER_WEEK, LEAST_ALARMS_PER_WEEK
from advisor.errors import InventoryError
from advisor.models import Resource, SharedAlarmBudget


def state_own_budget(*, resource: Resource, alarms_per_week: float | None) -> None:
    """Give a resource a budget of its own; None takes it away: the percentile alone counts."""
    _check_budget(alarms_per_week)
    _save(resource, alarms_per_week=alarms_per_week, is_shared=False)


def follow_shared_budget(*, resource: Resource) -> None:
    """Take back what was stated: a part of the organisation's budget, or the usual one."""
    _save(resource, alarms_per_week=ALARMS_PER_WEEK, is_shared=True)


def state_shared_budget(*, organisation: Organisation, alarms_per_week: float | None) -> None:
    """Give all baselines of an organisation one budget; None: each has the usual one."""
    _check_budget(alarms_per_week)
    if alarms_per_week is None:
        SharedAlarmBudget.objects.filter(organisation=organisation).delete()
        return
    SharedAlarmBudget.objects.update_or_create(
        organisation=organisation, defaults={"alarms_per_week": alarms_per_week}
    )


def _save(resource: Resource, *, alarms_per_week: float | None, is_shared: bool) -> None:
    resource.alarms_per_week = alarms_per_week
    resource.shares_alarm_budget = is_shared
    resource.save(update_fields=["alarms_per_week", "shares_alarm_budget"])


def _check_budget(alarms_per_week: float | None) -> None:
    """Refuse what no number of days could keep."""
    if alarms_per_week is None:
        return
    if not (math.isfinite(alarms_per_week) and alarms_per_week >= LEAST_ALARMS_PER_WEEK):
        raise InventoryError(
            f"{alarms_per_week:g} false alarms a week are no budget; state at least "
            f"{LEAST_ALARMS_PER_WEEK:g}, or none"
        )
