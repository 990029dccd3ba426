"""Recommendations with their reasons and decisions."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.models.congestion import Incident
from advisor.models.resource import Resource
from ingest.core.lengths import LONGEST_STATED_NAME


class RecommendationState(models.TextChoices):
    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"


POLICY_TOPIC = "policy"
"""The topic of what computes a policy, and of what a person composed."""


class Recommendation(models.Model):
    """Allocations that would help one resource, with the evidence they were computed from.

    `inputs` is the canonical text of the solver's inputs: recomputing from it gives `answer`
    byte for byte. `topic` and `kind` are those of a kind in `advisor.advice.registry`; a resource
    has one open recommendation of a topic and subject. `created_by` is the person who composed a
    draft, None for computed advice.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="recommendations"
    )
    resource = models.ForeignKey(
        Resource, on_delete=models.CASCADE, related_name="recommendations"
    )
    incident = models.ForeignKey(
        Incident, null=True, blank=True, on_delete=models.SET_NULL, related_name="recommendations"
    )
    topic = models.CharField(max_length=20, default=POLICY_TOPIC)
    subject = models.CharField(
        max_length=LONGEST_STATED_NAME,
        blank=True,
        default="",
        help_text="Whose limits are meant; empty for other topics",
    )
    kind = models.CharField(max_length=40)
    state = models.CharField(
        max_length=12, choices=RecommendationState.choices, default=RecommendationState.PROPOSED
    )
    summary = models.TextField()
    inputs = models.TextField()
    answer = models.TextField()
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="drafts",
    )
    expires_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    decision_reason = models.TextField(blank=True)
    score_gap = models.TextField(
        blank=True, default="", help_text="Why its prediction could not be scored at the last look"
    )

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["resource", "topic", "subject"],
                condition=models.Q(state="proposed"),
                name="one_open_recommendation_per_subject",
            )
        ]

    def __str__(self) -> str:
        return self.summary
