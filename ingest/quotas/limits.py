"""The quotas that hold for an organisation."""

from __future__ import annotations

from django.conf import settings

from accounts.models import Organisation
from ingest.core.quota.limits import WORDS, Limits, Quota


def limits_of(organisation: Organisation) -> Limits:
    """Its own quotas, else those of the installation; without any query."""
    found = {
        Quota.POINTS: organisation.quota_points_per_s,
        Quota.BYTES: organisation.quota_bytes_per_s,
        Quota.SERIES: organisation.quota_series,
        Quota.HOSTS: organisation.quota_hosts,
    }
    return {
        quota: limit
        for quota, own in found.items()
        if (limit := settings.QUOTAS[quota] if own is None else own)
    }


def used_up(organisation: Organisation, quota: Quota) -> str:
    """Which quota of whom, as senders and people read it."""
    limit = limits_of(organisation).get(quota, 0)
    return (
        f'organisation "{organisation.slug}" has used up its quota of {limit:,} {WORDS[quota]};'
        " `sluice quota` shows and changes it"
    )
