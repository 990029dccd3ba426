"""Claims whose VolumeAttributesClass is changed, as advice on a limit was approved."""

from __future__ import annotations

from django.db import models
from django.db.models import TextChoices

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.models.recommendation import Recommendation
from advisor.models.source import ReadSource
from ingest.core.kubernetes.cluster import LONGEST_NAME, LONGEST_NAMESPACE, LONGEST_UID
from ingest.core.lengths import LONGEST_STATED_NAME


class ChangeState(TextChoices):
    """What became of it; only what the cluster says of the volume says that it has the class."""

    WAITING = "waiting"
    RUNNING = "running"
    CHECKING = "checking"
    DONE = "done"
    FAILED = "failed"


OPEN_CHANGES = (ChangeState.WAITING, ChangeState.RUNNING, ChangeState.CHECKING)
"""Those for which something has still to be done."""


class ClassChange(models.Model):
    """One claim of a workload that is to ask for the class `wanted`.

    `former` is the class that it asked for when it was changed, empty for none, to which an undo
    goes back: a change of its own, of which this one is `undoes`. `limit` is in the unit of the
    resource. `said` is why it failed, or what its driver says.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="class_changes"
    )
    recommendation = models.ForeignKey(
        Recommendation, on_delete=models.CASCADE, related_name="class_changes"
    )
    source = models.ForeignKey(ReadSource, on_delete=models.CASCADE, related_name="changes")
    undoes = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.CASCADE, related_name="undone_by"
    )
    workload = models.CharField(max_length=LONGEST_STATED_NAME)
    uid = models.CharField(max_length=LONGEST_UID)
    namespace = models.CharField(max_length=LONGEST_NAMESPACE)
    name = models.CharField(max_length=LONGEST_NAME)
    limit = models.FloatField(null=True)
    former = models.CharField(max_length=LONGEST_NAME, blank=True)
    wanted = models.CharField(max_length=LONGEST_NAME, blank=True)
    state = models.CharField(
        max_length=10, choices=ChangeState.choices, default=ChangeState.WAITING
    )
    asked_at = models.DateTimeField()
    asked_by = models.CharField(max_length=150)
    look_at = models.DateTimeField()
    changed_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    said = models.TextField(blank=True, default="")

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["recommendation", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["source", "uid"],
                condition=models.Q(state__in=OPEN_CHANGES),
                name="claim_has_one_open_change",
            )
        ]

    def __str__(self) -> str:
        return f"{self.claim} to {self.wanted or 'no class'}: {self.state}"

    @property
    def can_be_undone(self) -> bool:
        """Whether it came to a change that was not undone; services look at later ones."""
        has_ended = self.state in (ChangeState.DONE, ChangeState.FAILED)
        was_changed = self.changed_at is not None and self.undoes_id is None
        return has_ended and was_changed and not hasattr(self, "undone_by")

    @property
    def claim(self) -> str:
        """The claim as people call it."""
        return f"{self.namespace}/{self.name}"
