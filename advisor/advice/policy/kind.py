"""Advice on a policy: shares, reservations and limits together."""

from __future__ import annotations

from advisor.advice.kind import Kind, LimitToHold, Stored, Variant
from advisor.advice.policy.decide.policy_advice import advise
from advisor.advice.policy.decide.policy_answer import Recommendation, RecommendationKind
from advisor.advice.policy.decide.policy_inputs import AdviceInputs
from advisor.advice.shared.policies import granted
from advisor.models import POLICY_TOPIC


def _limits(answer: Stored, _subject: str) -> tuple[LimitToHold, ...]:
    """Those of the policy; a text that no page can read has none."""
    return tuple(
        LimitToHold(
            workload=row["workload"], limit=row["limit"], reservation=row["reservation"] or 0.0
        )
        for row in answer.get("allocations", ())
        if row.get("limit")
    )


POLICY = Kind(
    name="policy",
    topic=POLICY_TOPIC,
    words="policy",
    variants=(
        Variant(
            name=RecommendationKind.SHARES,
            words="policy: shares",
            needs_samples="the device and the workloads' adapters, 30 windows of an incident",
            needs_stated="allocations with tiers or shares",
            approving="publishes a policy",
        ),
        Variant(
            name=RecommendationKind.RESERVATION,
            words="policy: reservation",
            needs_samples="the same",
            needs_stated="a reservation, or the high tier and a calm day before",
            approving="publishes a policy",
        ),
        Variant(
            name=RecommendationKind.LIMIT,
            words="policy: limit",
            needs_samples="the same, and a day of history",
            needs_stated="a policy in force that did not help",
            approving="publishes a policy",
        ),
    ),
    inputs=AdviceInputs,
    advice=Recommendation,
    decide=advise,
    essence=granted,
    publishes=True,
    limits=_limits,
)
