"""Latency, what was done and when something is full are what plain SQL finds."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection

from advisor.core.reporting.report import Report
from advisor.core.reporting.words import words_of
from advisor.models import DemandOutlook, Policy, Pool, PredictionScore, Recommendation, Workload
from advisor.pipeline.detect import detect
from advisor.queries.report_resources import NOT_NAMED, NOT_SCORED, RESTORED
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.queries.test_report import report_of
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster, propose
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.django_db

BEGIN = NOW - timedelta(minutes=50)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def rows_of(statement: str, **parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


LATENCY_BY_SQL = """
WITH interval AS (
    SELECT read_time - lag(read_time) OVER in_order AS took_ms,
           reads - lag(reads) OVER in_order AS ios
      FROM ingest_diskio_sample AS sample
      JOIN ingest_series AS series ON series.id = sample.series_id
     WHERE series.subject = 'sda'
    WINDOW in_order AS (PARTITION BY series_id ORDER BY time)
)
SELECT count(*), percentile_disc(ARRAY[0.95, 0.99]) WITHIN GROUP (ORDER BY took_ms / ios::float8)
  FROM interval WHERE ios > 0
"""


def test_latency_is_that_of_plain_sql(cluster: Cluster) -> None:
    store = stated_datastore(cluster.organisation, "sda", "h1", capacity=1000.0)
    stated_datastore(cluster.organisation, "sdb", "h1")
    phases = [
        DiskPhase(intervals=264, iops=100, latency_ms=4),
        DiskPhase(intervals=20, iops=100, latency_ms=7),
        DiskPhase(intervals=10, iops=100, latency_ms=9),
        DiskPhase(intervals=6, iops=100, latency_ms=11),
    ]
    send(cluster.organisation, disk_lines("h1", "sda", phases, start=BEGIN), now=NOW)
    detect(resource=store, now=NOW)

    (found,) = report_of(cluster).latencies

    ((windows, (p95, p99)),) = rows_of(LATENCY_BY_SQL)
    assert found.resource == "sda"
    assert (found.windows, found.p95_ms, found.p99_ms) == (
        windows, pytest.approx(p95), pytest.approx(p99),
    )  # fmt: skip
    # Of 300 windows 16 are above 7 ms and 6 above 9.
    assert (windows, p95, p99) == (300, 9.0, 11.0)


def published(
    cluster: Cluster, version: int, *, hours: float, error: float | None = None, held: bool = True
) -> Policy:
    """A policy of so many hours ago whose prediction missed by this part of the capacity."""
    row = propose(cluster)
    Recommendation.objects.filter(pk=row.pk).update(state="approved")
    at = NOW - timedelta(hours=hours)
    policy = Policy.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink, version=version,
        allocations=[], recommendation=row, created_at=at,
    )  # fmt: skip
    if error is not None:
        PredictionScore.objects.create(
            recommendation=row, scored_at=NOW, began_at=at, ended_at=NOW, windows=60,
            capacity=100e6, confidence=0.5, error_ratio=error, worst_error_ratio=error,
            bias_ratio=0.0, skill_ratio=None, held=held,
            rates=[
                {"workload": name, "host": "h1", "before": before, "predicted": 60e6,
                 "measured": measured}
                for name, before, measured in (
                    ("web-2", 30e6, 31e6), ("web-1", 20e6, 55e6), ("web-3", 44e6, 8e6),
                )
            ],
        )  # fmt: skip
    return policy


SCORES_BY_SQL = """
SELECT count(*), count(score.id), count(*) FILTER (WHERE held), avg(error_ratio)
  FROM advisor_policy AS policy
  LEFT JOIN advisor_predictionscore AS score
    ON score.recommendation_id = policy.recommendation_id
 WHERE policy.created_at >= '2026-11-20 00:00+00' AND policy.created_at < %(now)s
