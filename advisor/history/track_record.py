"""What came true of earlier predictions: the confidence that a recommendation deserves."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models import QuerySet

from advisor.core.forecast.calibration import ENOUGH_RATES, Coverage, coverage_of
from advisor.history.measured_rates import outcomes_of
from advisor.models import (
    POLICY_TOPIC,
    NaturalScore,
    PredictionScore,
    Recommendation,
    Resource,
)
from advisor.resource_kinds.registry import traits_of

MOST_SCORES = 50
"""Older predictions belong to another load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackRecord:
    """Measured rates of one resource, and how many of them lay within the range that was told.

    `approved` of them are of advice that was approved, the others of workloads that started or
    stopped by themselves. `meant` is the part that should lie within, None without any. Before
    there are enough it is unproven, whatever `elsewhere` says: the same of other resources of the
    organisation that are of its kind, which is called `kinds`; None where this one has enough.
    """

    count: int
    inside: int
    meant: float | None
    approved: int = 0
    kinds: str = ""
    elsewhere: TrackRecord | None = None

    @property
    def coverage(self) -> Coverage | None:
        """How many lay within; None without any."""
        if self.meant is None:
            return None
        return Coverage(count=self.count, inside_count=self.inside, level=self.meant)

    @property
    def is_proven(self) -> bool:
        return self.coverage is not None and self.coverage.is_proven

    @property
    def text(self) -> str:
        if self.is_proven:
            return _told(self, "this resource")
        unproven = (
            f"unproven: {self.count} rates on this resource are measured, "
            f"{ENOUGH_RATES} are needed"
        )
        if self.elsewhere is None or not self.elsewhere.is_proven:
            return unproven
        return f"{unproven}; {_told(self.elsewhere, f'your other {self.kinds}')}"


def _told(found: TrackRecord, place: str) -> str:
    natural = found.count - found.approved
    origins = [
        f"{found.approved} under approved advice" if found.approved else "",
        f"{natural} after workloads started or stopped by themselves" if natural else "",
    ]
    return (
        f"{found.inside / found.count:.0%} of {found.count} measured rates on {place} lay within "
        f"the range told, {found.meant:.0%} meant ({' and '.join(filter(None, origins))})"
    )


def track_record(row: Recommendation) -> TrackRecord | None:
    """That of a policy; None for other advice, whose outcome nobody measures."""
    if row.topic != POLICY_TOPIC:
        return None
    advised = PredictionScore.objects.filter(
        recommendation__topic=POLICY_TOPIC, recommendation__created_at__lt=row.created_at
    )
    natural = NaturalScore.objects.filter(switched_at__lt=row.created_at)
    own = _record(
        advised.filter(recommendation__resource=row.resource_id),
        natural.filter(resource=row.resource_id),
    )
    if own.is_proven:
        return own
    kin = Resource.objects.filter(organisation=row.organisation_id, kind=row.resource.kind)
    others = kin.exclude(pk=row.resource_id)
    elsewhere = _record(
        advised.filter(recommendation__resource__in=others), natural.filter(resource__in=others)
    )
    return replace(own, kinds=traits_of(row.resource.kind).words.plural, elsewhere=elsewhere)


def _record(advised: QuerySet[PredictionScore], natural: QuerySet[NaturalScore]) -> TrackRecord:
    """Of the newest of these."""
    approved = outcomes_of(advised.order_by("-scored_at", "-pk")[:MOST_SCORES])
    switched = outcomes_of(natural.order_by("-switched_at", "-pk")[:MOST_SCORES])
    found = coverage_of([*approved, *switched])
    if found is None:
        return TrackRecord(count=0, inside=0, meant=None)
    return TrackRecord(
        count=found.count, inside=found.inside_count, meant=found.level, approved=len(approved)
    )


def track_text(row: Recommendation) -> str:
    """In words, also where there is none."""
    found = track_record(row)
    if found is None:
        return "unproven: what such advice leads to is not measured"
    return found.text
