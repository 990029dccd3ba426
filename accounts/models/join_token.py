"""Join tokens, by which hosts connect themselves for a short while; only their hash is stored."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet

JOIN_PREFIX = "slj_"
"""Marks a leaked secret as ours for secret scanners."""
LONGEST_HOST_NAME = 253
"""The longest name in DNS."""


class Runs(models.TextChoices):
    """How the agent runs on a host that joins."""

    SERVICE = "service"
    FOREGROUND = "foreground"


class JoinMode(models.TextChoices):
    """Whether the agent may carry out policies, or only says what it would do."""

    OBSERVE = "observe"
    ENFORCE = "enforce"


class Collects(models.TextChoices):
    """What reads the host's samples: the agent itself, or Telegraf beside it."""

    READER = "reader"
    TELEGRAF = "telegraf"


class JoinToken(models.Model):
    """Lets so many hosts join, until it expires.

    With a `host_name` it lets this one host join, even if the name is known already.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="join_tokens"
    )
    digest = models.CharField(max_length=64, unique=True)
    runs = models.CharField(max_length=10, choices=Runs.choices)
    mode = models.CharField(max_length=10, choices=JoinMode.choices)
    collects = models.CharField(max_length=10, choices=Collects.choices)
    host_name = models.CharField(max_length=LONGEST_HOST_NAME, blank=True)
    most_hosts = models.PositiveSmallIntegerField()
    hosts_joined = models.PositiveSmallIntegerField(default=0)
    made_by = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = OrganisationOwnedQuerySet["JoinToken"].as_manager()

    class Meta:
        ordering = ["organisation", "-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                name="no_more_hosts_join_than_may",
                condition=models.Q(hosts_joined__lte=models.F("most_hosts")),
            )
        ]

    def __str__(self) -> str:
        return f"join token {self.pk} of {self.organisation_id}"
