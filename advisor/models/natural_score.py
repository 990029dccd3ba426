"""What was foretold of workloads that switched by themselves, compared with what came of it."""

from __future__ import annotations

from django.db import models

from advisor.models.resource import Resource


class NaturalScore(models.Model):
    """One start or stop; `rates` is a list of objects as in `PredictionScore`, and their CRPS.

    They are those of the other workloads, over the windows after the switch.
    """

    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="natural_scores")
    workload = models.CharField(max_length=255)
    switched_at = models.DateTimeField()
    starts = models.BooleanField()
    scored_at = models.DateTimeField()
    rates = models.JSONField()

    class Meta:
        ordering = ["-switched_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["resource", "workload", "switched_at"], name="switch_is_scored_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.workload} {'starts' if self.starts else 'stops'} at {self.switched_at}"


class NaturalLook(models.Model):
    """Up to when the history of a resource was searched for switches."""

    resource = models.OneToOneField(
        Resource, on_delete=models.CASCADE, related_name="natural_look"
    )
    looked_until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.resource_id} until {self.looked_until}"
