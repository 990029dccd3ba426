"""Recommendations with their reasons and decisions."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.models.congestion import Incident
from advisor.models.resource import Resource
from ingest.core.lengths import LONGEST_STATED_NAME


class RecommendationState(models.TextChoices):
    PROPOSED = "proposed"
    ACKNOWLEDGED = "acknowledged"
    SNOOZED = "snoozed"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"


OPEN_STATES = (
    RecommendationState.PROPOSED, RecommendationState.ACKNOWLEDGED, RecommendationState.SNOOZED,
)  # fmt: skip
"""In these it can be decided; a snoozed one too."""

POLICY_TOPIC = "policy"
"""The topic of what computes a policy, and of what a person composed."""


class RecommendationQuerySet(OrganisationOwnedQuerySet["Recommendation"]):
    """Recommendations, by what people can still do with them."""

    def undecided(self) -> Self:
        """Those that nobody decided, and that nothing replaced; their time may be over."""
        return self.filter(state__in=OPEN_STATES)

    def open_at(self, now: datetime) -> Self:
        """Those that can be decided."""
        return self.undecided().filter(expires_at__gt=now)

    def waiting(self, now: datetime) -> Self:
        """Those that ask for somebody: open ones that are not put off."""
        put_off = Q(state=RecommendationState.SNOOZED, snoozed_until__gt=now)
        return self.open_at(now).exclude(put_off)

    def in_state(self, state: str, now: datetime) -> Self:
        """Those that are shown as of this state: time alone changes some."""
        over = Q(state__in=OPEN_STATES, expires_at__lte=now)
        awake = Q(state=RecommendationState.SNOOZED, snoozed_until__lte=now)
        match state:
            case RecommendationState.EXPIRED:
                return self.filter(Q(state=state) | over)
            case RecommendationState.PROPOSED:
                return self.filter(Q(state=state) | awake).exclude(over)
            case RecommendationState.SNOOZED:
                return self.filter(state=state).exclude(over | awake)
        return self.filter(state=state).exclude(over)


class Recommendation(models.Model):
    """Allocations that would help one resource, with the evidence they were computed from.

    `inputs` is the canonical text of the solver's inputs: recomputing from it gives `answer`
    byte for byte. `topic` and `kind` are those of a kind in `advisor.advice.registry`; a resource
    has one open recommendation of a topic and subject. `created_by` is the person who composed a
    draft, None for computed advice. `confirmed_by` is the first of two people, where the ladder
    asks for two.
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
    snoozed_until = models.DateTimeField(
        null=True, blank=True, help_text="When it comes back; empty if nobody put it off"
    )
    confirmed_at = models.DateTimeField(null=True, blank=True)
    confirmed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="confirmed",
    )
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    decision_reason = models.TextField(blank=True)
    score_gap = models.TextField(
        blank=True, default="", help_text="Why its prediction could not be scored at the last look"
    )
    act_gap = models.TextField(
        blank=True, default="", help_text="Why Sluice did not approve it itself at the last look"
    )

    objects = RecommendationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["resource", "topic", "subject"],
                condition=Q(state__in=OPEN_STATES),
                name="one_open_recommendation_per_subject",
            )
        ]

    def __str__(self) -> str:
        return self.summary
