"""The identity of a stream of samples."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from ingest.models.host import Host


class Series(models.Model):
    """One measurement with one set of tags; `tags_key` is their canonical text, which is unique.

    `subject` is what the series is about on its host: the device of `diskio`, the interface of
    `net`, the path of `cgroup`, empty for `system`.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="series")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="series")
    measurement = models.CharField(max_length=64)
    subject = models.CharField(max_length=1024, blank=True)
    tags = models.JSONField(default=dict)
    tags_key = models.TextField()
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
