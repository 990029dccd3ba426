"""Pools of workloads on an uplink."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import models

from advisor.models.resource import Resource
from ingest.core.lengths import LONGEST_STATED_NAME


class Pool(models.Model):
    """A named group of allocations on one uplink; each allocation says which pool it is in.

    `reservation` is for its members alone; what they reserve themselves is in it. `limit` is of
    all of them together, None is none. `shares` are those of the pool beside other pools and
    allocations without one; None: each member counts with its own. Rates are in the resource's
    unit.
    """

    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="pools")
    name = models.CharField(max_length=LONGEST_STATED_NAME)
    reservation = models.FloatField(default=0.0, validators=[MinValueValidator(0.0)])
    limit = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0.0)])
    shares = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["resource", "name"]
        constraints = [
            models.UniqueConstraint(fields=["resource", "name"], name="pool_name_is_unique"),
            models.CheckConstraint(
                condition=models.Q(limit__isnull=True)
                | models.Q(limit__gte=models.F("reservation")),
                name="pool_limit_covers_reservation",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.resource}"
