"""The rules of an organisation that replace typing."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation


class WorkloadRules(models.Model):
    """The text of its rules, as `ingest.core.identity.rules` reads them."""

    organisation = models.OneToOneField(
        Organisation, on_delete=models.CASCADE, related_name="workload_rules"
    )
    text = models.TextField(blank=True)
    stated_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"rules of {self.organisation}"
