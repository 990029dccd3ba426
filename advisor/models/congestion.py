"""Results of the detector."""

from __future__ import annotations

from typing import Any

from django.db import models

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.core.detection.congestion import CongestionState as State
from advisor.core.detection.threshold import ThresholdMode
from advisor.models.choices import choices_of
from advisor.models.resource import Resource


class ResourceStatus(models.Model):
    """The newest state of a resource, and the detector's state to continue from.

    `judged_until` is the end of the last window that was judged, also one without samples;
    `last_window_at` that of the last one with samples, up to which the newest run of states lasts.
    Windows up to `history_until` ended before anybody looked, or are judged again since
    `rewound_at`, from `rewound_to` on. `advice_gap` says why there is no recommendation, for
    example too few samples.
    """

    resource = models.OneToOneField(Resource, on_delete=models.CASCADE, related_name="status")
    state = models.CharField(max_length=10, choices=choices_of(State), default=State.UNKNOWN)
    state_since = models.DateTimeField(null=True, blank=True)
    value = models.FloatField(null=True, blank=True)
    threshold = models.FloatField(null=True, blank=True)
    reason = models.TextField(blank=True)
    silence = models.TextField(
        blank=True, help_text="Devices without samples, or why there are no windows"
    )
    looked_at = models.DateTimeField(null=True, blank=True)
    detector = models.TextField(blank=True, help_text="Canonical text of the state")
    judged_until = models.DateTimeField(null=True, blank=True)
    history_until = models.DateTimeField(null=True, blank=True)
    rewound_at = models.DateTimeField(null=True, blank=True)
    rewound_to = models.DateTimeField(null=True, blank=True)
    last_window_at = models.DateTimeField(null=True, blank=True)
    judged_alone = models.BooleanField(
        default=False, help_text="Judged by itself, because a group with it failed"
    )
    advice_gap = models.TextField(blank=True)
    other_advice_gaps = models.JSONField(
        default=dict, help_text="The same for advice that is not about a policy, by topic"
    )

    class Meta:
        ordering = ["resource"]
        verbose_name_plural = "resource statuses"

    def __str__(self) -> str:
        return f"{self.resource}: {self.state}"

    @property
    def why(self) -> str:
        """The reason of the state, with what is silent."""
        return with_silence(self.reason, self.silence)

    @property
    def is_rejudging(self) -> bool:
        """Whether windows that were judged are judged again."""
        return self.history_until is not None and self.rewound_to is not None


def with_silence(reason: str | None, silence: str | None) -> str:
    """The reason of a state, with what is silent."""
    return "; ".join(part for part in (reason, silence) if part)


