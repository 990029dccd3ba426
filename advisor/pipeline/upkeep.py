"""Ending what is too old."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from advisor.models import ComplianceRecord, Recommendation, RecommendationState, StatePoint

KEEP = timedelta(days=30)
"""Conclusions per window are kept as long as the samples they were drawn from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tidied:
    """How many rows were ended or removed."""

    expired: int
    state_points: int
    compliance_records: int


def tidy(*, now: datetime) -> Tidied:
    """Expire undecided recommendations and remove windows and reports beyond retention."""
    expired = Recommendation.objects.filter(
        state=RecommendationState.PROPOSED, expires_at__lte=now
    ).update(state=RecommendationState.EXPIRED)
    points, _ = StatePoint.objects.filter(at__lt=now - KEEP).delete()
    records, _ = ComplianceRecord.objects.filter(reported_at__lt=now - KEEP).delete()
    return Tidied(expired=expired, state_points=points, compliance_records=records)
