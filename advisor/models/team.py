"""Teams, which own workloads by their tags."""

from __future__ import annotations

from django.db import models

from accounts.models import Membership
from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from ingest.core.lengths import LONGEST_STATED_NAME


class Team(models.Model):
    """Members who own every workload that has one of the `tags`.

    It gives nobody a right: what a member may do, the role says.
    """

    organisation = models.ForeignKey(Organisation, on_delete=models.CASCADE, related_name="teams")
    name = models.CharField(max_length=LONGEST_STATED_NAME)
    tags = models.JSONField(default=list, help_text="Such as label.team=shop")
    members = models.ManyToManyField(Membership, related_name="teams", blank=True)

    objects = OrganisationOwnedQuerySet["Team"].as_manager()

    class Meta:
        ordering = ["organisation", "name"]
        constraints = [
            models.UniqueConstraint(fields=["organisation", "name"], name="team_name_is_unique")
        ]

    def __str__(self) -> str:
        return self.name
