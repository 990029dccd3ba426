"""Maintenance windows are stated by name, and mute exactly what they explain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from advisor.advice.policy.recommend import recommend
from advisor.decisions.maintenance_windows import add_maintenance_window, remove_maintenance_window
from advisor.errors import InventoryError
from advisor.models import Incident, MaintenanceWindow, Recurrence, ResourceStatus
from advisor.pipeline.muting import maintenance_windows_of, muted_resources, muting_of
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def backup(cluster: Cluster, **changes: Any) -> MaintenanceWindow:
    stated: dict[str, Any] = {
        "organisation": cluster.organisation,
        "name": "backup",
        "starts_at": NOW - timedelta(minutes=30),
        "length": timedelta(hours=1),
        "resources": ["h1/up0"],
        "workloads": ["web-2"],
    }
    return add_maintenance_window(**(stated | changes))


def incident(cluster: Cluster, **changes: Any) -> Incident:
    stated: dict[str, Any] = {
        "started_at": NOW - timedelta(minutes=20),
        "aggressors": [{"workload": "web-2", "rate": 60e6}],
        "victims": [{"workload": "web-3", "rate": 1e6, "reservation": 0.0}],
        "peak_value": 0.99,
        "threshold": 0.9,
    }
    return Incident.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        **(stated | changes),
    )


def reason(cluster: Cluster, row: Incident) -> str:
    return muting_of(row, maintenance_windows_of(cluster.organisation.pk), now=NOW).reason


def test_incident_inside_the_planned_time_is_muted(cluster: Cluster) -> None:
    backup(cluster)
    row = incident(cluster)

    assert muting_of(row, maintenance_windows_of(cluster.organisation.pk), now=NOW).muted
    assert muted_resources(cluster.organisation, now=NOW) == {cluster.uplink.pk: "backup"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"started_at": NOW - timedelta(hours=2)}, "it lasted beyond the time planned"),
        ({"aggressors": [{"workload": "web-9"}]}, 'web-9 is not part of "backup"'),
        (
            {"victims": [{"workload": "web-1", "rate": 40e6, "reservation": 75e6}]},
            "a reservation was not met",
        ),
        (
            {"peak_value": None, "threshold": None, "stalled_windows": 3},
            "I/O did not complete, which no planned work explains",
        ),
    ],
    ids=["too long", "stranger", "broken promise", "a stall"],
)
def test_what_the_job_does_not_explain_is_told(
    cluster: Cluster, changes: dict[str, Any], why: str
) -> None:
    backup(cluster)

    assert why in reason(cluster, incident(cluster, **changes))
    assert muted_resources(cluster.organisation, now=NOW) == {}


def test_other_resources_are_not_muted(cluster: Cluster) -> None:
    other = make_cluster("globex")
    backup(cluster)

    row = incident(other)

    assert reason(other, row) == "no maintenance window was planned for it"


def test_recurring_job_follows_the_wall_clock_of_its_zone(cluster: Cluster) -> None:
    # 14:00 in Berlin is 12:00 UTC in summer and 13:00 UTC in winter.
    backup(
        cluster,
        starts_at=datetime(2026, 7, 1, 12, 0, tzinfo=UTC),
        recurrence=Recurrence.DAILY,
        zone="Europe/Berlin",
    )
    winter = datetime(2026, 11, 20, 13, 10, tzinfo=UTC)

    inside = incident(cluster, started_at=winter, ended_at=winter + timedelta(minutes=20))

    assert reason(cluster, inside) == '"backup" is planned for this time'


def test_nothing_is_recommended_for_a_muted_incident(cluster: Cluster) -> None:
    backup(cluster)
    incident(cluster)

    said = recommend(resource=cluster.uplink, now=NOW)

    assert said == 'maintenance window: "backup" is planned for this time'
    assert ResourceStatus.objects.get(resource=cluster.uplink).advice_gap == said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"resources": ["nowhere"]}, 'there is no resource "nowhere"; there are: h1/up0'),
        ({"workloads": ["web-9"]}, 'there is no workload "web-9"'),
        ({"zone": "Mars/Base"}, '"Mars/Base" is not a time zone'),
        ({"length": timedelta(0)}, "length_s is 0.0"),
        ({"length": timedelta(days=2), "recurrence": Recurrence.DAILY}, "daily work lasts"),
        ({"name": "  "}, "a maintenance window needs a name"),
    ],
)
def test_wrong_statement_is_refused_and_stores_nothing(
    cluster: Cluster, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(InventoryError, match=words):
        backup(cluster, **changes)

    assert not MaintenanceWindow.objects.exists()


def test_name_is_taken_once(cluster: Cluster) -> None:
    backup(cluster)

    with pytest.raises(InventoryError, match='a maintenance window "backup" already'):
        backup(cluster)


def test_removed_job_mutes_no_more(cluster: Cluster) -> None:
    backup(cluster)
    row = incident(cluster)

    remove_maintenance_window(organisation=cluster.organisation, name="backup")

    assert reason(cluster, row) == "no maintenance window was planned for it"
    with pytest.raises(InventoryError, match='no maintenance window "backup"; there are: none'):
        remove_maintenance_window(organisation=cluster.organisation, name="backup")
