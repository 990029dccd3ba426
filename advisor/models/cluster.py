"""What was read of Kubernetes clusters: the newest state, and nothing before it."""

from __future__ import annotations

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.models.resource import Resource
from advisor.models.source import ReadSource
from advisor.models.workload import Workload
from ingest.core.kubernetes.cluster import (
    LONGEST_DRIVER,
    LONGEST_NAME,
    LONGEST_NAMESPACE,
    LONGEST_OWNER,
    LONGEST_UID,
)


class ClusterPod(models.Model):
    """A pod: `uid` is that of its control group, `claims` are the names of those in its namespace.

    `owner` is what keeps it, such as `Deployment/web`; `labels` are its own and its owner's.
    `workload` is it as collectors show it, if they do.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="cluster_pods"
    )
    source = models.ForeignKey(ReadSource, on_delete=models.CASCADE, related_name="pods")
    uid = models.CharField(max_length=LONGEST_UID)
    namespace = models.CharField(max_length=LONGEST_NAMESPACE)
    name = models.CharField(max_length=LONGEST_NAME)
    node = models.CharField(max_length=LONGEST_NAME, blank=True)
    owner = models.CharField(max_length=LONGEST_OWNER, blank=True)
    labels = models.JSONField(default=dict, blank=True)
    claims = models.JSONField(default=list, blank=True)
    workload = models.ForeignKey(
        Workload, null=True, blank=True, on_delete=models.SET_NULL, related_name="pods"
    )

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "namespace", "name"]
        constraints = [
            models.UniqueConstraint(fields=["source", "uid"], name="pod_is_once_in_its_cluster")
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class ClusterClaim(models.Model):
    """A claim on a persistent volume, with the driver of that volume.

    `asked_class` is the VolumeAttributesClass that it asks for, `current_class` the one that its
    volume has, `change` what its driver says of a change that is not done. `size_bytes` is what
    the volume holds, None before there is one. `resource` is where it lies, if hosts say so.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="cluster_claims"
    )
    source = models.ForeignKey(ReadSource, on_delete=models.CASCADE, related_name="claims")
    uid = models.CharField(max_length=LONGEST_UID)
    namespace = models.CharField(max_length=LONGEST_NAMESPACE)
    name = models.CharField(max_length=LONGEST_NAME)
    labels = models.JSONField(default=dict, blank=True)
    volume = models.CharField(max_length=LONGEST_NAME, blank=True)
    driver = models.CharField(max_length=LONGEST_DRIVER, blank=True)
    storage_class = models.CharField(max_length=LONGEST_NAME, blank=True)
    asked_class = models.CharField(max_length=LONGEST_NAME, blank=True)
    current_class = models.CharField(max_length=LONGEST_NAME, blank=True)
    change = models.CharField(max_length=LONGEST_NAME, blank=True)
    size_bytes = models.BigIntegerField(null=True, blank=True)
    resource = models.ForeignKey(
        Resource, null=True, blank=True, on_delete=models.SET_NULL, related_name="claims"
    )

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "namespace", "name"]
        constraints = [
            models.UniqueConstraint(fields=["source", "uid"], name="claim_is_once_in_its_cluster")
        ]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class VolumeClass(models.Model):
    """A VolumeAttributesClass: what the volumes of its driver can be given."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="volume_classes"
    )
    source = models.ForeignKey(ReadSource, on_delete=models.CASCADE, related_name="classes")
    name = models.CharField(max_length=LONGEST_NAME)
    driver = models.CharField(max_length=LONGEST_DRIVER)
    parameters = models.JSONField(default=dict, blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "name"], name="volume_class_is_once_in_its_cluster"
            )
        ]

    def __str__(self) -> str:
        return self.name
