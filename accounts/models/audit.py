"""Who did what, when and from where: a chain, for each entry holds the hash of the one before."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet

LONGEST_SUBJECT = 600


class AuditEntry(models.Model):
    """One act. An entry that is changed, taken out or put in between breaks the chain.

    Names are kept as text, so an entry tells who it was after the person is gone.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="audit_entries"
    )
    number = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    actor = models.CharField(max_length=200)
    address = models.CharField(max_length=45, blank=True)
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=LONGEST_SUBJECT)
    details = models.JSONField(default=dict)
    previous_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)

    objects = OrganisationOwnedQuerySet["AuditEntry"].as_manager()

    class Meta:
        ordering = ["organisation", "number"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "number"], name="audit_entry_number")
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.actor} {self.action} {self.subject}"

    @property
    def expected_hash(self) -> str:
        """SHA-256 over everything that the entry says, and over the hash of the one before."""
        said = [
            self.organisation_id, self.number, self.at.astimezone(UTC).isoformat(), self.actor,
            self.address, self.action, self.subject, self.details, self.previous_hash,
        ]  # fmt: skip
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class AuditHead(models.Model):
    """The newest entry of an organisation: entries that are cut off at the end are missed."""

    organisation = models.OneToOneField(
        Organisation, on_delete=models.CASCADE, related_name="audit_head", primary_key=True
    )
    number = models.PositiveBigIntegerField(default=0)
    hash = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.organisation}: {self.number}"
