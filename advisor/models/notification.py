"""Who is told of incidents: channels, rules, silences, what was told, and each message."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from accounts.models.sealed_text import SealedTextField
from advisor.core.digest import MORNING, Digest, Rhythm
from advisor.core.notifying import News, Severity
from advisor.models.choices import choices_of
from advisor.models.resource import Resource
from ingest.core.lengths import LONGEST_STATED_NAME

LONGEST_ADDRESS = 2000
LONGEST_REASON = 300


class ChannelKind(models.TextChoices):
    """By what a message goes; each has a folder in `advisor.notifications.channels`."""

    MAIL = "mail"
    WEBHOOK = "webhook"
    SERVICE = "service"


class DeliveryState(models.TextChoices):
    """What became of a message; one that is gathered goes with others, at their time."""

    GATHERED = "gathered"
    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    GIVEN_UP = "given up"


class NotificationChannel(models.Model):
    """Where messages go: mail addresses, a webhook, or a service by its address of Apprise.

    `secret` signs what a webhook gets. After several messages in a row that could not be sent it
    is stopped, and `stopped_because` says why. With a `rhythm` it gathers what it is to send.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="notification_channels"
    )
    name = models.CharField(max_length=LONGEST_STATED_NAME)
    kind = models.CharField(max_length=10, choices=ChannelKind.choices)
    # That of a service holds what lets one write there.
    address = SealedTextField()
    secret = SealedTextField(blank=True, default="")
    rhythm = models.CharField(
        max_length=4,
        choices=choices_of(Rhythm),
        blank=True,
        default="",
        db_default="",
        help_text="Empty: at once",
    )
    hour = models.PositiveSmallIntegerField(
        default=MORNING,
        db_default=MORNING,
        validators=[MaxValueValidator(23)],
        help_text="Of a day, in the zone",
    )
    zone = models.CharField(
        max_length=60, default="UTC", db_default="UTC", help_text="Like Europe/Berlin"
    )
    failures = models.PositiveIntegerField(default=0, help_text="In a row")
    stopped_at = models.DateTimeField(null=True, blank=True)
    stopped_because = models.CharField(max_length=LONGEST_REASON, blank=True, default="")

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"], name="notification_channel_name_is_unique"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def digest(self) -> Digest | None:
        """When it sends what it gathered; None if it sends at once."""
        if not self.rhythm:
            return None
        return Digest(rhythm=Rhythm(self.rhythm), hour=self.hour, zone=self.zone)


class NotificationRule(models.Model):
    """What `core.notifying.Rule` says, and the channel by which it is told."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="notification_rules"
    )
    name = models.CharField(max_length=LONGEST_STATED_NAME)
    channel = models.ForeignKey(
        NotificationChannel, on_delete=models.CASCADE, related_name="rules"
    )
    least = models.PositiveSmallIntegerField(
        default=Severity.CONGESTED.value,
        validators=[
            MinValueValidator(min(Severity).value),
            MaxValueValidator(max(Severity).value),
        ],
    )
    resources = models.ManyToManyField(Resource, blank=True, related_name="notification_rules")
    teams = models.JSONField(
        default=list, db_default=[], help_text="Names; one that is not there owns nothing"
    )
    tags = models.JSONField(default=list, db_default=[], help_text="Such as label.app=shop")
    quiet = models.JSONField(default=list, help_text="Such as Mon-Fri 22:00 9h, in the zone")
    zone = models.CharField(max_length=60, default="UTC", help_text="Like Europe/Berlin")
    grave_anyway = models.BooleanField(default=True)
    tells_end = models.BooleanField(default=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"], name="notification_rule_name_is_unique"
            )
        ]

    def __str__(self) -> str:
        return self.name


class NotificationSilence(models.Model):
    """Nobody is told of a resource until then; of none, without a resource."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="notification_silences"
    )
    resource = models.ForeignKey(
        Resource,
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="notification_silences",
    )
    until = models.DateTimeField()
    reason = models.CharField(max_length=LONGEST_REASON, blank=True, default="")
    made_by = models.CharField(max_length=200)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "until"]

    def __str__(self) -> str:
        return f"{self.resource or 'everything'} until {self.until:%Y-%m-%d %H:%M}"


class ToldIncident(models.Model):
    """What a rule has told of: a time of a resource, whatever incidents it had or has.

    Until it `is_said` nobody got a message of it: what there is to say is gathered.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="told_incidents"
    )
    rule = models.ForeignKey(NotificationRule, on_delete=models.CASCADE, related_name="told")
    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="told_incidents")
    since = models.DateTimeField()
    until = models.DateTimeField(null=True, blank=True)
    severity = models.PositiveSmallIntegerField()
    is_over = models.BooleanField(default=False)
    is_said = models.BooleanField(default=True, db_default=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-since", "pk"]

    def __str__(self) -> str:
        return f"{self.resource} from {self.since:%Y-%m-%d %H:%M}, by {self.rule}"


class Delivery(models.Model):
    """One message to one channel, and what became of it.

    `told` is None of one about several, and of one to try a channel out, which has no `news`.
    `key` is the same each time it is sent again, so that who gets it twice can tell.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="deliveries"
    )
    channel = models.ForeignKey(
        NotificationChannel, on_delete=models.CASCADE, related_name="deliveries"
    )
    told = models.ForeignKey(
        ToldIncident, null=True, blank=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    key = models.UUIDField(unique=True)
    news = models.CharField(max_length=10, blank=True, default="", choices=choices_of(News))
    message = models.JSONField()
    state = models.CharField(
        max_length=10, choices=DeliveryState.choices, default=DeliveryState.WAITING
    )
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField()
    reason = models.CharField(max_length=LONGEST_REASON, blank=True, default="")
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(
                fields=["next_at"],
                name="delivery_that_waits",
                condition=models.Q(state__in=["gathered", "waiting", "sending"]),
            )
        ]

    def __str__(self) -> str:
        return f"{self.channel}: {self.state}"
