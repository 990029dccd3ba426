"""The quotas of an organisation, what it uses of each, and when one was last used up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from accounts.models import Organisation
from ingest.core.quota.limits import Quota
from ingest.models import QuotaHit
from ingest.quotas.limits import limits_of
from ingest.quotas.new_series import rows_of
from ingest.quotas.shared_account import use_per_s
from ingest.retention import retention


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaFigures:
    """One quota: `limit` is None where there is none, `used` where it cannot be known.

    Rates are means of the last whole minute. Refused bodies are sent again by senders that keep
    them; lost points are gone.
    """

    quota: Quota
    limit: int | None
    used: float | None
    refused_bodies: int
    lost_points: int
    last_hit_at: datetime | None


def quota_figures(organisation: Organisation, *, now: datetime) -> tuple[QuotaFigures, ...]:
    """Every quota, in the order of `Quota`."""
    limits = limits_of(organisation)
    series, hosts = rows_of(organisation, now=now, heard_within=retention())
    used: dict[Quota, float] = {
        **(use_per_s(organisation.pk) or {}),
        Quota.SERIES: series,
        Quota.HOSTS: hosts,
    }
    hits = {hit.quota: hit for hit in QuotaHit.objects.filter(organisation=organisation)}
    return tuple(
        QuotaFigures(
            quota=quota,
            limit=limits.get(quota),
            used=used.get(quota),
            refused_bodies=hit.refused_bodies if (hit := hits.get(quota)) else 0,
            lost_points=hit.lost_points if hit else 0,
            last_hit_at=hit.last_hit_at if hit else None,
        )
        for quota in Quota
    )
