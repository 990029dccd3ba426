"""What came true of earlier advice: the confidence that a recommendation deserves."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.core.forecast.calibration import coverage_of
from advisor.models import POLICY_TOPIC, PredictionScore, Recommendation
from advisor.queries.calibration import outcomes_of

ENOUGH_RATES = 20
MOST_SCORES = 50
"""Older predictions belong to another load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRecord:
    """Measured rates of earlier advice of this kind on this resource, and how many of them lay
    within the range that was told; `meant` is the part that should, None without any.

    Before there are enough it is unproven.
    """

    count: int
    inside: int
    meant: float | None

    @property
    def text(self) -> str:
        if self.meant is None or self.count < ENOUGH_RATES:
            return (
                f"unproven: {self.count} rates of such advice on this resource are measured, "
                f"{ENOUGH_RATES} are needed"
            )
        return (
            f"{self.inside / self.count:.0%} of {self.count} measured rates of such advice on "
            f"this resource lay within the range told, {self.meant:.0%} meant"
        )


def track_record(row: Recommendation) -> TrackRecord | None:
    """That of a policy; None for other advice, whose outcome nobody measures."""
    if row.topic != POLICY_TOPIC:
        return None
    scores = PredictionScore.objects.filter(
        recommendation__resource=row.resource_id, recommendation__topic=POLICY_TOPIC
    )
    earlier = scores.filter(recommendation__created_at__lt=row.created_at)
    newest = earlier.order_by("-scored_at", "-pk")[:MOST_SCORES]
    found = coverage_of(outcomes_of(newest))
    if found is None:
        return TrackRecord(count=0, inside=0, meant=None)
    return TrackRecord(count=found.count, inside=found.inside_count, meant=found.level)


def track_text(row: Recommendation) -> str:
    """In words, also where there is none."""
    found = track_record(row)
    if found is None:
        return "unproven: what such advice leads to is not measured"
    return found.text
