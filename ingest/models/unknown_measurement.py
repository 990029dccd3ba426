"""Measurements that are sent and that no source knows."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from ingest.core.lengths import LONGEST_HOST_NAME


class UnknownMeasurement(models.Model):
    """How many lines of it a host sent; `host` is the tag of the lines, empty without one."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    host = models.CharField(max_length=LONGEST_HOST_NAME, blank=True)
    measurement = models.CharField(max_length=64)
    lines = models.PositiveBigIntegerField()
    first_sent_at = models.DateTimeField()
    last_sent_at = models.DateTimeField()

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "host", "measurement"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "host", "measurement"],
                name="unknown_measurement_is_unique",
            )
        ]

    def __str__(self) -> str:
        return f"{self.measurement} of {self.host}"
