"""Figures of a report are those that plain SQL finds in samples and incidents."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.core.reporting.period import Period, read_period
from advisor.core.reporting.report import Report
from advisor.decisions import inventory
from advisor.models import Allocation, Incident, MaintenanceWindow, ResourceKind, Team, Workload
from advisor.queries.report import NO_PROMISE, NOT_MEASURED, read_report
from advisor.queries.report_subject import ReportSubject
from tests.advisor.disk_samples import CgroupPhase, cgroup_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation

pytestmark = pytest.mark.django_db

DAY = "2026-11-20"
BEGIN = NOW - timedelta(hours=1)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def day(zone: str = "UTC") -> Period:
    return read_period(DAY, ZoneInfo(zone), now=NOW)


def report_of(cluster: Cluster, **chosen: object) -> Report:
    subject = ReportSubject(organisation=cluster.organisation, **chosen)  # type: ignore[arg-type]  # tests name fields
    return read_report(subject, day(), now=NOW)


def measured(cluster: Cluster, *, name: str = "db") -> Allocation:
    """At its limit, then below its reservation and waiting, then idle by its own will."""
    store = inventory.add_resource(
        organisation=cluster.organisation, name=f"ds-{name}", kind=ResourceKind.DATASTORE,
        attachments=[("h1", "sda")], capacity=1000.0,
    )  # fmt: skip
    allocation = cgroup_allocation(store, name, reservation=80.0, limit=100.0)
    phases = [
        CgroupPhase(intervals=120, iops=100, waits=0.9),
        CgroupPhase(intervals=126, iops=50, waits=0.9),
        CgroupPhase(intervals=114, iops=50, waits=0.0),
    ]
    send(cluster.organisation, cgroup_lines("h1", f"/{name}", phases, start=BEGIN), now=NOW)
    return allocation


BY_SQL = """
WITH minute AS (
    SELECT (b.rios + b.wios - a.rios - a.wios) / 60.0 AS rate,
           (q.some_total - p.some_total) / 60e6 >= 0.05 AS waited
      FROM ingest_cgroup_sample AS a
      JOIN ingest_cgroup_sample AS b
        ON b.series_id = a.series_id AND b.time = a.time + interval '1 minute'
      JOIN ingest_cgroup_pressure_sample AS p ON p.time = a.time
      JOIN ingest_cgroup_pressure_sample AS q ON q.time = b.time AND q.series_id = p.series_id
     WHERE date_trunc('minute', a.time) = a.time
)
SELECT count(*),
       count(*) FILTER (WHERE rate >= 0.95 * 80 OR waited),
       count(*) FILTER (WHERE rate >= 0.95 * 80),
       count(*) FILTER (WHERE rate BETWEEN 0.95 * 100 AND 1.25 * 100)
  FROM minute
"""


def test_minutes_are_those_of_plain_sql(cluster: Cluster) -> None:
    measured(cluster)

    with connection.cursor() as cursor:
        cursor.execute(BY_SQL)
        expected = cursor.fetchone()
    (line,) = (one for one in report_of(cluster).workloads if one.name == "db")

    own = line.minutes
    assert (own.measured, own.asked, own.kept, own.throttled) == expected
    # 20 minutes at the limit, the 21 in which it waited, and not the 19 in which it did not
    assert expected == (60, 41, 20, 20)
    assert own.kept_ratio == pytest.approx(20 / 41)


def incident(cluster: Cluster, name: str, *, hours: float, shortfall: float) -> Incident:
    return Incident.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink,
        started_at=NOW - timedelta(hours=hours), ended_at=NOW - timedelta(hours=hours - 1),
        victims=[{"workload": name, "rate": 1.0, "shortfall_ratio": shortfall}],
        aggressors=[{"workload": "web-3"}],
    )  # fmt: skip


LOST_BY_SQL = """
SELECT sum(extract(epoch FROM least(ended_at, %(until)s) - greatest(started_at, %(since)s)) / 60
           * (victim ->> 'shortfall_ratio')::float8)
  FROM advisor_incident, jsonb_array_elements(victims) AS victim
 WHERE victim ->> 'workload' = 'web-1' AND started_at < %(until)s AND ended_at > %(since)s
