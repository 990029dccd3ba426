"""Advice that is not a policy, read from its stored texts: what, why, what approving does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from advisor.core.advice.queue_depth_answer import QueueDepthAdvice, QueueDepthInputs
from advisor.core.advice.reservation_conflicts import ConflictInputs, OffPeakAdvice
from advisor.core.advice.threshold_advice import ThresholdAdvice, ThresholdInputs
from advisor.core.canonical import CanonicalError, loads
from advisor.core.explanation.answer import Alternative, Confidence
from advisor.core.explanation.effect import Effect
from advisor.core.limits.limit_check import LimitCheck
from advisor.core.limits.limit_inputs import LimitInputs
from advisor.core.placement.disk_answer import PlacementAdvice
from advisor.core.placement.disk_inputs import PlacementInputs
from advisor.core.placement.host_inputs import HostPlacementAdvice, HostPlacementInputs
from advisor.core.quantity import format_rate, significant
from advisor.models import Recommendation, Topic
from advisor.queries.advice_facts import (
    Commitment,
    Fact,
    commitment,
    host_placement_facts,
    limit_facts,
    off_peak_facts,
    placement_facts,
    queue_depth_facts,
    threshold_facts,
)
from advisor.queries.advice_table import (
    AdviceTable,
    host_placement_table,
    limit_table,
    off_peak_table,
    placement_table,
    queue_depth_table,
    threshold_table,
)

Answer = (
    ThresholdAdvice
    | QueueDepthAdvice
    | OffPeakAdvice
    | PlacementAdvice
    | HostPlacementAdvice
    | LimitCheck
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceDetail:
    """One piece of advice: its changes as a table, its effects, and everything behind them."""

    table: AdviceTable
    facts: tuple[Fact, ...]
    effects: tuple[Effect, ...]
    formula: str
    alternatives: tuple[Alternative, ...]
    confidence: Confidence
    reversibility: str
    model_version: str
    commitment: Commitment


def advice_detail(row: Recommendation) -> AdviceDetail | None:
    """None if the texts were stored by a version whose answers this one cannot read."""
    try:
        answer, table, facts = _read(Topic(row.topic), row.inputs, row.answer)
    except CanonicalError:
        return None
    return AdviceDetail(
        table=table,
        facts=facts,
        effects=answer.effects,
        formula=answer.formula,
        alternatives=answer.alternatives,
        confidence=answer.confidence,
        reversibility=answer.reversibility,
        model_version=answer.model_version,
        commitment=commitment(Topic(row.topic), row.resource.name),
    )


def _read(
    topic: Topic, inputs_text: str, answer_text: str
) -> tuple[Answer, AdviceTable, tuple[Fact, ...]]:
    answer: Answer
    match topic:
        case Topic.THRESHOLD:
            answer = loads(ThresholdAdvice, answer_text)
            windows = loads(ThresholdInputs, inputs_text)
            return answer, threshold_table(answer, windows), threshold_facts(windows)
        case Topic.QUEUE_DEPTH:
            answer = loads(QueueDepthAdvice, answer_text)
            facts = queue_depth_facts(loads(QueueDepthInputs, inputs_text), answer)
            return answer, queue_depth_table(answer), facts
        case Topic.OFF_PEAK_WORK:
            answer = loads(OffPeakAdvice, answer_text)
            facts = off_peak_facts(loads(ConflictInputs, inputs_text), answer)
            return answer, off_peak_table(answer), facts
        case Topic.PLACEMENT:
            answer = loads(PlacementAdvice, answer_text)
            facts = placement_facts(loads(PlacementInputs, inputs_text))
            return answer, placement_table(answer), facts
        case Topic.HOST_PLACEMENT:
            answer = loads(HostPlacementAdvice, answer_text)
            facts = host_placement_facts(loads(HostPlacementInputs, inputs_text))
            return answer, host_placement_table(answer), facts
        case Topic.LIMIT_CHECK:
            answer = loads(LimitCheck, answer_text)
            return answer, limit_table(answer), limit_facts(loads(LimitInputs, inputs_text))
        case Topic.POLICY:
            raise ValueError("a policy is read by advisor.queries.recommendations")
        case _:
            assert_never(topic)


def amount_text(value: float | None, unit: str) -> str | None:
    """A number of an effect in its unit: `45 %`, `12.0 ms`, `94.0 Mbit/s`; None stays None."""
    if value is None:
        return None
    if unit == "ratio":
        return f"{value:.0%}".replace("%", " %")
    if unit in ("iops", "bits_per_s", "bytes_per_s"):
        return format_rate(value, unit)
    return f"{significant(value)} {unit}".strip()
