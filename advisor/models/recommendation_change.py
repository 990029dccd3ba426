"""The life of a recommendation: each change of its state."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.models.recommendation import Recommendation, RecommendationState


class Step(models.TextChoices):
    """What happened to it: a state that it came to, or the first of two approvals."""

    PROPOSED = RecommendationState.PROPOSED.value
    ACKNOWLEDGED = RecommendationState.ACKNOWLEDGED.value
    SNOOZED = RecommendationState.SNOOZED.value
    APPROVED = RecommendationState.APPROVED.value
    REJECTED = RecommendationState.REJECTED.value
    SUPERSEDED = RecommendationState.SUPERSEDED.value
    EXPIRED = RecommendationState.EXPIRED.value
    CONFIRMED = "confirmed"


class RecommendationChange(models.Model):
    """One step: who, when, from where and why.

    `actor` is a name and no key, so that it stays when a person goes. `address` is empty where
    it came over no network.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    recommendation = models.ForeignKey(
        Recommendation, on_delete=models.CASCADE, related_name="changes"
    )
    step = models.CharField(max_length=12, choices=Step.choices)
    at = models.DateTimeField()
    actor = models.CharField(max_length=200)
    address = models.CharField(max_length=45, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    until = models.DateTimeField(null=True, blank=True, help_text="How long it is put off")

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["recommendation", "at", "pk"]

    def __str__(self) -> str:
        return f"{self.step} by {self.actor}"
