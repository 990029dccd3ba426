"""Files of samples that were imported, and how far."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet


class ImportState(models.TextChoices):
    """What became of a file; a waiting one has to be read or asked about."""

    WAITING = "waiting"
    RUNNING = "running"
    QUESTION = "question"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


class ImportRun(models.Model):
    """Files that are imported together, and what was said of all of them.

    `answers` are those of `ingest.core.imported.answers.Answers`; `shift_s` is by how many seconds
    the times of all files were moved, where `is_shifted`.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    answers = models.JSONField(default=dict)
    is_shifted = models.BooleanField(default=False)
    shift_s = models.BigIntegerField(null=True)
    problem = models.TextField(blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "-started_at", "-pk"]

    def __str__(self) -> str:
        return f"import {self.pk}"


class Import(models.Model):
    """One file; its content with the same answers is imported once, in whatever run.

    `position` counts the points that were taken so far, in the order of the file; `first_at` and
    `last_at` are the times of the samples that were stored. `refusals` are parts that gave no
    sample: the first one of a reason, the reason, and how many there were.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(ImportRun, on_delete=models.CASCADE, related_name="files")
    name = models.TextField()
    digest = models.CharField(max_length=64)
    said = models.TextField(blank=True)
    size_bytes = models.PositiveBigIntegerField()
    format = models.CharField(max_length=20, blank=True)
    state = models.CharField(
        max_length=10, choices=ImportState.choices, default=ImportState.WAITING
    )
    position = models.PositiveBigIntegerField(default=0)
    accepted = models.PositiveBigIntegerField(default=0)
    ignored = models.PositiveBigIntegerField(default=0)
    rejected = models.PositiveBigIntegerField(default=0)
    too_old = models.PositiveBigIntegerField(default=0)
    changed_rows = models.PositiveBigIntegerField(default=0)
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    hosts = models.JSONField(default=list)
    refusals = models.JSONField(default=list)
    shift_s = models.BigIntegerField(default=0)
    problem = models.TextField(blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["run", "name", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "digest", "said"], name="content_is_imported_once"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def left_out(self) -> int:
        """Samples that were not stored."""
        return self.rejected + self.too_old


class UploadedPart(models.Model):
    """A part of a file that a browser sent, until it is imported: processes share no disk."""

    run = models.ForeignKey(ImportRun, on_delete=models.CASCADE, related_name="parts")
    file = models.PositiveIntegerField()
    name = models.TextField()
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["run", "file", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "file", "number"], name="uploaded_part_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.number})"
