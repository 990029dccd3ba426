"""State how many false alarms baselines may raise."""

from __future__ import annotations

import math

from advisor.core.detection.alarm_budget import LEAST_ALARMS_PER_WEEK
from advisor.errors import InventoryError
from advisor.models import Resource


def state_budget(*, resource: Resource, alarms_per_week: float | None) -> None:
    """Give a resource a budget of its own; None takes it away: the percentile alone counts."""
    check_budget(alarms_per_week)
    resource.alarms_per_week = alarms_per_week
    resource.save(update_fields=["alarms_per_week"])


def check_budget(alarms_per_week: float | None) -> None:
    """Refuse what no number of days could keep."""
    if alarms_per_week is None:
        return
    if not (math.isfinite(alarms_per_week) and alarms_per_week >= LEAST_ALARMS_PER_WEEK):
        raise InventoryError(
            f"{alarms_per_week:g} false alarms a week are no budget; state at least "
            f"{LEAST_ALARMS_PER_WEEK:g}, or none for the percentile alone"
        )
