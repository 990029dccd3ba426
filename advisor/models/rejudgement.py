"""What is judged again because samples came late, from where, and what was judged before."""

from __future__ import annotations

from django.db import models

from advisor.models.congestion import Incident
from advisor.models.resource import Resource


class LateChange(models.Model):
    """Samples of a resource's hosts came late: its windows after `changed_from` may change."""

    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="+")
    changed_from = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.resource_id} from {self.changed_from:%Y-%m-%d %H:%M:%S}"


class DetectorCheckpoint(models.Model):
    """The detector's state after the window that ends `at`, from which it can go on again.

    `incident` has the figures of the incident that was open then, `tally` its sums.
    """

    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()
    detector = models.TextField(help_text="Canonical text of the state")
    incident = models.JSONField(null=True)
    tally = models.BinaryField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["resource", "at"], name="one_checkpoint_per_time")
        ]

    def __str__(self) -> str:
        return f"{self.resource_id} at {self.at:%Y-%m-%d %H:%M:%S}"


class EarlierStates(models.Model):
    """The states of windows in (since, until] as they were judged before `replaced_at`.

    `states` are runs of one state, in order: `since`, `until`, `state`, and the highest `value`.
    """

    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="earlier_states")
    since = models.DateTimeField()
    until = models.DateTimeField()
    replaced_at = models.DateTimeField()
    states = models.JSONField()

    class Meta:
        ordering = ["resource", "replaced_at", "since"]
        verbose_name_plural = "earlier states"

    def __str__(self) -> str:
        return f"{self.resource_id} until {self.replaced_at:%Y-%m-%d %H:%M:%S}"


class IncidentVersion(models.Model):
    """An incident as it was before it was amended at `replaced_at`.

    `figures` are its columns by their names, as JSON has them.
    """

    incident = models.ForeignKey(Incident, on_delete=models.CASCADE, related_name="versions")
    replaced_at = models.DateTimeField()
    figures = models.JSONField()

    class Meta:
        ordering = ["incident", "replaced_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["incident", "replaced_at"], name="one_version_per_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.incident_id} until {self.replaced_at:%Y-%m-%d %H:%M:%S}"
