"""The stored history: what is kept once the hours of samples are sealed.

The tables of chunks, quarters and days are partitioned by organisation and then by time, which
Django cannot express: a migration makes them, and these models are unmanaged. Their columns have
no constraint to other tables, because retention drops whole partitions.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.models.resource import Resource
from ingest.core.lengths import LONGEST_DEVICE, LONGEST_PATH
from ingest.models.host import Host


class Track(models.Model):
    """One subject that is measured: a device, an interface, a cgroup on a device, a resource.

    `kind` names its figures (`ingest.core.canonical_figures.FIGURES`). A track of a host outlives
    the series of samples that it is made of, whose collector or tags may change.
    """

    id = models.AutoField(primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    host = models.ForeignKey(Host, null=True, on_delete=models.CASCADE, related_name="tracks")
    resource = models.ForeignKey(
        Resource, null=True, on_delete=models.CASCADE, related_name="tracks"
    )
    kind = models.CharField(max_length=12)
    subject = models.CharField(max_length=LONGEST_PATH, blank=True)
    device = models.CharField(
        max_length=LONGEST_DEVICE, blank=True, help_text="Of a cgroup: its number, major:minor"
    )

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["host", "kind", "subject", "device"]
        constraints = [
            models.UniqueConstraint(
                fields=["host", "kind", "subject", "device"], name="track_is_unique"
            ),
            models.UniqueConstraint(fields=["resource"], name="one_track_per_resource"),
            models.CheckConstraint(
                condition=models.Q(host=None) ^ models.Q(resource=None),
                name="track_is_of_a_host_or_a_resource",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject} {self.device}".strip()


class Shard(models.Model):
    """Tracks of one kind that are stored together: those of a resource, else of a host.

    Its chunks have a column per track; `width` is the next free one, and none is used again.
    `newest_hour` is the newest hour that was sealed.
    """

    id = models.AutoField(primary_key=True)
    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=12)
    resource = models.ForeignKey(
        Resource, null=True, on_delete=models.SET_NULL, related_name="shards"
    )
    host = models.ForeignKey(Host, null=True, on_delete=models.SET_NULL, related_name="shards")
    width = models.PositiveSmallIntegerField(default=0)
    newest_hour = models.DateTimeField(null=True, blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "id"]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource or self.host}"


class Member(models.Model):
    """From the hour `since` on, until a later row of the track, it is in this column of the shard.

    Rows are only added, so chunks of the past stay readable as they were written.
    """

    track = models.ForeignKey(Track, on_delete=models.CASCADE, related_name="members")
    shard = models.ForeignKey(Shard, on_delete=models.CASCADE, related_name="members")
    column = models.PositiveSmallIntegerField()
    since = models.DateTimeField()

    class Meta:
        ordering = ["track", "since"]
        constraints = [
            models.UniqueConstraint(fields=["track", "since"], name="one_place_per_track_and_hour")
        ]

    def __str__(self) -> str:
        return f"{self.track_id} in {self.shard_id} from {self.since:%Y-%m-%d %H:%M}"


class StaleDay(models.Model):
    """A day of which hours were sealed since its day rows were made."""

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()

    class Meta:
        ordering = ["organisation", "day"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "day"], name="stale_day_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.day}"


class HistoryRetention(models.Model):
    """How long one organisation keeps each level; without a row the settings hold."""

    organisation = models.OneToOneField(
        Organisation, on_delete=models.CASCADE, related_name="history_retention"
    )
    exact_days = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    quarter_days = models.PositiveIntegerField(validators=[MinValueValidator(1)])
    day_days = models.PositiveIntegerField(validators=[MinValueValidator(1)])

    def __str__(self) -> str:
        return f"{self.exact_days} / {self.quarter_days} / {self.day_days} days"


class DroppedHistory(models.Model):
    """Before this day some exact hours of the organisation were dropped.

    Longer retention does not bring them back.
    """

    organisation = models.OneToOneField(
        Organisation, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    before = models.DateField()

    class Meta:
        verbose_name_plural = "dropped history"

    def __str__(self) -> str:
        return f"{self.before}"


class Chunk(models.Model):
    """An hour of one figure of a shard, packed (`advisor.core.chunk`); it begins `at`."""

    pk = models.CompositePrimaryKey("organisation_id", "shard_id", "figure", "at")
    organisation_id = models.IntegerField()
    shard_id = models.IntegerField()
    figure = models.PositiveSmallIntegerField()
    at = models.DateTimeField()
    data = models.BinaryField()

    objects = models.Manager()

    class Meta:
        db_table = "advisor_history_chunk"
        managed = False

    def __str__(self) -> str:
        return f"figure {self.figure} of shard {self.shard_id} from {self.at:%Y-%m-%d %H:%M}"


class Quarter(models.Model):
    """Mean and maximum of each figure of a track in the 15 minutes that begin `at`.

    Both are in the order of the track's figures; a value is a rate a second, or a gauge as it is,
    and NULL where nothing was known.
    """

    pk = models.CompositePrimaryKey("organisation_id", "track_id", "at")
    organisation_id = models.IntegerField()
    track_id = models.IntegerField()
    at = models.DateTimeField()
    mean = ArrayField(models.FloatField(null=True))
    maximum = ArrayField(models.FloatField(null=True))

    objects = models.Manager()

    class Meta:
        db_table = "advisor_history_quarter"
        managed = False

    def __str__(self) -> str:
        return f"track {self.track_id} from {self.at:%Y-%m-%d %H:%M}"


class Day(models.Model):
    """One figure of a track in one day, UTC; `histogram` as `advisor.core.histogram` makes it."""

    pk = models.CompositePrimaryKey("organisation_id", "track_id", "figure", "day")
    organisation_id = models.IntegerField()
    track_id = models.IntegerField()
    figure = models.PositiveSmallIntegerField()
    day = models.DateField()
    mean = models.FloatField()
    maximum = models.FloatField()
    histogram = models.BinaryField()

    objects = models.Manager()

    class Meta:
        db_table = "advisor_history_day"
        managed = False

    def __str__(self) -> str:
        return f"figure {self.figure} of track {self.track_id} on {self.day}"
