"""Workloads that a command moves to other hosts, as their advice was approved."""

from __future__ import annotations

from django.db import models
from django.db.models import TextChoices

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.models.recommendation import Recommendation
from ingest.core.lengths import LONGEST_HOST_NAME, LONGEST_STATED_NAME


class MoveState(TextChoices):
    """What became of it; only what was measured says that it moved."""

    WAITING = "waiting"
    RUNNING = "running"
    CHECKING = "checking"
    MOVED = "moved"
    NOT_SEEN = "not seen"
    FAILED = "failed"


class PlacementMove(models.Model):
    """One workload; `place` is its order in the advice.

    `exit_status` is None before the command ended, and where nobody knows how it did. `said` is
    the end of what it printed, or why it was not run; `measured` what the states rest on.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="placement_moves"
    )
    recommendation = models.ForeignKey(
        Recommendation, on_delete=models.CASCADE, related_name="moves"
    )
    place = models.PositiveIntegerField()
    workload = models.CharField(max_length=LONGEST_STATED_NAME)
    source = models.CharField(max_length=LONGEST_HOST_NAME)
    target = models.CharField(max_length=LONGEST_HOST_NAME)
    state = models.CharField(max_length=10, choices=MoveState.choices, default=MoveState.WAITING)
    asked_at = models.DateTimeField()
    asked_by = models.CharField(max_length=150)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    exit_status = models.IntegerField(null=True)
    said = models.TextField(blank=True, default="")
    measured = models.TextField(blank=True, default="")

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["recommendation", "place"]
        constraints = [
            models.UniqueConstraint(fields=["recommendation", "place"], name="move_has_one_place")
        ]

    def __str__(self) -> str:
        return f"{self.workload} to {self.target}: {self.state}"
