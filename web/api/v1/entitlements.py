"""Who should get what of a resource under the policy in force, and who gets it."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from advisor.models import Resource, Tier
from advisor.queries.allocations import allocation_lines, policy_in_force
from web.access import open_row
from web.api.v1.door import asker_of
from web.api.v1.fields import Pk

router = Router(tags=["resources"])


class Entitlement(Schema):
    """A workload on a resource, in its unit; null: there is none, or it was not measured."""

    workload_id: int
    workload: str
    host_id: int
    host: str
    tier: Tier
    shares: int
    reservation: float
    limit: float | None
    entitlement: float | None
    got: float | None
    verdict: str | None = Field(description="of the newest report of the host's agent")
    verdict_reason: str
    role: str = Field(description="what the open incident is to it, in words; empty without one")


class Entitlements(Schema):
    policy_version: int | None
    unit: str
    items: list[Entitlement]


@router.get("/{int:pk}/entitlements", response=Entitlements)
def get_entitlements(request: HttpRequest, pk: Pk) -> Any:
    """Read what each workload on a resource should get, and gets, largest reservation first."""
    _, row = open_row(asker_of(request), Resource, pk)
    policy = policy_in_force(row)
    lines = allocation_lines(
        row,
        policy=policy,
        incident=row.incidents.filter(ended_at=None).first(),
        now=timezone.now(),
    )
    keys = {"workload_id": "workload_pk", "host_id": "host_pk"}
    return {
        "policy_version": policy.version if policy else None,
        "unit": row.unit,
        "items": [
            {name: getattr(line, keys.get(name, name)) for name in Entitlement.model_fields}
            for line in lines
        ],
    }
