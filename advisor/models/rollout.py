"""How approved policies come to hosts: in stages, with every change of state kept."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.core.rollout import Pace, PolicyStage
from advisor.models.choices import choices_of
from advisor.models.policy import Policy
from advisor.models.resource import Resource
from ingest.models.host import Host

STAGE_S = 600.0
LONGEST_STAGE_S = 3600.0
SETTLE_S = 300.0


class RolloutTerms(models.Model):
    """How an organisation rolls policies out, and whether somebody has stopped that.

    After `longest_s` a stage of which too little is known goes on only if `goes_on_unsure`.
    What is measured within `settle_s` after a policy was applied scores no prediction.
    """

    organisation = models.OneToOneField(
        Organisation, on_delete=models.CASCADE, related_name="rollout_terms"
    )
    staged = models.BooleanField(default=True)
    stage_s = models.FloatField(default=STAGE_S, validators=[MinValueValidator(1.0)])
    longest_s = models.FloatField(default=LONGEST_STAGE_S, validators=[MinValueValidator(1.0)])
    goes_on_unsure = models.BooleanField(default=False)
    settle_s = models.FloatField(
        default=SETTLE_S, db_default=SETTLE_S, validators=[MinValueValidator(1.0)]
    )
    stopped_at = models.DateTimeField(null=True, blank=True)
    stopped_by = models.CharField(max_length=150, blank=True)
    stop_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(longest_s__gte=F("stage_s")), name="longest_stage_is_a_stage"
            )
        ]

    def __str__(self) -> str:
        return f"rollouts of {self.organisation}"

    def stages(self, resource: Resource) -> bool:
        """Whether policies come to this resource in stages; its own setting goes before."""
        return self.staged if resource.staged is None else resource.staged

    @property
    def pace(self) -> Pace:
        return Pace(
            stage_s=self.stage_s, longest_s=self.longest_s, goes_on_unsure=self.goes_on_unsure
        )


class PolicyRollout(models.Model):
    """Where a policy version stands; one that has none was given to all hosts at once.

    Hosts beyond the present stage keep `former`, or what was found without one. `sizes` has how
    many hosts each stage has; all are in the last one, also those that came meanwhile. The stage
    was published at `published_at`, and from `settled_at` on all of its hosts had it in force.
    `guards` is what was found of it last, `waits_for` why the next stage has not begun.
    `guarded_until` is when the last guard ended.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="rollouts"
    )
    policy = models.OneToOneField(Policy, on_delete=models.CASCADE, related_name="rollout")
    former = models.ForeignKey(Policy, null=True, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(
        max_length=12, choices=choices_of(PolicyStage), default=PolicyStage.ROLLING_OUT
    )
    sizes = models.JSONField()
    stage = models.PositiveIntegerField(default=0)
    guarded = models.BooleanField()
    started_at = models.DateTimeField()
    published_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True)
    guarded_until = models.DateTimeField(null=True)
    guards = models.JSONField(default=list)
    waits_for = models.TextField(blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["policy"]

    def __str__(self) -> str:
        return f"{self.policy}: {self.state}"

    @property
    def is_at_last_stage(self) -> bool:
        return self.stage == len(self.sizes) - 1

    @property
    def is_watched(self) -> bool:
        """Whether a guard has still to say that it harms nobody."""
        return self.guarded and self.guarded_until is None

    @property
    def is_partial(self) -> bool:
        """Whether only the hosts of some stages have it."""
        return self.state == PolicyStage.ROLLING_OUT and not self.is_at_last_stage


class RolloutHost(models.Model):
    """A host in the stage in which it gets the version, and when it was given it."""

    rollout = models.ForeignKey(PolicyRollout, on_delete=models.CASCADE, related_name="hosts")
    host = models.ForeignKey(Host, on_delete=models.CASCADE, related_name="+")
    stage = models.PositiveIntegerField()
    released_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["stage", "host__name"]
        constraints = [
            models.UniqueConstraint(fields=["rollout", "host"], name="host_has_one_stage")
        ]

    def __str__(self) -> str:
        return f"{self.host} in stage {self.stage + 1}"


class PolicyChange(models.Model):
    """A change of a policy's state or stage: who made it, when and why."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="policy_changes"
    )
    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="changes")
    state = models.CharField(max_length=12, choices=choices_of(PolicyStage))
    stage = models.PositiveIntegerField()
    at = models.DateTimeField()
    who = models.CharField(max_length=150)
    why = models.TextField(blank=True)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["at", "pk"]

    def __str__(self) -> str:
        return f"{self.policy} {self.state}"

    @property
    def state_words(self) -> str:
        return PolicyStage(self.state).words
