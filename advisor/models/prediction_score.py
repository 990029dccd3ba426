"""The predicted rates of a recommendation, compared with those under its policy."""

from __future__ import annotations

from django.db import models

from advisor.models.recommendation import Recommendation


class PredictionScore(models.Model):
    """The newest comparison; errors are fractions of the capacity.

    `rates` is a list of objects: workload, host, before, predicted, measured, the mean over the
    windows compared, and measured_in_all; and effect, what the policy did beside workloads that no
    policy touched, or None and why it is not known.
    `windows` counts those that were compared with the prediction, `held_back_windows` those of
    them with less than it told and work that waited. The others had less load than it assumes, or
    it is not known whether they had; None is a score that did not count them.
    """

    recommendation = models.OneToOneField(
        Recommendation, on_delete=models.CASCADE, related_name="prediction_score"
    )
    scored_at = models.DateTimeField()
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    windows = models.PositiveIntegerField()
    held_back_windows = models.PositiveIntegerField(null=True)
    less_load_windows = models.PositiveIntegerField(null=True)
    unknown_load_windows = models.PositiveIntegerField(null=True)
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

    @property
    def all_windows(self) -> int | None:
        """Those in which the policy was in force and had settled; None where nobody counted."""
        if self.less_load_windows is None or self.unknown_load_windows is None:
            return None
        return self.windows + self.less_load_windows + self.unknown_load_windows

    @property
    def loads_text(self) -> str:
        """How many windows were compared, and what the others were."""
        if self.all_windows is None:
            return f"{self.windows} windows compared; how many were not was not counted"
        told = f"{self.windows} of {self.all_windows} windows compared"
        if self.held_back_windows:
            told += f" ({self.held_back_windows} of them fell short while work waited)"
        others = [
            f"in {count} {what}"
            for count, what in (
                (self.less_load_windows, "less was asked for"),
                (self.unknown_load_windows, "it is not known whether less was asked for"),
            )
            if count
        ]
        return f"{told}; {', '.join(others)}" if others else told