"""


def scored(cluster: Cluster) -> Report:
    """Two of three policies of the day, and one of the day before."""
    published(cluster, 1, hours=30, error=0.5, held=False)
    published(cluster, 2, hours=6, error=0.02)
    published(cluster, 3, hours=4, error=0.08, held=False)
    published(cluster, 4, hours=2)
    return report_of(cluster)


def test_predictions_and_their_errors_are_those_of_plain_sql(cluster: Cluster) -> None:
    found = scored(cluster).actions

    ((count, of_them, held, error),) = rows_of(SCORES_BY_SQL, now=NOW)
    assert (found.count, found.scored, found.held) == (count, of_them, held) == (3, 2, 1)
    assert found.error_ratio == pytest.approx(error) == pytest.approx(0.05)


def test_what_was_done_is_told_with_what_was_measured(cluster: Cluster) -> None:
    newest, missed, held = scored(cluster).actions.rows

    assert (newest.held, newest.gap, newest.rates) == (None, NOT_SCORED, ())
    assert (missed.held, held.held) == (False, True)
    assert held.summary == "Reserve bandwidth for web-1 on h1/up0"
    # What changed most stands first.
    assert [(one.workload, one.before, one.measured) for one in held.rates] == [
        ("web-3", 44e6, 8e6), ("web-1", 20e6, 55e6), ("web-2", 30e6, 31e6),
    ]  # fmt: skip


def test_words_say_what_it_brought(cluster: Cluster) -> None:
    words = words_of(scored(cluster))

    assert words.actions[2].brought[1] == (
        "web-1: 20.0 Mbit/s to 55.0 Mbit/s, 60.0 Mbit/s predicted"
    )
    assert [one.prediction for one in words.actions] == [
        NOT_SCORED, "missed, mean error 8.0 %", "held, mean error 2.0 %",
    ]  # fmt: skip
    (figure,) = (one for one in words.figures if one.name == "Predictions held")
    assert (figure.value, figure.note) == ("1 of 2", "mean error 5.0 % of the capacity")


def test_what_restores_the_former_is_told_so(cluster: Cluster) -> None:
    Policy.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink, version=1, allocations=[],
        created_at=NOW - timedelta(hours=1),
    )  # fmt: skip

    (row,) = report_of(cluster).actions.rows

    assert (row.summary, row.gap) == (RESTORED, "")


def test_report_of_a_tag_names_no_workload_of_others(cluster: Cluster) -> None:
    Workload.objects.filter(name="web-1").update(tags=["label.team=shop"])
    published(cluster, 1, hours=6, error=0.02)

    (row,) = report_of(cluster, tag="label.team=shop").actions.rows

    assert row.summary == NOT_NAMED
    assert [one.workload for one in row.rates] == ["web-1"]


FULL_BY_SQL = """
SELECT CASE WHEN pool.id IS NULL THEN resource.name
            ELSE format('pool %%s of %%s', pool.name, resource.name) END,
       soonest_day, median_day, latest_day
  FROM advisor_demandoutlook AS outlook
  JOIN advisor_resource AS resource ON resource.id = outlook.resource_id
  LEFT JOIN advisor_pool AS pool ON pool.id = outlook.pool_id
 WHERE soonest_day IS NOT NULL AND resource.organisation_id = %(organisation)s
 ORDER BY soonest_day
"""


def test_full_days_are_those_of_plain_sql(cluster: Cluster) -> None:
    pool = Pool.objects.create(resource=cluster.uplink, name="web")
    calm = Pool.objects.create(resource=cluster.uplink, name="calm")
    for of, soonest, latest in (
        (None, date(2026, 12, 20), None), (pool, date(2026, 12, 1), date(2027, 1, 2)),
        (calm, None, None),
    ):  # fmt: skip
        DemandOutlook.objects.create(
            resource=cluster.uplink, pool=of, last_day=date(2026, 11, 19), full_rate=90e6,
            until_day=date(2027, 2, 1), soonest_day=soonest, latest_day=latest,
            median_day=latest and date(2026, 12, 15),
        )  # fmt: skip

    report = report_of(cluster)

    found = [(one.subject, one.soonest, one.median, one.latest) for one in report.full_days]
    assert found == rows_of(FULL_BY_SQL, organisation=cluster.organisation.pk)
    assert [(one.subject, one.between, one.about) for one in words_of(report).full_days] == [
        ("pool web of h1/up0", "2026-12-01 and 2027-01-02", "2026-12-15"),
        ("h1/up0", "2026-12-20 and a day after 2027-02-01", "\N{EN DASH}"),
    ]  # fmt: skip


def test_nothing_of_another_organisation_is_told(cluster: Cluster) -> None:
    other = make_cluster("lake")
    published(other, 1, hours=6, error=0.02)
    DemandOutlook.objects.create(
        resource=other.uplink, last_day=date(2026, 11, 19), soonest_day=date(2026, 12, 1)
    )

    report = report_of(cluster)

    assert (report.actions.count, report.actions.scored, report.full_days) == (0, 0, ())
