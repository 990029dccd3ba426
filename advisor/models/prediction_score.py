"""The predicted rates of a recommendation, compared with those under its policy."""

from __future__ import annotations

from django.db import models

from advisor.models.recommendation import Recommendation


class PredictionScore(models.Model):
    """The newest comparison; errors are fractions of the capacity.

    `rates` is a list of objects: workload, host, before, predicted, measured; and effect, what the
    policy did beside workloads that no policy touched, or None and why it is not known.
    `windows` counts those with as much load as the prediction assumes.
    """

    recommendation = models.OneToOneField(
        Recommendation, on_delete=models.CASCADE, related_name="prediction_score"
    )
    scored_at = models.DateTimeField()
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    windows = models.PositiveIntegerField()
    capacity = models.FloatField()
    rates = models.JSONField()
    confidence = models.FloatField()
    error_ratio = models.FloatField()
    worst_error_ratio = models.FloatField()
    bias_ratio = models.FloatField()
    skill_ratio = models.FloatField(null=True)
    held = models.BooleanField()

    class Meta:
        ordering = ["-scored_at"]

    def __str__(self) -> str:
        return f"{self.recommendation_id}: {'held' if self.held else 'missed'}"
