"""Advice that is not a policy, read from its stored texts: what, why, what approving does."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.advice.registry import kind_of
from advisor.advice.shared.picture import Picture
from advisor.advice.shared.shown import AdviceTable, Commitment, Fact
from advisor.core.canonical import CanonicalError, loads
from advisor.core.explanation.answer import Alternative, Confidence
from advisor.core.explanation.effect import Effect
from advisor.core.explanation.explained import PredictedAnswer
from advisor.models import Recommendation


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceDetail:
    """One piece of advice: its changes as a table, its effects, and everything behind them."""

    table: AdviceTable
    facts: tuple[Fact, ...]
    picture: Picture | None
    effects: tuple[Effect, ...]
    formula: str
    alternatives: tuple[Alternative, ...]
    confidence: Confidence
    reversibility: str
    model_version: str
    commitment: Commitment


def advice_detail(row: Recommendation) -> AdviceDetail | None:
    """None if the texts were stored by a version whose answers this one cannot read."""
    kind = kind_of(row)
    if kind is None or kind.show is None:
        return None
    try:
        inputs, answer = loads(kind.inputs, row.inputs), loads(kind.advice, row.answer)
    except CanonicalError:
        return None
    assert isinstance(answer, PredictedAnswer)
    shown = kind.show(inputs, answer, row.resource.name)
    return AdviceDetail(
        table=shown.table,
        facts=shown.facts,
        picture=shown.picture,
        effects=answer.effects,
        formula=answer.formula,
        alternatives=answer.alternatives,
        confidence=answer.confidence,
        reversibility=answer.reversibility,
        model_version=answer.model_version,
        commitment=shown.commitment,
    )
