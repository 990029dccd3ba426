"""The organisation of the token, and all that is stored of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from ninja import Router, Schema

from web.api.v1.door import asker_of
from web.organisation_export import export_answer

router = Router(tags=["organisation"])


class OrganisationRow(Schema):
    """An organisation; from `deletion_due_at` on it is deleted with all its data."""

    slug: str
    name: str
    created_at: datetime
    deletion_due_at: datetime | None


@router.get("", response=OrganisationRow)
def get_organisation(request: HttpRequest) -> Any:
    """Read the organisation of the token."""
    own = asker_of(request).membership.organisation
    return {name: getattr(own, name) for name in OrganisationRow.model_fields}


@router.post("/export")
def export_organisation(request: HttpRequest) -> StreamingHttpResponse:
    """Load all that is stored of it as a ZIP file, while it is made; takes an owner."""
    workspace = asker_of(request)
    return export_answer(workspace.membership.organisation, workspace.actor)
