"""What the organisation may send and have, and what it uses."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Router, Schema

from ingest.core.quota.limits import Quota
from ingest.quotas.figures import quota_figures
from web.api.v1.door import asker_of

router = Router(tags=["quotas"])


class QuotaRow(Schema):
    """A quota: `limit` null is none, `used` null is not known.

    Rates are means of the last whole minute. Who sends again loses nothing of `refused_bodies`;
    `lost_points` are gone.
    """

    quota: Quota
    limit: int | None
    used: float | None
    refused_bodies: int
    lost_points: int
    last_hit_at: datetime | None


class QuotaRows(Schema):
    items: list[QuotaRow]


@router.get("", response=QuotaRows)
def list_quotas(request: HttpRequest) -> Any:
    """List the quotas. Who runs the installation sets them, by `sluice quota set`."""
    organisation = asker_of(request).membership.organisation
    found = quota_figures(organisation, now=timezone.now())
    return {
        "items": [{name: getattr(one, name) for name in QuotaRow.model_fields} for one in found]
    }
