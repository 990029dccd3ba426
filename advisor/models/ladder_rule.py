"""Rules of the ladder: how far Sluice may go with its advice, and when."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from accounts.models.organisation import Organisation, OrganisationOwnedQuerySet
from advisor.core.ladder.rule import Level
from advisor.core.resource import Tier
from advisor.models.choices import choices_of
from advisor.models.resource import Resource
from ingest.core.lengths import LONGEST_STATED_NAME


class LadderRule(models.Model):
    """What `core.ladder.rule.LadderRule` says; what is empty is not stated.

    `kind` is the name of a kind in `advisor.advice.registry`.
    """

    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="ladder_rules"
    )
    name = models.CharField(max_length=LONGEST_STATED_NAME)
    resource = models.ForeignKey(
        Resource, null=True, blank=True, on_delete=models.CASCADE, related_name="ladder_rules"
    )
    tier = models.CharField(max_length=10, blank=True, default="", choices=choices_of(Tier))
    kind = models.CharField(max_length=40, blank=True, default="")
    level = models.CharField(max_length=10, blank=True, default="", choices=choices_of(Level))
    windows = models.JSONField(default=list, help_text="Such as Sat 22:00 6h, in the zone")
    zone = models.CharField(max_length=60, default="UTC", help_text="Like Europe/Berlin")
    frozen_from = models.DateTimeField(null=True, blank=True)
    frozen_until = models.DateTimeField(null=True, blank=True)
    frozen_because = models.TextField(blank=True, default="")
    cooldown_s = models.FloatField(null=True, blank=True)
    most_changes_per_day = models.PositiveIntegerField(null=True, blank=True)
    second_person = models.BooleanField(default=False)

    objects = OrganisationOwnedQuerySet.as_manager()

    class Meta:
        ordering = ["organisation", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"], name="ladder_rule_name_is_unique"
            ),
            models.CheckConstraint(
                condition=Q(frozen_from=None, frozen_until=None)
                | Q(frozen_until__gt=models.F("frozen_from")),
                name="ladder_freeze_ends_after_it_begins",
            ),
        ]

    def __str__(self) -> str:
        return self.name
