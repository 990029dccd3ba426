"""The fields that every recommendation has, whatever it is about."""

from dataclasses import dataclass

from advisor.core.explanation.answer import AdviceOutcome, Alternative, Confidence
from advisor.core.explanation.effect import Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedAnswer:
    """What to do, what else could be done, how sure that is and how it is undone."""

    outcome: AdviceOutcome = AdviceOutcome.RECOMMENDATION
    summary: str
    alternatives: tuple[Alternative, ...]
    confidence: Confidence
    reversibility: str
    model_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedAnswer(ExplainedAnswer):
    """The same with its formula, and what it predicts number by number."""

    formula: str
    effects: tuple[Effect, ...]
