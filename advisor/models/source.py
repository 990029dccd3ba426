"""What Sluice reads by itself, again and again: vCenters and Kubernetes clusters."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from accounts.models.sealed_text import SealedTextField
from ingest.core.kubernetes.cluster import LONGEST_LABEL
from ingest.core.lengths import LONGEST_STATED_NAME

LONGEST_ADDRESS = 300
LONGEST_USER = 200
LONGEST_PASSWORD = 500
LONGEST_AUTHORITY = 20_000
LONGEST_TOKEN = 10_000
LONGEST_SAID = 1000
LONGEST_RATES = 500
LEAST_EVERY_MIN, MOST_EVERY_MIN = 5, 7 * 24 * 60
USUAL_EVERY_MIN = 60
USUAL_TIER_LABEL = "sluice.io/tier"


class SourceKind(models.TextChoices):
    """What a source is."""

    VCENTER = "vcenter", "vCenter"
    KUBERNETES = "kubernetes", "Kubernetes"


class ReadSource(models.Model):
    """A vCenter or a Kubernetes cluster that is read every so many minutes.

    `password` is stored sealed; of a cluster it is the token, and there is no `user`. The
    certificate is checked: the one whose
    SHA-256 is the `fingerprint`, else one that the `authority` signed, else one that the system
    trusts. If it `takes_over`, what differs is stated here; else it is only told. `began_at` is
    set while it is read. What was found, or why not, is in `says`; `trial_...` are of the newest
    test. A removed one stays for a day, so that it can be put back.
    `tier_label` names the label of pods that gives a workload its tier; empty: none does.
    `class_rates` says what parameters of VolumeAttributesClasses mean, as `iops=IOPS`; empty: no
    claim is given another class.
    `kept_at` is when what was read of a cluster last differed from what was kept.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="sources"
    )
    kind = models.CharField(
        max_length=20,
        choices=SourceKind.choices,
        default=SourceKind.VCENTER,
        db_default=SourceKind.VCENTER,
    )
    name = models.CharField(max_length=LONGEST_STATED_NAME)
    address = models.CharField(max_length=LONGEST_ADDRESS)
    user = models.CharField(max_length=LONGEST_USER)
    password = SealedTextField()
    fingerprint = models.CharField(max_length=64, blank=True, default="")
    authority = models.TextField(max_length=LONGEST_AUTHORITY, blank=True, default="")
    every_min = models.PositiveIntegerField(
        default=USUAL_EVERY_MIN,
        validators=[MinValueValidator(LEAST_EVERY_MIN), MaxValueValidator(MOST_EVERY_MIN)],
    )
    takes_over = models.BooleanField(default=False)
    class_rates = models.CharField(max_length=LONGEST_RATES, blank=True, default="", db_default="")
    tier_label = models.CharField(max_length=LONGEST_LABEL, blank=True, default="", db_default="")
    paused_at = models.DateTimeField(null=True, blank=True)
    removed_at = models.DateTimeField(null=True, blank=True)
    next_at = models.DateTimeField()
    began_at = models.DateTimeField(null=True, blank=True)
    read_at = models.DateTimeField(null=True, blank=True)
    kept_at = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0, help_text="In a row")
    says = models.CharField(max_length=LONGEST_SAID, blank=True, default="")
    trial_asked_at = models.DateTimeField(null=True, blank=True)
    trial_at = models.DateTimeField(null=True, blank=True)
    trial_worked = models.BooleanField(null=True)
    trial_says = models.CharField(max_length=LONGEST_SAID, blank=True, default="")

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        # Of the time when there were vCenters alone: tables are not renamed.
        db_table = "advisor_vcentersource"
        ordering = ["organisation", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"],
                condition=models.Q(removed_at=None),
                name="source_name_is_unique",
            )
        ]
        indexes = [
            models.Index(
                fields=["next_at"],
                name="source_to_read",
                condition=models.Q(paused_at=None, removed_at=None),
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def has_password(self) -> bool:
        """Whether one is stored; it is not opened for that."""
        return bool(self.__dict__.get("password"))

    @property
    def is_tried(self) -> bool:
        """Whether somebody waits for the end of a test."""
        return self.trial_asked_at is not None and (
            self.trial_at is None or self.trial_at < self.trial_asked_at
        )
