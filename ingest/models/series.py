"""The identity of a stream of samples."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from ingest.core.lengths import LONGEST_PATH
from ingest.core.mapping import Form
from ingest.models.host import Host


class Series(models.Model):
    """One canonical table with one set of tags and a form; `tags_key` is their text, and unique.

    `subject` is what the series is about on its host: a device, an interface, the path of a
    cgroup; empty for the host itself. `source` is who sent it first (`ingest.sources`).
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="series")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="series")
    measurement = models.CharField(max_length=64)
    subject = models.CharField(max_length=LONGEST_PATH, blank=True)
    tags = models.JSONField(default=dict)
    tags_key = models.TextField()
    source = models.CharField(max_length=32, blank=True, default="")
    form = models.CharField(
        max_length=8,
        choices=[(form.value, form.value) for form in Form],
        default=Form.COUNTER,
    )
    first_sample_at = models.DateTimeField(null=True, blank=True)
    last_sample_at = models.DateTimeField(null=True, blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "measurement", "tags_key"]
        verbose_name_plural = "series"
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "measurement", "tags_key"], name="series_is_unique"
            )
        ]
        indexes = [models.Index(fields=["host", "measurement", "subject"], name="series_subject")]

    def __str__(self) -> str:
        return f"{self.measurement},{self.tags_key}"
