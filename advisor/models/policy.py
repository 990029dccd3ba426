"""Approved allocations, and the documents that carry them to hosts."""

from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from accounts.models.sealed_text import SealedTextField
from advisor.models.recommendation import Recommendation
from advisor.models.resource import Resource
from ingest.models.host import Host


class PolicyIsImmutable(Exception):
    """An attempt to change a stored policy version; publish a new version instead."""


class Policy(models.Model):
    """One immutable version of a resource's allocations; the highest is the newest.

    `allocations` is a list of objects: allocation, workload, reservation, limit, shares,
    entitlement. An empty list means that agents restore what they found. `pools` is a list of
    `core.pools.PoolTerms`, with the allocations that are in each. A database trigger refuses
    updates too. `capacity` is the one its recommendation used, None if unknown.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="policies"
    )
    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="policies")
    version = models.PositiveIntegerField()
    allocations = models.JSONField()
    pools = models.JSONField(default=list, db_default=[])
    capacity = models.FloatField(
        null=True, blank=True, help_text="What its recommendation divided, in the resource's unit"
    )
    divides = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Its shares are meant, even where they are all alike",
    )
    recommendation = models.ForeignKey(
        Recommendation, null=True, blank=True, on_delete=models.RESTRICT, related_name="policies"
    )
    rollback_of = models.ForeignKey("self", null=True, blank=True, on_delete=models.RESTRICT)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.RESTRICT, related_name="policies"
    )

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["resource", "-version"]
        verbose_name_plural = "policies"
        constraints = [
            models.UniqueConstraint(
                fields=["resource", "version"], name="policy_version_is_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.resource} version {self.version}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise PolicyIsImmutable(f"{self} is immutable; publish a new version")
        super().save(*args, **kwargs)

    @property
    def divided_capacity(self) -> float | None:
        """The capacity of the resource, otherwise the one it was approved with."""
        stated: float | None = self.resource.capacity
        return self.capacity if stated is None else stated


def new_signing_key() -> str:
    """Named by the first migration alone."""
    return secrets.token_hex(32)


class Enforcer(models.Model):
    """The agent of one host: its signing key, what it can enforce, and when it last reported."""

    host = models.OneToOneField(Host, on_delete=models.CASCADE, related_name="enforcer")
    # Shared with an agent that was enrolled before keys of Ed25519; empty for others.
    signing_key = SealedTextField(blank=True, default="")
    lease_s = models.PositiveIntegerField(default=900)
    dry_run = models.BooleanField(default=False)
    agent_version = models.CharField(max_length=40, blank=True)
    support = models.JSONField(default=list)
    enforcement_state = models.CharField(max_length=12, blank=True)
    refusal = models.TextField(
        blank=True, help_text="Why the newest document was not accepted, or could not be had"
    )
    reports_dropped = models.PositiveIntegerField(default=0)
    applied_revision = models.PositiveIntegerField(null=True, blank=True)
    # Revision and mark of the newest document (`decisions.document_sources`).
    composed_of = models.CharField(max_length=64, blank=True, default="", db_default="")
    # Noted each half minute.
    last_pull_at = models.DateTimeField(null=True, blank=True)
    last_report_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["host"]

    def __str__(self) -> str:
        return f"enforcer of {self.host}"


class PublishedDocument(models.Model):
    """The content of a host's policy document under one revision; leases are issued on it."""

    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="documents")
    revision = models.PositiveIntegerField()
    content = models.JSONField()
    published_at = models.DateTimeField()

    class Meta:
        ordering = ["host", "-revision"]
        constraints = [
            models.UniqueConstraint(fields=["host", "revision"], name="revision_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.host} revision {self.revision}"
