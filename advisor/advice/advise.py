"""Advice that is not a policy: thresholds, queue depths, quiet hours, placement, limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from advisor.advice.host_placement.gather import host_placement_inputs
from advisor.advice.kinds import AdviceKind, answer
from advisor.advice.limit_check.gather import limit_inputs
from advisor.advice.off_peak_work.gather import conflict_inputs
from advisor.advice.one_adviser import be_the_only_adviser
from advisor.advice.placement.gather import placement_inputs
from advisor.advice.queue_depth.gather import queue_depth_inputs
from advisor.advice.recommendation_store import (
    approved_before,
    keep,
    open_advice,
    rejected_before,
    subject_of,
)
from advisor.advice.threshold.gather import threshold_inputs
from advisor.core.canonical import dumps
from advisor.core.explanation.answer import AdviceOutcome
from advisor.models import (
    Recommendation,
    RecommendationState,
    Resource,
    ResourceStatus,
    Topic,
)

Gather = Callable[[Resource, datetime], Sequence[object]]

INPUTS: dict[Topic, Gather] = {
    Topic.THRESHOLD: threshold_inputs,
    Topic.QUEUE_DEPTH: queue_depth_inputs,
    Topic.OFF_PEAK_WORK: conflict_inputs,
    Topic.PLACEMENT: placement_inputs,
    Topic.HOST_PLACEMENT: host_placement_inputs,
    Topic.LIMIT_CHECK: limit_inputs,
}
"""Each gathers the inputs of its topic; none means that it does not apply to the resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """What came of one look: the open recommendation, or why there is none."""

    topic: Topic
    found: Recommendation | str


@transaction.atomic
def advise(
    *, resource: Resource, now: datetime, topics: Collection[Topic] = tuple(INPUTS)
) -> list[Advised]:
    """For each of the topics that applies: its open recommendations, and why there is none.

    Each workload with a limit is looked at by itself; of other topics a resource has one.
    """
    be_the_only_adviser(resource)
    # Everything is computed before the first write, which others wait for until the commit.
    answers = {topic: _answers(resource, topic, now) for topic in topics}
    advised: list[Advised] = []
    for topic, found in answers.items():
        looked = [
            Advised(topic=topic, found=_keep_answer(resource, topic, one, now)) for one in found
        ]
        _withdraw_others(resource, topic, looked)
        advised += looked
    status, _ = ResourceStatus.objects.get_or_create(resource=resource)
    gaps = {name: gap for name, gap in status.other_advice_gaps.items() if name not in topics}
    for one in advised:
        if isinstance(one.found, str):
            gaps[one.topic] = "; ".join(filter(None, (gaps.get(one.topic), one.found)))
    if status.other_advice_gaps != gaps:
        status.other_advice_gaps = gaps
        status.save(update_fields=["other_advice_gaps"])
    return advised


def _answers(resource: Resource, topic: Topic, now: datetime) -> list[tuple[str, str]]:
    """Inputs and answer of each look of this topic, as text."""
    texts = [dumps(inputs) for inputs in INPUTS[topic](resource, now)]
    return [(text, answer(AdviceKind(topic), text)) for text in texts]


def _keep_answer(
    resource: Resource, topic: Topic, looked: tuple[str, str], now: datetime
) -> Recommendation | str:
    """The open recommendation that inputs and answer call for, or why there is none."""
    inputs, found = looked
    plain = json.loads(found)
    summary: str = plain["summary"]
    if plain["outcome"] == AdviceOutcome.INSUFFICIENT_DATA:
        # Samples that are missing now speak against nothing that was found in earlier ones.
        subject = subject_of(topic, inputs)
        return open_advice(resource=resource, topic=topic, subject=subject, now=now) or summary
    if plain["outcome"] != AdviceOutcome.RECOMMENDATION:
        return summary
    rejected = rejected_before(resource=resource, topic=topic, incident=None, found=found, now=now)
    if rejected is not None:
        return f"rejected as {rejected.pk}: {rejected.decision_reason}"
    approved = approved_before(resource=resource, topic=topic, found=found, now=now)
    if approved is not None:
        return f"approved as {approved.pk}, and not done yet"
    return keep(resource=resource, topic=topic, incident=None, inputs=inputs, found=found, now=now)


def _withdraw_others(resource: Resource, topic: Topic, looked: Sequence[Advised]) -> None:
    """What called for other advice of this topic is gone."""
    kept = [one.found.pk for one in looked if isinstance(one.found, Recommendation)]
    Recommendation.objects.filter(
        resource=resource, topic=topic, state=RecommendationState.PROPOSED
    ).exclude(pk__in=kept).update(state=RecommendationState.SUPERSEDED)
