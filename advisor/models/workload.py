"""Workloads and their allocations."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Value
from django.db.models.functions import Cast, Concat

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.core.resource import IoCount, LimitScope, Tier, tier_shares
from advisor.core.tags import tag_text
from advisor.models.choices import choices_of
from advisor.models.pool import Pool
from advisor.models.resource import Resource
from ingest.core.identity.cgroup_path import below_mount
from ingest.core.lengths import LONGEST_PATH, LONGEST_STATED_NAME
from ingest.models.host import Host

WIRE_PREFIX = "allocation-"
"""What stands before the number of an allocation on the wire."""


class WorkloadKind(models.TextChoices):
    VM = "vm"
    CONTAINER = "container"
    POD = "pod"
    UNIT = "unit"
    SLICE = "slice"


class Workload(models.Model):
    """A virtual machine, container, pod, unit or slice with I/O of its own.

    `found` ones follow what collectors say: `identity` is what they are known by again,
    its `former` names there stand with the time until which it had them. `attributes` are pairs
    that rules ask for; `tags` has them as KEY=VALUE, with the `stated_tags` of people.
    A tier that a person stated is `tier_stated`; otherwise `tier_reason` is the rule that gave it.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="workloads"
    )
    name = models.CharField(max_length=LONGEST_STATED_NAME)
    kind = models.CharField(max_length=10, choices=WorkloadKind.choices, default=WorkloadKind.VM)
    tier = models.CharField(max_length=10, choices=choices_of(Tier), default=Tier.MEDIUM)
    tier_stated = models.BooleanField(default=False)
    tier_reason = models.TextField(blank=True)
    found = models.BooleanField(default=False)
    identity = models.JSONField(default=dict, blank=True)
    attributes = models.JSONField(default=list, blank=True)
    tags = models.JSONField(default=list, blank=True)
    stated_tags = models.JSONField(default=list, blank=True)
    reasons = models.JSONField(default=list, blank=True)
    vanished_at = models.DateTimeField(null=True, blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"], name="workload_name_is_unique"
            )
        ]

    def __str__(self) -> str:
        return self.name

    def tell_tags(self) -> None:
        """Bring `tags` up to date with what collectors and people say."""
        found = [tag_text(key, value) for key, value in self.attributes]
        self.tags = sorted({*found, *self.stated_tags})


class AdapterKind(models.TextChoices):
    """The counters that measure a workload.

    Those of an interface, of a cgroup, of a virtual disk as its hypervisor counts it, or of a
    mount as its client counts it. The last two are told apart by the allocation's `vdisk`.
    """

    VNIC = "vnic"
    CGROUP = "cgroup"
    VDISK = "vdisk"
    MOUNT = "mount"


class Allocation(models.Model):
    """Reservation, limit and shares of one workload on one resource, and its adapter.

    `shares` None means the default of the workload's tier. Values are in the resource's unit.
    `found` ones are the default that every workload has where it is seen: no promise, no limit.
    """

    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="allocations")
    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="allocations")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="allocations")
    vdisk = models.CharField(
        max_length=LONGEST_STATED_NAME,
        blank=True,
        help_text="Tells several virtual disks of a workload apart",
    )
    adapter_kind = models.CharField(max_length=10, choices=AdapterKind.choices)
    adapter = models.CharField(max_length=LONGEST_PATH, help_text="Interface name or cgroup path")
    selector_kind = models.CharField(
        max_length=32, blank=True, help_text="How the agent recognises it if not by the adapter"
    )
    selector = models.CharField(max_length=LONGEST_PATH, blank=True)
    reservation = models.FloatField(default=0.0, validators=[MinValueValidator(0.0)])
    limit = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0.0)])
    shares = models.PositiveIntegerField(null=True, blank=True)
    limit_scope = models.CharField(
        max_length=10, choices=choices_of(LimitScope), default=LimitScope.PER_VDISK
    )
    io_count = models.CharField(max_length=10, choices=choices_of(IoCount), default=IoCount.PLAIN)
    pool = models.ForeignKey(
        Pool, null=True, blank=True, on_delete=models.SET_NULL, related_name="members"
    )
    size_bytes = models.FloatField(null=True, blank=True)
    moved_at = models.DateTimeField(null=True, blank=True)
    found = models.BooleanField(default=False)
    vanished_at = models.DateTimeField(null=True, blank=True)
    # A column, since behind a wall of rows PostgreSQL looks by an index for columns alone: not for
    # what a function makes of them (manual, "Rules and Privileges": leakproof).
    wire_name = models.GeneratedField(
        expression=Concat(Value(WIRE_PREFIX), Cast("id", models.CharField())),
        output_field=models.CharField(max_length=32),
        db_persist=True,
    )

    class Meta:
        ordering = ["resource", "workload", "host", "vdisk"]
        constraints = [
            models.UniqueConstraint(
                fields=["resource", "workload", "host", "vdisk"],
                name="one_allocation_per_workload_host_and_vdisk",
            ),
            models.CheckConstraint(
                condition=models.Q(limit__isnull=True)
                | models.Q(limit__gte=models.F("reservation")),
                name="limit_covers_reservation",
            ),
            models.CheckConstraint(
                condition=models.Q(selector_kind="", selector="")
                | (~models.Q(selector_kind="") & ~models.Q(selector="")),
                name="selector_has_kind_and_value",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workload} on {self.resource}"

    @property
    def weight(self) -> int:
        """Its own shares, otherwise those of the workload's tier; never derived from its load."""
        return self.shares or tier_shares(Tier(self.workload.tier))

    @property
    def recognised_by(self) -> tuple[str, str]:
        """The kind and value by which the host's agent recognises the workload's I/O."""
        if self.selector_kind:
            return self.selector_kind, self.selector
        if self.adapter_kind == AdapterKind.VDISK and self.vdisk:
            # As the samples of the disk are named, such as qemu/101/scsi0.
            return self.adapter_kind, f"{self.adapter}/{self.vdisk}"
        if self.adapter_kind == AdapterKind.CGROUP:
            # Telegraf sends whole paths; agents know groups by their path below the mount.
            return self.adapter_kind, below_mount(self.adapter)
        return self.adapter_kind, self.adapter


WORKLOAD_DETAILS = (
    "workload__identity", "workload__attributes", "workload__reasons", "workload__tags",
    "workload__stated_tags",
)  # fmt: skip
"""Of allocations with their workloads, what few pages show and takes long to read."""


def allocation_id(allocation: Allocation) -> str:
    """The name of an allocation on the wire."""
    return allocation_key(allocation.pk)


def allocation_key(pk: int) -> str:
    """The name on the wire of the allocation with this number."""
    return f"{WIRE_PREFIX}{pk}"


_PREFIXES = ("allocation", "claim")
"""`claim` stands in documents that agents may still hold."""


def allocation_pk(allocation_id: str) -> int | None:
    """The allocation that `allocation_id` names, None if it is not one of ours."""
    prefix, _, number = allocation_id.partition("-")
    if prefix not in _PREFIXES or not number.isdecimal():
        return None
    return pk if (pk := int(number)) <= models.BigIntegerField.MAX_BIGINT else None
