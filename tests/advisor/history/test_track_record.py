"""A recommendation is as credible as what came true of those before it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.decisions import inventory
from advisor.history.track_record import track_record, track_text
from advisor.management.prediction_text import accuracy_text
from advisor.models import (
    PredictionScore,
    ResourceKind,
)
from advisor.queries.calibration import APPROVED, NATURAL, accuracy_by_origin
from tests.advisor.scenario import NOW, Cluster, make_cluster, propose
from tests.advisor.scored_predictions import scored, switched
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def test_what_happened_by_itself_counts_before_the_first_approval(cluster: Cluster) -> None:
    switched(cluster.uplink, inside=18, outside=2)

    assert track_text(propose(cluster)) == (
        "90% of 20 measured rates on this resource lay within the range told, 90% meant "
        "(20 after workloads started or stopped by themselves)"
    )


def test_both_origins_count_and_are_told_apart(cluster: Cluster) -> None:
    scored(cluster, inside=10, outside=0)
    switched(cluster.uplink, inside=8, outside=2)

    assert track_text(propose(cluster)).endswith(
        "(10 under approved advice and 10 after workloads started or stopped by themselves)"
    )


def test_other_resources_of_the_kind_are_told_and_prove_nothing(cluster: Cluster) -> None:
    other = inventory.add_resource(
        organisation=cluster.organisation, name="h1/up1", kind=ResourceKind.UPLINK,
        attachments=[("h1", "up1")],
    )  # fmt: skip
    switched(other, inside=19, outside=1)
    switched(stated_datastore(cluster.organisation, "lun", "h1"), inside=0, outside=40)

    found = track_record(propose(cluster))

    assert found is not None
    assert not found.is_proven
    assert found.text == (
        "unproven: 0 rates on this resource are measured, 20 are needed; 95% of 20 measured "
        "rates on your other uplinks lay within the range told, 90% meant "
        "(20 after workloads started or stopped by themselves)"
    )


def test_a_change_after_the_advice_proves_nothing_of_it(cluster: Cluster) -> None:
    switched(cluster.uplink, inside=20, outside=0, age=timedelta(0))
    row = propose(cluster)
    row.created_at = NOW - timedelta(hours=1)

    found = track_record(row)

    assert found is not None
    assert found.count == 0


def test_accuracy_has_a_row_for_each_origin_and_kind(cluster: Cluster) -> None:
    switched(cluster.uplink, inside=3, outside=1)
    switched(stated_datastore(cluster.organisation, "lun", "h1"), inside=1, outside=0)

    rows = accuracy_by_origin(cluster.organisation)

    assert [(one.origin, one.kinds, one.coverage.count) for one in rows] == [
        (NATURAL, "datastores", 1), (NATURAL, "uplinks", 4),
    ]  # fmt: skip
    uplinks = rows[1]
    assert uplinks.coverage.inside_ratio == 0.75
    assert uplinks.bias_ratio == pytest.approx((3 * 5 + 20) / (3 * 105 + 120))
    assert uplinks.crps_ratio == pytest.approx((3 * 3 + 15) / (3 * 105 + 120))


def test_accuracy_of_approved_advice_draws_from_the_range_told(cluster: Cluster) -> None:
    scored(cluster, inside=1, outside=0)

    (row,) = accuracy_by_origin(cluster.organisation)

    assert row.origin == f"{APPROVED}, policy: reservation"
    # 100 was told between 90 and 110 and measured: a point would score 0, the whole range is 20
    assert 0 < row.crps_ratio < 20 / 100 / 4
    assert accuracy_text([row]).splitlines()[0].split()[:2] == ["measured", "after"]


def test_scores_that_did_not_count_all_windows_tell_no_accuracy(cluster: Cluster) -> None:
    scored(cluster, inside=1, outside=1)
    PredictionScore.objects.update(unknown_load_windows=None)

    assert accuracy_by_origin(cluster.organisation) == []


def test_advice_without_enough_scored_rates_is_unproven(cluster: Cluster) -> None:
    scored(cluster, inside=12, outside=7)

    assert track_text(propose(cluster)) == (
        "unproven: 19 rates on this resource are measured, 20 are needed"
    )


def test_record_counts_rates_within_the_range_that_was_told(cluster: Cluster) -> None:
    scored(cluster, inside=10, outside=1)
    scored(cluster, inside=8, outside=1)

    assert track_text(propose(cluster)) == (
        "90% of 20 measured rates on this resource lay within the range told, 90% meant "
        "(20 under approved advice)"
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
