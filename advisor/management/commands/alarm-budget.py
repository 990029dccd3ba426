"""`sluice alarm-budget`: how many false alarms all baselines together may raise."""  # noqa: N999  its name

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from accounts.management.product_command import Noted
from accounts.models import Organisation
from advisor.core.detection.alarm_budget import AlarmBudget
from advisor.decisions.alarm_budgets import state_shared_budget
from advisor.management.alarm_budget_option import budget_option
from advisor.management.product_command import ProductCommand
from advisor.pipeline.alarm_budgets import OwnBudgets, own_budgets, shared_budget
from advisor.pipeline.learn_thresholds import HISTORY


class Command(ProductCommand):
    help = "Show or state how many false alarms a week all baselines together may raise"

    def add_own_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "alarms_per_week", type=budget_option, nargs="?", metavar="N|none",
            help="in equal parts for all baselines that have no budget of their own; "
            "none: each has one a week; omitted: show it",
        )  # fmt: skip

    def noted(self, options: Mapping[str, Any]) -> Noted | None:
        asked = options["alarms_per_week"]
        if asked is None:
            return None
        return Noted(action="state alarm budget", subject=str(asked.alarms_per_week or "none"))

    def run(self, *, organisation: Organisation, **options: Any) -> None:
        asked = options["alarms_per_week"]
        if asked is not None:
            state_shared_budget(organisation=organisation, alarms_per_week=asked.alarms_per_week)
        shared = shared_budget(organisation.pk)
        own = own_budgets(organisation.pk, is_shared=shared is not None)
        if options["as_json"]:
            self.show_json(_row(shared, own))
            return
        if shared is not None:
            self.stdout.write(_shared_text(shared))
        self.stdout.write(_own_text(own))


def _row(shared: AlarmBudget | None, own: OwnBudgets) -> dict[str, Any]:
    return {
        "alarms_per_week": None if shared is None else shared.alarms_per_week,
        "shared_by": 0 if shared is None else shared.shared_by,
        "days_needed": None if shared is None else shared.days_needed,
        "is_guaranteed": None if shared is None else shared.days_needed <= HISTORY.days,
        "own_budgets": own.count,
        "own_alarms_per_week": own.alarms_per_week,
        "without_budget": own.without,
    }


def _shared_text(shared: AlarmBudget) -> str:
    needed = f"{shared.days_needed} days of history guarantee each its part"
    if shared.days_needed <= HISTORY.days:
        return f"{shared}; {needed}"
    return f"{shared}; {needed}, and {HISTORY.days} are kept, so it is estimated: no guarantee"


def _own_text(own: OwnBudgets) -> str:
    resources = f"{own.count} resource{'' if own.count == 1 else 's'}"
    without = f"; {own.without} without a budget" if own.without else ""
    return f"{own.alarms_per_week:g} a week over {resources}, each by itself{without}"
