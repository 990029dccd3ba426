"""What a policy did to rates, beside workloads that it did not touch."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.decisions import inventory
from advisor.management.prediction_text import prediction_text
from advisor.models import (
    AdapterKind,
    Policy,
    PredictionScore,
    Resource,
    ResourceKind,
)
from advisor.pipeline.score import (
    score_recommendation,
)
from tests.advisor.pipeline.scored_policies import (
    PREDICTED,
    enforced,
)
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def neighbours(cluster: Cluster, count: int, *, minutes: int) -> None:
    """An uplink of another host on which nothing changes, with so many workloads."""
    names = [f"q{number}" for number in range(count)]
    uplink = inventory.add_resource(
        organisation=cluster.organisation,
        name="h2/up0",
        kind=ResourceKind.UPLINK,
        attachments=[("h2", "up0")],
        capacity=94 * MBIT,
        line_rate=100 * MBIT,
    )
    for name in names:
        inventory.set_allocation(
            resource=uplink,
            workload_name=f"other-{name}",
            host_name="h2",
            adapter_kind=AdapterKind.VNIC,
            adapter=name,
        )
    received = dict.fromkeys(names, 5 * MBIT)
    phase = Phase(intervals=minutes * 6, sent={"up0": count * 5 * MBIT}, received=received)
    lines = net_lines("h2", [phase], start=NOW - timedelta(minutes=minutes))
    send(cluster.organisation, lines, now=NOW)


def measured_around_the_change(cluster: Cluster) -> None:
    """31 of 94 Mbit/s each until the policy, then what it promised."""
    before = Phase(
        intervals=40 * 6,
        sent={"up0": 93 * MBIT},
        received=dict.fromkeys(("p1", "p2", "p3"), 31 * MBIT),
    )
    after = Phase(
        intervals=40 * 6,
        sent={"up0": 94 * MBIT},
        received=dict(zip(("p1", "p2", "p3"), PREDICTED, strict=True)),
    )
    lines = net_lines("h1", [before, after], start=NOW - timedelta(minutes=80))
    send(cluster.organisation, lines, now=NOW)


def test_effect_of_a_policy_is_told_beside_workloads_that_it_did_not_touch(
    cluster: Cluster,
) -> None:
    row = enforced(cluster)
    measured_around_the_change(cluster)
    neighbours(cluster, 6, minutes=80)

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    effects = [rate["effect"]["mean"] for rate in score.rates]
    assert effects == pytest.approx([49 * MBIT, -24 * MBIT, -24 * MBIT], rel=0.01)
    assert [rate["effect"]["donors"] for rate in score.rates] == [6] * 3
    assert "49.0 Mbit/s" in prediction_text(row)


def test_effect_is_unknown_where_everything_shares_the_resource(cluster: Cluster) -> None:
    row = enforced(cluster)
    measured_around_the_change(cluster)

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    assert {rate["effect"] for rate in score.rates} == {None}
    assert "0 workloads that were not changed" in score.rates[0]["effect_gap"]
    assert "unknown: 0 workloads that were not changed" in prediction_text(row)


def test_what_another_policy_changed_is_no_measure(cluster: Cluster) -> None:
    row = enforced(cluster)
    measured_around_the_change(cluster)
    neighbours(cluster, 6, minutes=80)
    other = Resource.objects.get(name="h2/up0")
    Policy.objects.create(
        resource=other,
        organisation=other.organisation,
        version=1,
        created_at=NOW - timedelta(minutes=20),
        allocations=[],
    )

    score = score_recommendation(recommendation=row, now=NOW)

    assert isinstance(score, PredictionScore)
    assert {rate["effect"] for rate in score.rates} == {None}
