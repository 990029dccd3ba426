"""Machines that send samples and run an agent."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from ingest.core.lengths import LONGEST_HOST_NAME


class Host(models.Model):
    """One machine, known by the `host` tag of its samples.

    `last_sample_at` is by the host's clock, `heard_at` is when samples came, by our own, and
    `shared_at` when they last came from several machines (`ingest.shared_names`).
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="hosts")
    name = models.CharField(max_length=LONGEST_HOST_NAME)
    first_seen_at = models.DateTimeField(auto_now_add=True)
    last_sample_at = models.DateTimeField(null=True, blank=True)
    heard_at = models.DateTimeField(null=True, blank=True)
    shared_at = models.DateTimeField(null=True, blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "name"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="host_name_is_unique")
        ]

    def __str__(self) -> str:
        return self.name
