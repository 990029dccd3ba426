"""Planned jobs are stated by name, and mute exactly what they explain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from advisor.advice.recommend import recommend
from advisor.decisions.planned_jobs import add_job, remove_job
from advisor.errors import InventoryError
from advisor.models import Episode, PlannedJob, Recurrence, ResourceStatus
from advisor.pipeline.muting import jobs_of, muted_resources, muting_of
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def backup(cluster: Cluster, **changes: Any) -> PlannedJob:
    stated: dict[str, Any] = {
        "organisation": cluster.organisation,
        "name": "backup",
        "starts_at": NOW - timedelta(minutes=30),
        "length": timedelta(hours=1),
        "resources": ["h1/up0"],
        "workloads": ["web-2"],
    }
    return add_job(**(stated | changes))


def episode(cluster: Cluster, **changes: Any) -> Episode:
    stated: dict[str, Any] = {
        "started_at": NOW - timedelta(minutes=20),
        "aggressors": [{"workload": "web-2", "rate": 60e6}],
        "victims": [{"workload": "web-3", "rate": 1e6, "reservation": 0.0}],
    }
    return Episode.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        peak_value=0.99,
        threshold=0.9,
        **(stated | changes),
    )


def reason(cluster: Cluster, row: Episode) -> str:
    return muting_of(row, jobs_of(cluster.organisation), now=NOW).reason


def test_episode_inside_the_planned_time_is_muted(cluster: Cluster) -> None:
    backup(cluster)
    row = episode(cluster)

    assert muting_of(row, jobs_of(cluster.organisation), now=NOW).muted
    assert muted_resources(cluster.organisation, now=NOW) == {cluster.uplink.pk: "backup"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"started_at": NOW - timedelta(hours=2)}, "it lasted beyond the time planned"),
        ({"aggressors": [{"workload": "web-9"}]}, 'web-9 has no part in "backup"'),
        (
            {"victims": [{"workload": "web-1", "rate": 40e6, "reservation": 75e6}]},
            "a reservation was not met",
        ),
    ],
    ids=["too long", "stranger", "broken promise"],
)
def test_what_the_job_does_not_explain_is_told(
    cluster: Cluster, changes: dict[str, Any], why: str
) -> None:
    backup(cluster)

    assert why in reason(cluster, episode(cluster, **changes))
    assert muted_resources(cluster.organisation, now=NOW) == {}


def test_other_resources_are_not_muted(cluster: Cluster) -> None:
    other = make_cluster("globex")
    backup(cluster)

    row = episode(other)

    assert reason(other, row) == "no job was planned for it"


def test_recurring_job_follows_the_wall_clock_of_its_zone(cluster: Cluster) -> None:
    # 14:00 in Berlin is 12:00 UTC in summer and 13:00 UTC in winter.
    backup(
        cluster,
        starts_at=datetime(2026, 7, 1, 12, 0, tzinfo=UTC),
        recurrence=Recurrence.DAILY,
        zone="Europe/Berlin",
    )
    winter = datetime(2026, 11, 20, 13, 10, tzinfo=UTC)

    inside = episode(cluster, started_at=winter, ended_at=winter + timedelta(minutes=20))

    assert reason(cluster, inside) == '"backup" is planned for this time'


def test_nothing_is_recommended_for_a_muted_episode(cluster: Cluster) -> None:
    backup(cluster)
    episode(cluster)

    said = recommend(resource=cluster.uplink, now=NOW)

    assert said == 'planned job: "backup" is planned for this time'
    assert ResourceStatus.objects.get(resource=cluster.uplink).advice_gap == said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"resources": ["nowhere"]}, 'there is no resource "nowhere"; there are: h1/up0'),
        ({"workloads": ["web-9"]}, 'there is no workload "web-9"'),
        ({"zone": "Mars/Base"}, '"Mars/Base" is not a time zone'),
        ({"length": timedelta(0)}, "length_s is 0.0"),
        ({"length": timedelta(days=2), "recurrence": Recurrence.DAILY}, "daily work lasts"),
        ({"name": "  "}, "a planned job needs a name"),
    ],
)
def test_wrong_statement_is_refused_and_stores_nothing(
    cluster: Cluster, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InventoryError, match=words):
        backup(cluster, **changes)

    assert not PlannedJob.objects.exists()


def test_name_is_taken_once(cluster: Cluster) -> None:
    backup(cluster)

    with pytest.raises(InventoryError, match='a planned job "backup" already'):
        backup(cluster)


def test_removed_job_mutes_no_more(cluster: Cluster) -> None:
    backup(cluster)
    row = episode(cluster)

    remove_job(organisation=cluster.organisation, name="backup")

    assert reason(cluster, row) == "no job was planned for it"
    with pytest.raises(InventoryError, match='no planned job "backup"; there are: none'):
        remove_job(organisation=cluster.organisation, name="backup")
