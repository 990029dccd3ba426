"""What advice on a policy answers: who gets what, on which evidence."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from advisor.core.explanation.answer import (
    AdviceOutcome,
    Alternative,
    Confidence,
    InsufficientData,
    NoChange,
)
from advisor.core.forecast.counterfactual import Counterfactual
from advisor.core.forecast.prediction_interval import Interval


class RecommendationKind(StrEnum):
    """The control that makes the difference."""

    SHARES = "shares"
    RESERVATION = "reservation"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommendedAllocation:
    """What one allocation is to get, and what that does to its rate; rates are of its own I/O
    size.

    `entitlement` is what it gets at least while everybody wants everything. `demand` is what it
    wants; None is more than it got, and `demand_gap` says why nobody knows how much: it is empty
    where a queue was measured. `io_cost` is the device time of one of its I/Os, 1 being that of
    the mean I/O of the incident. `measured` is its mean rate in the incident; `predicted_before`
    and `predicted_after` come from the same solver, with the policy in force and with the
    recommended one. None means it was not measured. `interval` is where earlier predictions let
    `predicted_after` be expected; `interval_gap` says why not.
    """

    allocation: int
    workload: str
    host: str
    reservation: float
    limit: float | None
    shares: int
    entitlement: float
    demand: float | None
    measured: float | None
    predicted_before: float
    predicted_after: float
    interval: Interval | None = None
    interval_gap: str = ""
    demand_gap: str = ""
    io_cost: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the recommendation rests on."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A policy that would help, and why.

    `counterfactual` is the past week under it; None without one, and `past_gap` says why.
    `justification` says by how much the past week bears out a limit; empty for other kinds.
    """

    outcome: AdviceOutcome = AdviceOutcome.RECOMMENDATION
    kind: RecommendationKind
    summary: str
    allocations: tuple[RecommendedAllocation, ...]
    evidence: Evidence
    alternatives: tuple[Alternative, ...]
    confidence: Confidence
    reversibility: str
    model_version: str
    counterfactual: Counterfactual | None = None
    past_gap: str = ""
    justification: str = ""


Advice = Recommendation | InsufficientData | NoChange
