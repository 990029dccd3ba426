"""Reports that are sent regularly, and those that a link opens."""

from __future__ import annotations

from enum import StrEnum

from django.core.validators import MaxValueValidator
from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.core.reporting.schedule import LONGEST_TAG, Every
from advisor.models.choices import choices_of
from advisor.models.notification import LONGEST_REASON, Delivery, NotificationChannel
from advisor.models.team import Team
from ingest.core.lengths import LONGEST_STATED_NAME


class ReportSubscription(models.Model):
    """A report that a channel of mail gets at an hour of a zone.

    `due_at` is when it is to be sent next, and until `claimed_until` somebody makes it. `failures`
    are in a row; after several it is stopped, and `stopped_because` says why.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="report_subscriptions"
    )
    name = models.CharField(max_length=LONGEST_STATED_NAME)
    channel = models.ForeignKey(
        NotificationChannel, on_delete=models.CASCADE, related_name="report_subscriptions"
    )
    every = models.CharField(max_length=10, choices=choices_of(Every))
    hour = models.PositiveSmallIntegerField(validators=[MaxValueValidator(23)])
    zone = models.CharField(max_length=64, default="UTC", help_text="Like Europe/Berlin")
    team = models.ForeignKey(
        Team, null=True, blank=True, on_delete=models.CASCADE, related_name="report_subscriptions"
    )
    tag = models.CharField(max_length=LONGEST_TAG, blank=True, default="")
    due_at = models.DateTimeField()
    claimed_until = models.DateTimeField(null=True, blank=True)
    last_made_at = models.DateTimeField(null=True, blank=True)
    failures = models.PositiveIntegerField(default=0, help_text="In a row")
    stopped_at = models.DateTimeField(null=True, blank=True)
    stopped_because = models.CharField(max_length=LONGEST_REASON, blank=True, default="")

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"], name="report_subscription_name_is_unique"
            )
        ]

    def __str__(self) -> str:
        return self.name


class ReportDelivery(models.Model):
    """The message that brings a report, and its file until it is sent or given up.

    One without a subscription was sent once, because somebody asked.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="report_deliveries"
    )
    subscription = models.ForeignKey(
        ReportSubscription, null=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    delivery = models.OneToOneField(Delivery, on_delete=models.CASCADE, related_name="report")
    html = models.TextField(blank=True, default="")
    file_name = models.CharField(max_length=100, blank=True, default="")
    file = models.BinaryField(default=bytes)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.subscription or 'once'}, {self.file_name}"


class SharedKind(StrEnum):
    """What a link opens."""

    REPORT = "report"
    INCIDENT = "incident"
    PROOF = "proof"

    @property
    def words(self) -> str:
        """It in a sentence."""
        return "an incident" if self is SharedKind.INCIDENT else f"a {self.value}"


class SharedReport(models.Model):
    """A report as it was when it was shared: a link opens it without a login until it expires.

    Of another `kind` it is an incident, or the proof of what a customer was promised and got.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="shared_reports"
    )
    # A worker of the version before, which still runs during an upgrade, shares reports alone.
    kind = models.CharField(
        max_length=10,
        choices=choices_of(SharedKind),
        default=SharedKind.REPORT,
        db_default=models.Value("report"),
    )
    title = models.CharField(max_length=LONGEST_STATED_NAME * 3)
    written = models.JSONField()
    made_by = models.CharField(max_length=200)
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    taken_back_at = models.DateTimeField(null=True, blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-made_at", "-pk"]

    def __str__(self) -> str:
        return self.title
