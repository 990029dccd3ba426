"""Quotas that were used up."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from ingest.core.quota.limits import Quota


class QuotaHit(models.Model):
    """When a quota was last used up, and what it cost.

    `refused_bodies` came again later, if their sender keeps what is refused; `lost_points` are
    gone: datagrams, and samples of new series in a body whose other samples were stored.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    quota = models.CharField(
        max_length=16, choices=[(quota.value, quota.value) for quota in Quota]
    )
    refused_bodies = models.PositiveBigIntegerField(default=0)
    lost_points = models.PositiveBigIntegerField(default=0)
    last_hit_at = models.DateTimeField()

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "quota"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "quota"], name="quota_hit_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.quota} of {self.organisation}"
