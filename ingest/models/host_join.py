"""Hosts that connected themselves by a join token, and what they said of themselves."""

from __future__ import annotations

from django.db import models

from accounts.models import JoinToken
from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from ingest.models.host import Host


class HostJoin(models.Model):
    """A host that joined; the newest of several times.

    `clock_ahead_s` is how far the host's clock was ahead of ours, negative behind. `said` is what
    its script told: system, kernel, cgroup version, what collects, and why if that is another
    collector than the one asked for.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    token = models.ForeignKey(JoinToken, on_delete=models.CASCADE, related_name="joins")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="joins")
    at = models.DateTimeField()
    address = models.CharField(max_length=45, blank=True)
    clock_ahead_s = models.FloatField(null=True, blank=True)
    said = models.JSONField(default=dict)

    objects = OrganisationOwnedQuerySet["HostJoin"].as_manager()

    class Meta:
        ordering = ["token", "-at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["token", "host"], name="host_joins_once_by_a_token")
        ]

    def __str__(self) -> str:
        return f"{self.host_id} by {self.token_id}"
