"""A policy on the uplink of h1 that an agent applies, and what is measured under it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from advisor.decisions.decide import approve
from advisor.models import (
    Recommendation,
    RecommendationState,
)
from tests.advisor.agent_passes import agent_works
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, propose

APPROVED_AT = NOW - timedelta(minutes=40)
PREDICTED = (80 * MBIT, 7 * MBIT, 7 * MBIT)


def enforced(cluster: Cluster, *, at: datetime = APPROVED_AT) -> Recommendation:
    """An approved policy that the agent of h1 applies from then on."""
    row = approved(cluster, at=at)
    agent_works(cluster.enrolment.host, since=at, until=NOW)
    return row


def approved(cluster: Cluster, *, at: datetime = APPROVED_AT) -> Recommendation:
    """A policy that was predicted to give 80, 7 and 7 of 94 Mbit/s."""
    row = propose(cluster)
    allocations = json.loads(row.answer)["allocations"]
    for allocation, rate in zip(allocations, PREDICTED, strict=True):
        allocation |= {"host": "h1", "predicted_before": 31 * MBIT, "predicted_after": rate}
        allocation["interval"] = {"low": 0.9 * rate, "high": 1.1 * rate, "level": 0.9}
    answer = {"allocations": allocations, "confidence": {"value": 0.9}, "kind": "reservation"}
    Recommendation.objects.filter(pk=row.pk).update(
        answer=json.dumps(answer), created_at=at, expires_at=at + timedelta(days=1)
    )
    row.refresh_from_db()
    approve(recommendation=row, user=cluster.people.owner, now=at)
    row.refresh_from_db()
    assert row.state == RecommendationState.APPROVED
    return row


def measured(cluster: Cluster, *rates: float, minutes: int = 40) -> None:
    received = {f"p{number}": rate for number, rate in enumerate(rates, start=1)}
    phase = Phase(intervals=minutes * 6, sent={"up0": sum(rates)}, received=received)
    start = NOW - timedelta(minutes=minutes)
    send(cluster.organisation, net_lines("h1", [phase], start=start), now=NOW)
