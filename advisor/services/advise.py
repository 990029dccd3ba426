"""Advice that is not a policy: thresholds, queue depths, quiet hours, placement, limits."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import transaction

from advisor.core.advice.kinds import AdviceKind, answer
from advisor.core.canonical import dumps
from advisor.core.explanation.answer import AdviceOutcome
from advisor.models import Recommendation, RecommendationState, Resource, ResourceStatus, Topic
from advisor.services.inputs.conflict_inputs import conflict_inputs
from advisor.services.inputs.datastore_inputs import (
    limit_inputs,
    queue_depth_inputs,
    threshold_inputs,
)
from advisor.services.inputs.placement_inputs import host_placement_inputs, placement_inputs
from advisor.services.keep_advice import approved_before, keep, rejected_before

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

Advised = dict[Topic, Recommendation | str]


@transaction.atomic
def advise(*, resource: Resource, now: datetime) -> Advised:
    """For each topic that applies: its open recommendation, or why there is none."""
    ResourceStatus.objects.get_or_create(resource=resource)
    # One adviser a resource at a time.
    status = ResourceStatus.objects.select_for_update().get(resource=resource)
    advised: Advised = {}
    for topic, gather in INPUTS.items():
        texts = [dumps(inputs) for inputs in gather(resource, now)]
        if texts:
            advised[topic] = _advise(resource, topic, texts, now)
        else:
            _withdraw(resource, topic)
    gaps = {topic.value: text for topic, text in advised.items() if isinstance(text, str)}
    if status.other_advice_gaps != gaps:
        status.other_advice_gaps = gaps
        status.save(update_fields=["other_advice_gaps"])
    return advised


def _advise(
    resource: Resource, topic: Topic, texts: list[str], now: datetime
) -> Recommendation | str:
    """The first of the inputs that call for something decides; else the first one's reason."""
    answers = [(text, answer(AdviceKind(topic), text)) for text in texts]
    for inputs, found in answers:
        if json.loads(found)["outcome"] != AdviceOutcome.RECOMMENDATION:
            continue
        rejected = rejected_before(
            resource=resource, topic=topic, episode=None, found=found, now=now
        )
        if rejected is not None:
            return f"rejected as {rejected.pk}: {rejected.decision_reason}"
        approved = approved_before(resource=resource, topic=topic, found=found, now=now)
        if approved is not None:
            return f"approved as {approved.pk}, and not done yet"
        return keep(
            resource=resource, topic=topic, episode=None, inputs=inputs, found=found, now=now
        )
    _withdraw(resource, topic)
    summary: str = json.loads(answers[0][1])["summary"]
    return summary


def _withdraw(resource: Resource, topic: Topic) -> None:
    """What called for the advice is gone."""
    Recommendation.objects.filter(
        resource=resource, topic=topic, state=RecommendationState.PROPOSED
    ).update(state=RecommendationState.SUPERSEDED)
