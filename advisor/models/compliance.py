"""Compliance: whether hosts apply the policy, and whether it works."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.models.policy import Policy
from advisor.models.resource import Resource
from advisor.models.workload import Workload
from ingest.models.host import Host


class ComplianceRecord(models.Model):
    """One allocation at one time: desired, applied, read back and measured values.

    Numbers are in the resource's unit; None means absent, and the reason says why. In
    `backlogged_samples` of `sample_count` readings over `window_s` bytes waited in the kernel,
    `backlog_bytes` of them at the end. `drops` packets were dropped, and a limit held something
    back `overlimits` times; in `full_looks` of `short_looks` it was used up. `controls` None:
    the agent is too old to tell them apart.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="compliance_records"
    )
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="compliance_records")
    resource = models.ForeignKey(
        Resource, on_delete=models.CASCADE, related_name="compliance_records"
    )
    workload = models.ForeignKey(
        Workload, on_delete=models.CASCADE, related_name="compliance_records"
    )
    policy = models.ForeignKey(
        Policy, null=True, on_delete=models.CASCADE, related_name="compliance_records"
    )
    allocation = models.CharField(
        max_length=40, default="", help_text="The allocation's name on the wire"
    )
    revision = models.PositiveIntegerField(null=True)
    reported_at = models.DateTimeField()
    desired = models.JSONField()
    applied = models.JSONField(null=True)
    read_back = models.JSONField(null=True)
    measured = models.FloatField(null=True, help_text="By the agent, from the kernel's counters")
    # Written by the release before; `history.second_witness` reads it from samples now.
    observed = models.FloatField(null=True, help_text="By the service, from stored samples")
    window_s = models.FloatField(null=True)
    sample_count = models.PositiveIntegerField(null=True)
    backlogged_samples = models.PositiveIntegerField(null=True)
    backlog_bytes = models.BigIntegerField(null=True)
    drops = models.BigIntegerField(null=True)
    overlimits = models.BigIntegerField(null=True)
    short_looks = models.PositiveIntegerField(null=True)
    full_looks = models.PositiveIntegerField(null=True)
    outcome = models.CharField(max_length=16)
    reason = models.TextField(blank=True)
    controls = models.JSONField(null=True, help_text="Outcome and reason of each control")
    verdict = models.CharField(max_length=20)
    verdict_reason = models.TextField(blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-reported_at", "resource", "workload"]
        constraints = [
            models.UniqueConstraint(
                fields=["host", "allocation", "reported_at"],
                name="one_record_per_report",
            )
        ]
        indexes = [
            models.Index(
                fields=["resource", "workload", "-reported_at"], name="compliance_recent"
            ),
            models.Index(fields=["host", "-reported_at"], name="compliance_of_host"),
        ]

    def __str__(self) -> str:
        return f"{self.workload} on {self.resource}: {self.verdict}"