"""


def test_minutes_lost_are_those_of_plain_sql(cluster: Cluster) -> None:
    for hours, shortfall in ((2.0, 0.5), (5.0, 0.25), (12.5, 0.8), (30.0, 0.9)):
        incident(cluster, "web-1", hours=hours, shortfall=shortfall)
    period = day()

    with connection.cursor() as cursor:
        cursor.execute(LOST_BY_SQL, {"since": period.since, "until": period.until})
        (lost,) = cursor.fetchone()
    report = report_of(cluster)
    line = next(one for one in report.workloads if one.name == "web-1")

    # 60 min of 0.5 and of 0.25, and of 0.8 the half hour after midnight
    assert line.lost_min == pytest.approx(lost) == pytest.approx(30 + 15 + 24)
    assert (line.incidents, report.incidents.count, report.lost_min) == (3, 3, line.lost_min)
    assert report.incidents.rows[0].culprits == ("web-3",)


def test_planned_work_takes_no_minutes(cluster: Cluster) -> None:
    incident(cluster, "web-2", hours=2.0, shortfall=0.5)
    MaintenanceWindow.objects.create(
        organisation=cluster.organisation, name="backup", starts_at=NOW - timedelta(hours=3),
        length_s=7200.0,
    )  # fmt: skip

    report = report_of(cluster)

    assert report.lost_min == 0
    assert [one.planned for one in report.incidents.rows] == ["backup"]


def test_renamed_workload_keeps_what_it_lost(cluster: Cluster) -> None:
    incident(cluster, "web-1", hours=2.0, shortfall=0.5)
    row = Workload.objects.get(name="web-1")
    row.name, row.identity = "shop", {"former": [["web-1", NOW.isoformat()]]}
    row.save()

    line = next(one for one in report_of(cluster).workloads if one.name == "shop")

    assert line.lost_min == pytest.approx(30)


def test_team_has_its_own_workloads_and_incidents_alone(cluster: Cluster) -> None:
    Workload.objects.filter(name="web-1").update(tags=["label.team=shop"])
    incident(cluster, "web-1", hours=2.0, shortfall=0.5)
    incident(cluster, "web-2", hours=4.0, shortfall=0.5)
    team = Team.objects.create(
        organisation=cluster.organisation, name="shop", tags=["label.team=shop"]
    )

    for report in (report_of(cluster, team=team), report_of(cluster, tag="label.team=shop")):
        assert [one.name for one in report.workloads] == ["web-1"]
        assert [one.victims for one in report.incidents.rows] == [("web-1",)]


def test_nothing_of_another_organisation_is_in_it(cluster: Cluster) -> None:
    other = make_cluster("lake")
    incident(other, "web-1", hours=2.0, shortfall=0.5)

    report = report_of(cluster)

    assert len(report.workloads) == 3
    assert (report.incidents.count, report.lost_min) == (0, 0)


def test_what_is_not_known_has_its_reason(cluster: Cluster) -> None:
    report = report_of(cluster)

    assert {one.name: one.gap for one in report.workloads} == {
        "web-1": NOT_MEASURED, "web-2": NO_PROMISE, "web-3": NO_PROMISE,
    }  # fmt: skip
    assert report.minutes.kept_ratio is None


def test_team_without_workloads_is_told_so(cluster: Cluster) -> None:
    report = report_of(cluster, tag="label.team=none")

    assert report.workloads == ()
    assert report.gaps == ("There were no such workloads in this period.",)


def test_minutes_that_are_not_kept_any_more_are_told(cluster: Cluster) -> None:
    subject = ReportSubject(organisation=cluster.organisation)
    long_ago = read_period("2026-09-01", ZoneInfo("UTC"), now=NOW)

    nothing, gap = read_report(subject, long_ago, now=NOW).gaps

    assert "Nothing was measured" in nothing
    assert "are not kept any more" in gap


def test_days_of_a_zone_have_their_own_minutes(cluster: Cluster) -> None:
    incident(cluster, "web-1", hours=12.5, shortfall=1.0)
    subject = ReportSubject(organisation=cluster.organisation)

    # From 23:30 to 00:30 UTC: in Berlin all of it is after midnight.
    found = read_report(subject, day("Europe/Berlin"), now=NOW)

    assert found.period.since == datetime(2026, 11, 19, 23, tzinfo=UTC)
    assert found.lost_min == pytest.approx(60)


def test_more_workloads_ask_no_more_statements(cluster: Cluster) -> None:
    measured(cluster)
    report_of(cluster)
    with CaptureQueriesContext(connection) as few:
        report_of(cluster)
    store = Allocation.objects.get(workload__name="db").resource
    for number in range(20):
        cgroup_allocation(store, f"more-{number}", reservation=1.0)
    with CaptureQueriesContext(connection) as many:
        report_of(cluster)

    assert len(many) == len(few)
