"""What is congested now, and whether Sluice itself works."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema
from pydantic import Field

from advisor.management.status_document import status_document
from web.api.v1.door import asker_of

router = Router(tags=["status"])


class SystemStatus(Schema):
    """The state of every resource and the health of Sluice, as `sluice status --json` has them."""

    resources: list[dict[str, Any]]
    health: dict[str, Any]
    text: str = Field(description="what `sluice status` prints")
    exit_status: int = Field(description="and its exit status")


@router.get("", response=SystemStatus)
def get_status(request: HttpRequest) -> Any:
    """Read the state of all resources, and the health of Sluice itself."""
    membership = asker_of(request).membership
    return asdict(
        status_document(
            membership.organisation,
            now=timezone.now(),
            with_installation=membership.user.is_superuser,
        )
    )
