"""A recommendation is as credible as what came true of those before it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest

from advisor.core.forecast.prediction_interval import Interval
from advisor.models import PredictionScore, Recommendation, Resource
from advisor.queries.track_record import track_record, track_text
from tests.advisor.scenario import NOW, Cluster, make_cluster, propose
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def scored(
    cluster: Cluster,
    *,
    inside: int,
    outside: int,
    resource: Resource | None = None,
    age: timedelta = timedelta(days=1),
) -> Recommendation:
    """Advice of this age of which so many rates lay within their ranges, and outside of them."""
    row = propose(cluster)
    row.resource = resource or cluster.uplink
    row.state = "approved"
    row.created_at = NOW - age
    row.save()
    told = asdict(Interval(low=90.0, high=110.0, level=0.9))
    rates: list[dict[str, Any]] = [{"measured": 100.0, "interval": told}] * inside
    rates += [{"measured": 120.0, "interval": told}] * outside
    rates.append({"measured": 5.0, "interval": None})
    # What was only suspected is no promise.
    rates += [{"measured": 100.0, "interval": told, "unsure": "0 of 4 calm windows"}] * 20
    PredictionScore.objects.create(
        recommendation=row, scored_at=NOW, began_at=NOW - timedelta(hours=1), ended_at=NOW,
        windows=60, capacity=1000.0, rates=rates, confidence=0.5, error_ratio=0.0,
        worst_error_ratio=0.0, bias_ratio=0.0, skill_ratio=None, held=True,
    )  # fmt: skip
    return row


def test_advice_without_enough_scored_rates_is_unproven(cluster: Cluster) -> None:
    scored(cluster, inside=12, outside=7)

    assert track_text(propose(cluster)) == (
        "unproven: 19 rates of such advice on this resource are measured, 20 are needed"
    )


def test_record_counts_rates_within_the_range_that_was_told(cluster: Cluster) -> None:
    scored(cluster, inside=10, outside=1)
    scored(cluster, inside=8, outside=1)

    assert track_text(propose(cluster)) == (
        "90% of 20 measured rates of such advice on this resource lay within the range told, "
        "90% meant"
    )


def test_record_is_of_this_resource_and_of_earlier_advice(cluster: Cluster) -> None:
    other = stated_datastore(cluster.organisation, "lun", "h1")
    scored(cluster, inside=20, outside=0, resource=other)
    own = scored(cluster, inside=20, outside=0)
    scored(cluster, inside=20, outside=0, age=timedelta(0))

    found = track_record(own)

    assert found is not None
    assert found.count == 0


def test_other_advice_is_never_measured(cluster: Cluster) -> None:
    row = propose(cluster)
    row.topic = "threshold"

    assert track_record(row) is None
    assert track_text(row) == "unproven: what such advice leads to is not measured"
