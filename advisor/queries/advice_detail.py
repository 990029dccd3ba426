"""Advice that is not a policy, read from its stored texts: what, why, what approving does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import assert_never

from advisor.advice.host_placement.decide.host_inputs import (
    HostPlacementAdvice,
    HostPlacementInputs,
)
from advisor.advice.limit_check.decide.limit_check import LimitCheck
from advisor.advice.limit_check.decide.limit_inputs import LimitInputs
from advisor.advice.off_peak_work.decide.scsi_conflicts import ConflictInputs, OffPeakAdvice
from advisor.advice.placement.decide.disk_answer import PlacementAdvice
from advisor.advice.placement.decide.disk_inputs import PlacementInputs
from advisor.advice.queue_depth.decide.queue_depth_answer import QueueDepthAdvice, QueueDepthInputs
from advisor.advice.shared.picture import Picture
from advisor.advice.threshold.decide.threshold_advice import ThresholdAdvice, ThresholdInputs
from advisor.core.canonical import CanonicalError, loads
from advisor.core.explanation.answer import Alternative, Confidence
from advisor.core.explanation.effect import Effect
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
from advisor.queries.advice_picture import (
    host_placement_picture,
    limit_picture,
    off_peak_picture,
    placement_picture,
    queue_depth_picture,
    threshold_picture,
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
    try:
        answer, table, facts, picture = _read(Topic(row.topic), row.inputs, row.answer)
    except CanonicalError:
        return None
    return AdviceDetail(
        table=table,
        facts=facts,
        picture=picture,
        effects=answer.effects,
        formula=answer.formula,
        alternatives=answer.alternatives,
        confidence=answer.confidence,
        reversibility=answer.reversibility,
        model_version=answer.model_version,
        commitment=commitment(
            Topic(row.topic),
            row.resource.name,
            threshold=json.loads(row.inputs).get("threshold_ms"),
        ),
    )


def _read(
    topic: Topic, inputs_text: str, answer_text: str
) -> tuple[Answer, AdviceTable, tuple[Fact, ...], Picture | None]:
    answer: Answer
    match topic:
        case Topic.THRESHOLD:
            answer, points = (
                loads(ThresholdAdvice, answer_text),
                loads(ThresholdInputs, inputs_text),
            )
            table, facts = threshold_table(answer, points), threshold_facts(points)
            return answer, table, facts, threshold_picture(points, answer)
        case Topic.QUEUE_DEPTH:
            answer, depths = (
                loads(QueueDepthAdvice, answer_text),
                loads(QueueDepthInputs, inputs_text),
            )
            table, facts = queue_depth_table(answer), queue_depth_facts(depths, answer)
            return answer, table, facts, queue_depth_picture(depths, answer)
        case Topic.OFF_PEAK_WORK:
            answer, conflicts = (
                loads(OffPeakAdvice, answer_text),
                loads(ConflictInputs, inputs_text),
            )
            table, facts = off_peak_table(answer), off_peak_facts(conflicts, answer)
            return answer, table, facts, off_peak_picture(conflicts, answer)
        case Topic.PLACEMENT:
            answer, disks = (
                loads(PlacementAdvice, answer_text),
                loads(PlacementInputs, inputs_text),
            )
            table, facts = placement_table(answer), placement_facts(disks, answer)
            return answer, table, facts, placement_picture(disks, answer)
        case Topic.HOST_PLACEMENT:
            answer = loads(HostPlacementAdvice, answer_text)
            hosts = loads(HostPlacementInputs, inputs_text)
            table, facts = host_placement_table(answer), host_placement_facts(hosts)
            return answer, table, facts, host_placement_picture(hosts, answer)
        case Topic.LIMIT_CHECK:
            answer, limits = loads(LimitCheck, answer_text), loads(LimitInputs, inputs_text)
            table, facts = limit_table(answer), limit_facts(limits)
            return answer, table, facts, limit_picture(limits, answer)
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
