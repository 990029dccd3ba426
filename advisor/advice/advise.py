"""Advice that is not a policy: every kind that gathers its own inputs."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from advisor.advice import registry
from advisor.advice.kind import Kind
from advisor.advice.recommendation_store import (
    REJUDGING_GAP,
    approved_before,
    be_the_only_adviser,
    keep,
    open_advice,
    rejected_before,
    subject_of,
)
from advisor.core.canonical import dumps
from advisor.core.explanation.answer import AdviceOutcome
from advisor.models import (
    Recommendation,
    Resource,
    ResourceStatus,
)
from advisor.pipeline.recommendation_life import NO_CAUSE, supersede


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """What came of one look: the open recommendation, or why there is none."""

    topic: str
    found: Recommendation | str


@transaction.atomic
def advise(
    *, resource: Resource, now: datetime, topics: Collection[str] | None = None
) -> list[Advised]:
    """For each of the topics that applies: its open recommendations, and why there is none.

    Without `topics` it looks for every kind that is gathered. Each workload with a limit is looked
    at by itself; of other topics a resource has one. While late samples are judged, all stays.
    """
    be_the_only_adviser(resource)
    kinds = [
        kind
        for kind in registry.KINDS
        if kind.gather is not None and (topics is None or kind.topic in topics)
    ]
    rejudging = [Advised(topic=kind.topic, found=REJUDGING_GAP) for kind in kinds]
    known = ResourceStatus.objects.filter(resource=resource).first()
    if known is not None and known.is_rejudging:
        return rejudging
    # Everything is computed before the first write, which others wait for until the commit.
    answers = [(kind, _answers(resource, kind, now)) for kind in kinds]
    # Judging again may have begun meanwhile; from here on it waits for the commit.
    status, _ = ResourceStatus.objects.select_for_update().get_or_create(resource=resource)
    if status.is_rejudging:
        return rejudging
    advised: list[Advised] = []
    for kind, found in answers:
        advised += [
            Advised(topic=kind.topic, found=_keep_answer(resource, kind, one, now))
            for one in found
        ]
    asked = {kind.topic for kind, _ in answers}
    _withdraw_others(resource, asked, advised, now)
    gaps = {topic: gap for topic, gap in status.other_advice_gaps.items() if topic not in asked}
    for one in advised:
        if isinstance(one.found, str):
            gaps[one.topic] = "; ".join(filter(None, (gaps.get(one.topic), one.found)))
    if status.other_advice_gaps != gaps:
        status.other_advice_gaps = gaps
        status.save(update_fields=["other_advice_gaps"])
    return advised


def _answers(resource: Resource, kind: Kind[Any, Any], now: datetime) -> list[tuple[str, str]]:
    """Inputs and answer of each look of this kind, as text."""
    assert kind.gather is not None
    texts = [dumps(inputs) for inputs in kind.gather(resource, now)]
    return [(text, kind.answer(text)) for text in texts]


def _keep_answer(
    resource: Resource, kind: Kind[Any, Any], looked: tuple[str, str], now: datetime
) -> Recommendation | str:
    """The open recommendation that inputs and answer call for, or why there is none."""
    inputs, found = looked
    plain = json.loads(found)
    summary: str = plain["summary"]
    if plain["outcome"] == AdviceOutcome.INSUFFICIENT_DATA:
        # Samples that are missing now speak against nothing that was found in earlier ones.
        subject = subject_of(kind, inputs)
        return open_advice(resource=resource, kind=kind, subject=subject, now=now) or summary
    if plain["outcome"] != AdviceOutcome.RECOMMENDATION:
        return summary
    rejected = rejected_before(resource=resource, kind=kind, found=found, now=now)
    if rejected is not None:
        return f"rejected as {rejected.pk}: {rejected.decision_reason}"
    approved = approved_before(resource=resource, kind=kind, found=found, now=now)
    if approved is not None:
        return f"approved as {approved.pk}, and not done yet"
    return keep(resource=resource, kind=kind, incident=None, inputs=inputs, found=found, now=now)


def _withdraw_others(
    resource: Resource, topics: Collection[str], advised: Sequence[Advised], now: datetime
) -> None:
    """What called for other advice on these topics is gone."""
    kept = [one.found.pk for one in advised if isinstance(one.found, Recommendation)]
    others = Recommendation.objects.filter(resource=resource, topic__in=topics)
    supersede(others.exclude(pk__in=kept), now=now, reason=NO_CAUSE)
