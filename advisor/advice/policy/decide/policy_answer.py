"""What advice on a policy answers: who gets what, on which evidence."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from advisor.advice.shared.decide.recommended_allocation import RecommendedAllocation
from advisor.core.canonical import ADDED
from advisor.core.explanation.answer import (
    InsufficientData,
    NoChange,
)
from advisor.core.explanation.explained import ExplainedAnswer
from advisor.core.forecast.counterfactual import Counterfactual
from advisor.core.pools import PoolTerms


class RecommendationKind(StrEnum):
    """The control that makes the difference."""

    SHARES = "shares"
    RESERVATION = "reservation"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the recommendation rests on; `cause` says why it is these aggressors, or nobody."""

    began_at: datetime
    ended_at: datetime
    sample_count: int
    capacity: float
    capacity_source: str
    peak_value: float
    threshold: float
    victims: tuple[str, ...]
    aggressors: tuple[str, ...]
    formula: str
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(ExplainedAnswer):
    """A policy that would help, and why.

    `counterfactual` is the past week under it; None without one, and `past_gap` says why.
    `lead` is the workload whose gain the summary tells; empty where no gain is certain.
    `justification` says by how much the past week bears out a limit; empty for other kinds.
    `pools` are those that the policy has.
    """

    kind: RecommendationKind
    allocations: tuple[RecommendedAllocation, ...]
    evidence: Evidence
    counterfactual: Counterfactual | None = None
    past_gap: str = ""
    justification: str = ""
    lead: str = ""
    pools: tuple[PoolTerms, ...] = field(default=(), metadata=ADDED)


Advice = Recommendation | InsufficientData | NoChange
