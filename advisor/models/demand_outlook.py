"""Daily peaks of a resource or of a pool, and when they reach what there is."""

from __future__ import annotations

from django.db import models

from advisor.models.pool import Pool
from advisor.models.resource import Resource


class DemandOutlook(models.Model):
    """What was seen of one resource, or of one pool of it, and what is foretold from it.

    `peaks` are of the days up to `last_day`, in the resource's unit, null where too little of a
    day was measured. Those of a pool are what its `members` got together. The day on which a peak
    first reaches `full_rate` lies between `soonest_day` and `latest_day` in 80 % of outcomes;
    empty is beyond `until_day`. `gap` says why nothing is foretold; then all of these are empty.
    """

    resource = models.ForeignKey(
        Resource, on_delete=models.CASCADE, related_name="demand_outlooks"
    )
    pool = models.ForeignKey(
        Pool, null=True, on_delete=models.CASCADE, related_name="demand_outlooks"
    )
    members = models.JSONField(default=list)
    last_day = models.DateField()
    peaks = models.JSONField(default=list)
    full_rate = models.FloatField(null=True)
    until_day = models.DateField(null=True)
    soonest_day = models.DateField(null=True)
    median_day = models.DateField(null=True)
    latest_day = models.DateField(null=True)
    reached_day = models.DateField(null=True)
    ahead = models.JSONField(default=list)
    gap = models.TextField(blank=True)

    class Meta:
        ordering = ["resource", "pool"]
        constraints = [
            models.UniqueConstraint(
                fields=["resource", "pool"],
                nulls_distinct=False,
                name="one_outlook_per_resource_and_pool",
            )
        ]

    def __str__(self) -> str:
        return f"demand of {self.pool or self.resource}"
