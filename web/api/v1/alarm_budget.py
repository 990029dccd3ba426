"""How many false alarms a week all baselines of the organisation may raise together."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router, Schema
from pydantic import Field

from accounts.models import Organisation
from accounts.roles import Action
from advisor.decisions.alarm_budgets import state_shared_budget
from advisor.pipeline.alarm_budgets import own_budgets, shared_budget
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import Asked
from web.api.v1.noted import noted
from web.api.v1.resources import Alarms
from web.api.v1.version_tag import require_match, tag_of, tagged

router = Router(tags=["alarm budget"])


class StatedAlarmBudget(Asked):
    alarms_per_week: Alarms | None = Field(description="null: each baseline has one of its own")


class AlarmBudgetState(Schema):
    """The budget of all, with those of resources beside it."""

    alarms_per_week: float | None
    shared_by: int
    days_needed: int | None = Field(description="of history, to guarantee each its part")
    own_budgets: int
    own_alarms_per_week: float
    without_budget: int


@router.get("", response=AlarmBudgetState)
def get_alarm_budget(request: HttpRequest, response: HttpResponse) -> Any:
    """Read the budget of false alarms."""
    return _plain(asker_of(request).membership.organisation, response)


@router.put("", response=AlarmBudgetState)
def state_alarm_budget(
    request: HttpRequest, asked: StatedAlarmBudget, response: HttpResponse
) -> Any:
    """State the budget of false alarms, in equal parts for baselines without one of their own."""
    workspace = acting(request, Action.DECIDE)
    organisation = workspace.membership.organisation
    Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    require_match(request, _tag(organisation))
    state_shared_budget(organisation=organisation, alarms_per_week=asked.alarms_per_week)
    noted(workspace, "state alarm budget", str(asked.alarms_per_week or "none"))
    return _plain(organisation, response)


def _tag(organisation: Organisation) -> str:
    shared = shared_budget(organisation.pk)
    return tag_of(None if shared is None else shared.alarms_per_week)


def _plain(organisation: Organisation, response: HttpResponse) -> dict[str, Any]:
    tagged(response, _tag(organisation))
    shared = shared_budget(organisation.pk)
    own = own_budgets(organisation.pk, is_shared=shared is not None)
    return {
        "alarms_per_week": None if shared is None else shared.alarms_per_week,
        "shared_by": 0 if shared is None else shared.shared_by,
        "days_needed": None if shared is None else shared.days_needed,
        "own_budgets": own.count,
        "own_alarms_per_week": own.alarms_per_week,
        "without_budget": own.without,
    }
