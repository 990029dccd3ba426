"""Resources, and the devices by which hosts reach them."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.core.allocation import ReservationMode
from advisor.core.detection.alarm_budget import ALARMS_PER_WEEK, LEAST_ALARMS_PER_WEEK
from advisor.core.detection.threshold import ThresholdMode
from advisor.core.resource import Unit
from advisor.models.choices import choices_of
from advisor.resource_kinds.registry import kind_choices, traits_of
from advisor.resource_kinds.traits import ResourceTraits
from ingest.core.lengths import LONGEST_DEVICE, LONGEST_RESOURCE_NAME, LONGEST_STATED_NAME
from ingest.models.host import Host


class Resource(models.Model):
    """What workloads contend for, with its capacity and the meaning of its controls.

    `threshold` is a level of its kind: milliseconds of normalised latency of a datastore, a part
    of capacity (0-1) of an uplink. `capacity` is None until it is set or measured.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="resources"
    )
    name = models.CharField(max_length=LONGEST_RESOURCE_NAME)
    kind = models.CharField(max_length=10, choices=kind_choices)
    unit = models.CharField(max_length=12, choices=choices_of(Unit))
    capacity = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0.0)])
    line_rate = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0.0)],
        help_text="Nominal rate of an uplink; capacity is what is left for payload",
    )
    mode = models.CharField(max_length=10, choices=choices_of(ReservationMode))
    threshold_mode = models.CharField(
        max_length=15, choices=choices_of(ThresholdMode), default=ThresholdMode.FIXED
    )
    threshold = models.FloatField(validators=[MinValueValidator(0.0)])
    baseline_percentile = models.FloatField(
        default=95.0, validators=[MinValueValidator(1.0), MaxValueValidator(99.9)]
    )
    alarms_per_week = models.FloatField(
        null=True,
        blank=True,
        default=ALARMS_PER_WEEK,
        db_default=ALARMS_PER_WEEK,
        validators=[MinValueValidator(LEAST_ALARMS_PER_WEEK)],
        help_text="False alarms that a baseline may raise; empty for the percentile alone",
    )
    shares_alarm_budget = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Has a part of the organisation's budget of false alarms, where there is one",
    )
    activity_floor = models.FloatField(
        help_text="Below this rate, in the resource's unit, it is never congested"
    )
    window_s = models.FloatField(default=10.0, validators=[MinValueValidator(1.0)])
    reservable_ratio = models.FloatField(
        default=0.75, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)]
    )
    lun_queue_depth = models.PositiveIntegerField(
        null=True, blank=True, help_text="Commands it takes from all hosts together"
    )
    size_bytes = models.FloatField(null=True, blank=True)
    used_bytes = models.FloatField(null=True, blank=True)
    copy_bytes_per_s = models.FloatField(
        null=True, blank=True, help_text="How fast virtual disks are copied to and from it"
    )
    disks = models.CharField(
        max_length=LONGEST_STATED_NAME,
        blank=True,
        help_text="Datastores with the same name here share spindles",
    )
    auto_tiered = models.BooleanField(default=False)
    staged = models.BooleanField(
        null=True,
        blank=True,
        help_text="Whether its policies reach hosts in stages; empty as in the organisation",
    )
    discovered = models.BooleanField(default=False)
    identity = models.JSONField(
        default=dict, blank=True, help_text="What it is known by again when it is found"
    )
    reasons = models.JSONField(
        default=list, blank=True, help_text="Why its devices are one, and which are not it"
    )
    derived = models.JSONField(
        default=dict, blank=True, help_text="Columns as facts gave them; others are stated"
    )
    vanished_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "kind", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"], name="resource_name_is_unique"
            ),
            models.CheckConstraint(
                condition=models.Q(capacity__isnull=True) | models.Q(capacity__gt=0),
                name="capacity_is_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def traits(self) -> ResourceTraits:
        """What differs by its kind."""
        return traits_of(self.kind)

    @property
    def noun(self) -> str:
        """What people call it: a datastore that one host alone uses is a volume.

        Lists ask for it with `prefetch_related("attachments")`.
        """
        return self.traits.words.of(len({item.host_id for item in self.attachments.all()}))

    @property
    def reservable(self) -> float | None:
        """What all reservations together may take; None while the capacity is unknown.

        What its kind keeps for the host's own traffic is left out, whatever the ratio is.
        """
        whole = self.line_rate or self.capacity
        if whole is None:
            return None
        return min(self.reservable_ratio * whole, self._beside_host_traffic or whole)

    @property
    def reservable_rule(self) -> str:
        """The rule behind `reservable`, as text."""
        beside, reservable = self._beside_host_traffic, self.reservable
        if beside is not None and reservable == beside:
            return f"the {self.traits.words.noun} less its host's own part"
        of = "line rate" if self.line_rate else "capacity"
        return f"{self.reservable_ratio:.0%} of the {of}"

    @property
    def _beside_host_traffic(self) -> float | None:
        return self.beside_host_traffic(self.capacity or self.line_rate)

    def beside_host_traffic(self, whole: float | None) -> float | None:
        """A capacity without its host's own part; None for a kind without such a part."""
        host_part = self.traits.host_part
        return None if whole is None or host_part is None else whole - host_part(whole)


class SharedAlarmBudget(models.Model):
    """False alarms a week that the baselines of an organisation may raise together."""

    organisation = models.OneToOneField(
        Organisation, on_delete=models.CASCADE, related_name="shared_alarm_budget"
    )
    alarms_per_week = models.FloatField(validators=[MinValueValidator(LEAST_ALARMS_PER_WEEK)])

    def __str__(self) -> str:
        return f"{self.alarms_per_week:g} a week"


class Attachment(models.Model):
    """The device by which a host reaches a resource: a datastore's disk, an uplink's NIC.

    `found` ones follow what collectors say; others were stated.
    """

    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="attachments")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="attachments")
    device = models.CharField(max_length=LONGEST_DEVICE)
    device_queue_depth = models.PositiveIntegerField(null=True, blank=True)
    derived_queue_depth = models.PositiveIntegerField(null=True, blank=True)
    found = models.BooleanField(default=False)

    class Meta:
        ordering = ["resource", "host", "device"]
        constraints = [
            models.UniqueConstraint(fields=["host", "device"], name="device_has_one_resource")
        ]

    def __str__(self) -> str:
        return f"{self.host}:{self.device}"