class EvaluationGroup(models.Model):
    """Resources of an organisation that one task judges together; `part` counts from 0.

    A group that began and did not end was ended from outside, for example by its time limit.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="evaluation_groups"
    )
    part = models.PositiveIntegerField()
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["organisation", "part"], name="one_row_per_group")
        ]

    def __str__(self) -> str:
        return f"group {self.part} of {self.organisation}"


class StateRun(models.Model):
    """Windows of one state that follow each other: those that end from `first_at` to `until`.

    Of an open run, that is the newest, `until` lags: it lasts until the `last_window_at` of the
    resource's status. `since` may lie before `first_at`, because a
    state is recognised with a delay. `reason` is that of the first window.
    """

    resource = models.ForeignKey(
        Resource, on_delete=models.CASCADE, related_name="state_runs", db_index=False
    )
    state = models.CharField(max_length=10, choices=choices_of(State))
    since = models.DateTimeField()
    first_at = models.DateTimeField()
    until = models.DateTimeField()
    window_s = models.FloatField()
    reason = models.TextField(blank=True)
    is_open = models.BooleanField()

    class Meta:
        ordering = ["resource", "first_at"]
        constraints = [
            models.UniqueConstraint(fields=["resource", "first_at"], name="one_run_per_window"),
            models.UniqueConstraint(
                fields=["resource"],
                condition=models.Q(is_open=True),
                name="one_open_run_per_resource",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.resource} from {self.first_at:%H:%M:%S}: {self.state}"


class LevelRecords(models.Model):
    """What windows of a resource say, packed (`advisor.core.level_records`).

    Of five minutes from `at` on, or, once these are merged, of an hour. `worst` is what a day is
    drawn from (`advisor.core.detection.worst_levels`).
    """

    resource = models.ForeignKey(
        Resource, on_delete=models.CASCADE, related_name="level_records", db_index=False
    )
    at = models.DateTimeField()
    is_hour = models.BooleanField(default=False)
    has_value = models.BooleanField(help_text="Whether some window has a value")
    data = models.BinaryField()
    worst = models.BinaryField()

    class Meta:
        ordering = ["resource", "at"]
        constraints = [
            models.UniqueConstraint(fields=["resource", "at"], name="one_row_per_part_of_levels")
        ]
        indexes = [
            models.Index(fields=["at"], condition=models.Q(is_hour=False), name="levels_to_merge")
        ]

    def __str__(self) -> str:
        return f"{self.resource} from {self.at:%Y-%m-%d %H:%M}"


class NewestRates(models.Model):
    """What each allocation of a resource got in its newest judged window, which ended at `at`.

    `allocations` are keys and `rates` are in the resource's unit, as arrays of 64-bit integers and
    floats (`advisor.history.newest_rates`). `hosts` has what the devices of each host carried, by
    its name, in the unit of the kind's load. What was not measured is not among them.
    """

    resource = models.OneToOneField(
        Resource, on_delete=models.CASCADE, primary_key=True, related_name="newest_rates"
    )
    at = models.DateTimeField()
    allocations = models.BinaryField()
    rates = models.BinaryField()
    # A worker of the version before, which still runs during an upgrade, does not write it.
    hosts = models.JSONField(
        default=dict, db_default=models.Value({}, output_field=models.JSONField())
    )

    class Meta:
        ordering = ["resource"]
        verbose_name_plural = "newest rates"

    def __str__(self) -> str:
        return f"{self.resource} at {self.at:%H:%M:%S}"


class LearntThreshold(models.Model):
    """The threshold of windows that end at `since` or later, until that of a newer row.

    Upkeep learns it each hour by the mode that the resource then has. `value` is None if it could
    not be learnt, which `reason` explains.
    """

    resource = models.ForeignKey(
        Resource, on_delete=models.CASCADE, related_name="learnt_thresholds"
    )
    since = models.DateTimeField()
    mode = models.CharField(max_length=15, choices=choices_of(ThresholdMode))
    value = models.FloatField(null=True)
    reason = models.TextField()

    class Meta:
        ordering = ["resource", "since"]
        constraints = [
            models.UniqueConstraint(
                fields=["resource", "since"], name="one_learnt_threshold_per_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.resource} from {self.since:%Y-%m-%d %H:%M}: {self.value}"


class LearntSizeTerm(models.Model):
    """The size term of a datastore for windows that end at `since` or later, until a newer row's.

    Upkeep looks once a day, last at `looked_at`, and adds a row when the term changes.
    `size_term_bytes` is None as long as none could be learnt: then BASIL's holds. `windows` are
    those of the look that `reason` is of.
    """

    resource = models.ForeignKey(
        Resource, on_delete=models.CASCADE, related_name="learnt_size_terms"
    )
    since = models.DateTimeField()
    size_term_bytes = models.FloatField(null=True)
    windows = models.PositiveIntegerField()
    reason = models.TextField()
    looked_at = models.DateTimeField()

    class Meta:
        ordering = ["resource", "since"]
        constraints = [
            models.UniqueConstraint(
                fields=["resource", "since"], name="one_learnt_size_term_per_time"
            )
        ]

    def __str__(self) -> str:
        return f"{self.resource} from {self.since:%Y-%m-%d %H:%M}: {self.size_term_bytes}"


class IncidentsInForce(models.Manager["Incident"]):
    """All but those that were withdrawn."""

    def get_queryset(self) -> models.QuerySet[Incident]:
        return super().get_queryset().filter(withdrawn_at=None)


class Incident(models.Model):
    """One period of congestion of one resource, however many workloads it affects.

    `victims` and `aggressors` are lists of objects with a workload name and its number;
    `evidence` has its windows. While it is open these are renewed once a minute, and the rest with
    each window. `signals` are those of an uplink in its windows. `external` is None on an uplink,
    and until external load was checked. `peak_value` is None if no I/O completed in any window,
    `threshold` if unknown. One that samples which came late disproved is withdrawn: only `every`
    has it. `cause` says whom the study at `cause_found_at` accuses and why; None before the first
    one, and where too little is known to tell.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="incidents"
    )
    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="incidents")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    peak_value = models.FloatField(null=True, blank=True)
    threshold = models.FloatField(null=True, blank=True)
    windows = models.PositiveIntegerField(default=0, help_text="Congested windows so far")
    stalled_windows = models.PositiveIntegerField(
        default=0, help_text="Those of them in which I/O was in flight and none completed"
    )
    victims = models.JSONField(default=list)
    aggressors = models.JSONField(default=list)
    evidence = models.JSONField(default=list)
    signals = models.JSONField(default=list)
    tally = models.BinaryField(
        null=True, help_text="Sums with which the detector goes on while it is open"
    )
    external = models.JSONField(
        null=True, help_text="Whether load from outside is seen, and what says so"
    )
    looked_outside_until = models.DateTimeField(
        null=True, help_text="The end of the windows that `external` is about"
    )
    cause = models.JSONField(null=True, help_text="Whom the newest study accuses, and why")
    cause_found_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    objects = IncidentsInForce.from_queryset(OrganisationOwnedQuerySet)()
    every = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["-started_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["resource", "started_at"],
                condition=models.Q(withdrawn_at=None),
                name="one_incident_per_start",
            ),
            models.UniqueConstraint(
                fields=["resource"],
                condition=models.Q(ended_at=None, withdrawn_at=None),
                name="one_open_incident_per_resource",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.resource} from {self.started_at:%Y-%m-%d %H:%M}"

    @property
    def culprits(self) -> list[dict[str, Any]]:
        """Whom to name, the first first: who causes it; if that is not known, who took most.

        Each is as in `aggressors`; of one who is not in them, only its share is known.
        """
        if self.cause is None:
            return list(self.aggressors)
        took = {one["workload"]: one for one in self.aggressors}
        return [took.get(one["workload"], one) for one in self.cause["aggressors"]]

    @property
    def only_took_more(self) -> list[dict[str, Any]]:
        """Who took more than its due, and is no cause; empty if the cause is not known."""
        named = {one["workload"] for one in self.culprits}
        return [one for one in self.aggressors if one["workload"] not in named]
