"""Lines that were sent but not stored, and why."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from accounts.models.token import Token


class RejectedLine(models.Model):
    """The first line of a batch that was refused for this reason, and how many there were.

    The rest of the batch was kept.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE)
    token = models.ForeignKey(Token, null=True, on_delete=models.SET_NULL)
    received_at = models.DateTimeField()
    line_number = models.PositiveIntegerField()
    line = models.TextField(help_text="The first part of the line as it was sent")
    reason = models.TextField()
    line_count = models.PositiveIntegerField(
        default=1, help_text="Lines of the batch that were refused for this reason"
    )

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-received_at", "line_number"]
        indexes = [models.Index(fields=["organisation", "-received_at"], name="rejected_recent")]

    def __str__(self) -> str:
        return f"line {self.line_number}: {self.reason}"
