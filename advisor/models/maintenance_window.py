"""Maintenance windows: planned work, whose congestion raises no alarm."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.core.detection.maintenance_windows import Recurrence
from advisor.models.choices import choices_of
from advisor.models.resource import Resource
from advisor.models.workload import Workload
from ingest.core.lengths import LONGEST_STATED_NAME


class MaintenanceWindow(models.Model):
    """From `starts_at` for `length_s`, repeated at the same wall-clock time of `zone`.

    Without resources it covers all of them; without workloads any workload may be busy.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="maintenance_windows"
    )
    name = models.CharField(max_length=LONGEST_STATED_NAME)
    starts_at = models.DateTimeField()
    length_s = models.FloatField(validators=[MinValueValidator(1.0)])
    recurrence = models.CharField(
        max_length=10, choices=choices_of(Recurrence), default=Recurrence.ONCE
    )
    zone = models.CharField(max_length=60, default="UTC", help_text="Like Europe/Berlin")
    resources = models.ManyToManyField(Resource, blank=True, related_name="maintenance_windows")
    workloads = models.ManyToManyField(Workload, blank=True, related_name="maintenance_windows")

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"], name="maintenance_window_name_is_unique"
            )
        ]

    def __str__(self) -> str:
        return self.name
