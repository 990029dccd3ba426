"""Every kind of recommendation by its name, and whether one still follows from its inputs."""

from __future__ import annotations

from advisor.advice.kinds import AdviceKind, answer
from advisor.advice.policy.decide.policy_answer import RecommendationKind
from advisor.advice.queue_depth.decide.queue_depth_answer import QueueDepthKind
from advisor.advice.shared.decide.recommended_allocation import DRAFT
from advisor.core.canonical import CanonicalError
from advisor.models import Recommendation, Topic

KINDS: tuple[tuple[str, str], ...] = (
    (RecommendationKind.SHARES, "policy: shares"),
    (RecommendationKind.RESERVATION, "policy: reservation"),
    (RecommendationKind.LIMIT, "policy: limit"),
    (DRAFT, "policy: draft"),
    (Topic.THRESHOLD, "congestion threshold"),
    (QueueDepthKind.QUEUE_DEPTH, "queue depths"),
    (QueueDepthKind.HOSTS_PER_LUN, "hosts per LUN"),
    (Topic.OFF_PEAK_WORK, "administrative work"),
    (Topic.PLACEMENT, "placement of disks"),
    (Topic.HOST_PLACEMENT, "placement of workloads"),
    (Topic.LIMIT_CHECK, "limits"),
)
"""What `Recommendation.kind` says, and the words for it."""


def recomputes(row: Recommendation) -> bool:
    """Whether its stored inputs give its stored answer again, byte for byte."""
    kind = AdviceKind.WHAT_IF if row.kind == DRAFT else AdviceKind(row.topic)
    try:
        return answer(kind, row.inputs) == row.answer
    except (CanonicalError, ValueError):
        return False
