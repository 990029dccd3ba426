"""Scheduled work that failed, with its reason, until it succeeds again."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.models.recommendation import Recommendation
from advisor.models.resource import Resource


class FailedWork(models.Model):
    """One kind of task on one subject that failed at least once; `times` counts all failures.

    The subject is the resource or recommendation; without either it is the organisation, and
    without an organisation the task concerns the whole installation. `solved_at` is when the same
    work succeeded again, None while it fails.
    """

    organisation = models.ForeignKey(
        Organisation, null=True, blank=True, on_delete=models.CASCADE, related_name="failed_work"
    )
    task = models.CharField(max_length=100)
    resource = models.ForeignKey(Resource, null=True, blank=True, on_delete=models.CASCADE)
    recommendation = models.ForeignKey(
        Recommendation, null=True, blank=True, on_delete=models.CASCADE
    )
    reason = models.TextField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
    times = models.PositiveIntegerField(default=1)
    solved_at = models.DateTimeField(null=True, blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-last_at", "pk"]
        verbose_name_plural = "failed work"
        constraints = [
            models.UniqueConstraint(
                fields=["task", "organisation", "resource", "recommendation"],
                nulls_distinct=False,
                name="failed_work_once_per_subject",
            )
        ]

    def __str__(self) -> str:
        return f"{self.task}: {self.reason}"
