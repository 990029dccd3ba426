"""What other shares, reservations, limits or another capacity would do."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema, Status
from pydantic import Field

from accounts.roles import Action
from advisor.advice.what_if.drafts import past_of, save_draft, scene_of, what_if_inputs
from advisor.core.forecast.what_if import WhatIfInputs, what_if
from advisor.core.grant import Grant
from advisor.errors import InventoryError
from advisor.management.what_if_document import what_if_document
from advisor.models import Resource
from web.access import open_row
from web.api.v1.door import acting, asker_of
from web.api.v1.fields import MOST_PK, WHOLE, Asked, Pk, Positive, Rate, Shares

router = Router(tags=["what-if"])
MOST_HOURS = 24 * 30
MOST_GRANTS = 10_000


class CandidateGrant(Asked):
    """All controls of an allocation, in the unit of its resource; no limit is null."""

    allocation_id: Annotated[int, Field(ge=1, le=MOST_PK), WHOLE]
    shares: Shares
    reservation: Rate = 0.0
    limit: Positive | None = None


class WhatIfQuestion(Asked):
    """Allocations that are not named keep what is proposed for them."""

    grants: list[CandidateGrant] = Field(default_factory=list, max_length=MOST_GRANTS)
    hours: Annotated[float, Field(strict=True, gt=0, le=MOST_HOURS)] = 24.0


class WhatIfSimulation(WhatIfQuestion):
    capacity: Positive | None = Field(None, description="simulated instead of the stated one")


class WhatIfAnswer(Schema):
    """Every workload now and then, as `sluice what-if --json` has it."""

    resource: str
    unit: str
    capacity: float
    capacity_source: str
    began_at: datetime
    ended_at: datetime
    windows: int
    congested_windows: int
    refused: list[Any]
    reason: str
    policy_gap: str
    workloads: list[dict[str, Any]]


class Draft(Schema):
    recommendation_id: int


@router.post("/{int:pk}/what-if", response=WhatIfAnswer)
def simulate_what_if(request: HttpRequest, pk: Pk, asked: WhatIfSimulation) -> Any:
    """Simulate other settings on stored history; nothing is changed."""
    _, row = open_row(asker_of(request), Resource, pk)
    inputs, gap = _inputs(row, asked, capacity=asked.capacity)
    return {**what_if_document(inputs, what_if(inputs)), "policy_gap": gap}


@router.post("/{int:pk}/what-if/draft", response={201: Draft})
def draft_what_if(request: HttpRequest, pk: Pk, asked: WhatIfQuestion) -> Any:
    """Save other settings as a recommendation, which is approved like any other."""
    workspace, row = open_row(asker_of(request), Resource, pk)
    acting(request, Action.DECIDE)
    inputs, _ = _inputs(row, asked, capacity=None)
    draft = save_draft(
        inputs=inputs, resource=row, user=workspace.membership.user, now=timezone.now()
    )
    return Status(201, {"recommendation_id": draft.pk})


def _inputs(
    row: Resource, asked: WhatIfQuestion, *, capacity: float | None
) -> tuple[WhatIfInputs, str]:
    now = timezone.now()
    scene = scene_of(row, now=now)
    grants = {
        one.allocation_id: Grant(
            allocation=one.allocation_id,
            reservation=one.reservation,
            limit=one.limit,
            shares=one.shares,
        )
        for one in asked.grants
    }
    unknown = sorted(grants.keys() - {one.pk for one in scene.allocations})
    if unknown:
        raise InventoryError(f"{row} has no allocation {unknown[0]}")
    past = past_of(scene, length=timedelta(hours=asked.hours), now=now)
    return what_if_inputs(scene=scene, past=past, candidate=grants, capacity=capacity), scene.gap
