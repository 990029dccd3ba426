"""What collectors say of devices, workloads, mounts, interfaces and hosts."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from ingest.core.lengths import LONGEST_HOST_NAME, LONGEST_PATH


class StatedFact(models.Model):
    """One value that was stated of a thing on a host; which values hold is in `ingest.facts`.

    `host` is a name: a host that only facts speak of need not send samples.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    host = models.CharField(max_length=LONGEST_HOST_NAME)
    kind = models.CharField(max_length=16)
    subject = models.CharField(max_length=LONGEST_PATH, blank=True)
    name = models.CharField(max_length=128)
    value = models.TextField(blank=True)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        db_table = "ingest_fact"
        ordering = ["organisation", "host", "kind", "subject", "name", "first_seen_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "host", "kind", "subject", "name", "value"],
                name="fact_is_unique",
            )
        ]
        indexes = [models.Index(fields=["organisation", "last_seen_at"], name="fact_last_seen")]

    def __str__(self) -> str:
        return f"{self.host}:{self.subject} {self.name}={self.value}"
