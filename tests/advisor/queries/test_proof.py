"""The proof of a period: its figures are those of plain SQL, and its hashes can be recomputed."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.db import connection

from advisor.models import Allocation, Policy, Team
from advisor.queries.promises import promised_in, promises_of
from advisor.queries.proof import read_proof
from advisor.queries.report_subject import ReportSubject
from advisor.reports.written_proof import written_proof
from ingest.core.grid import grid_of
from tests.advisor.queries.test_report import BY_SQL, LOST_BY_SQL, day, incident, measured
from tests.advisor.scenario import NOW, Cluster, make_cluster

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def subject_of(allocation: Allocation) -> ReportSubject:
    workload = allocation.workload
    return ReportSubject(organisation=workload.organisation, workload=workload)


def version(allocation: Allocation, number: int, at: datetime, **granted: float) -> Policy:
    """A version that grants this, or without it nothing."""
    item = {"allocation": allocation.pk, "workload": allocation.workload.name, "limit": None}
    return Policy.objects.create(
        organisation=allocation.workload.organisation, resource=allocation.resource,
        version=number, created_at=at, allocations=[item | granted] if granted else [],
    )  # fmt: skip


def test_figures_of_one_workload_are_those_of_plain_sql(cluster: Cluster) -> None:
    allocation = measured(cluster)
    with connection.cursor() as cursor:
        cursor.execute(BY_SQL)
        minutes, asked, kept, _ = cursor.fetchone()

    proof = read_proof(subject_of(allocation), day(), now=NOW)

    (line,) = proof.report.workloads
    assert (line.minutes.measured, line.minutes.asked, line.minutes.kept) == (minutes, asked, kept)
    words = written_proof(proof)
    assert words.measured == f"{minutes}"
    # 20 of 41 minutes, never rounded up
    assert words.words.figures[0].value == "48.78"
    assert [(one.workload, one.reservation, one.limit) for one in words.promises] == [
        ("db", "80.0 IOPS", "100 IOPS")
    ]


def test_minutes_lost_are_those_of_plain_sql_and_of_nobody_else(cluster: Cluster) -> None:
    incident(cluster, "web-1", hours=2.0, shortfall=0.5)
    incident(cluster, "web-2", hours=5.0, shortfall=0.25)
    period = day()
    with connection.cursor() as cursor:
        cursor.execute(LOST_BY_SQL, {"since": period.since, "until": period.until})
        (lost,) = cursor.fetchone()
    allocation = Allocation.objects.get(workload__name="web-1", resource=cluster.uplink)

    proof = read_proof(subject_of(allocation), period, now=NOW)

    assert proof.report.lost_min == pytest.approx(lost) == pytest.approx(30)
    assert proof.report.incidents.count == 1


def test_hash_of_a_version_is_that_of_its_stored_fields(cluster: Cluster) -> None:
    allocation = measured(cluster)
    version(allocation, 1, NOW - 30 * MINUTE, reservation=90.0, shares=1000)

    (found,) = read_proof(subject_of(allocation), day(), now=NOW).versions

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT r.name, p.version, p.created_at, p.allocations, p.pools, p.capacity, p.divides"
            " FROM advisor_policy p JOIN advisor_resource r ON r.id = p.resource_id"
        )
        name, number, at, allocations, pools, capacity, divides = cursor.fetchone()
    fields = {
        "allocations": json.loads(allocations), "capacity": capacity,
        "created_at": at.astimezone(UTC).isoformat(), "divides": divides,
        "pools": json.loads(pools), "resource": name, "version": number,
    }  # fmt: skip
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert found.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert (found.version, found.since, found.until) == (1, NOW - 30 * MINUTE, None)


def test_promises_follow_each_other_and_name_their_version(cluster: Cluster) -> None:
    allocation = measured(cluster)
    first, second = NOW - 40 * MINUTE, NOW - 20 * MINUTE
    version(allocation, 1, first, reservation=90.0, shares=1000)
    version(allocation, 2, second)

    found = read_proof(subject_of(allocation), day(), now=NOW).promises

    assert [(one.since, one.until, one.version, one.reservation) for one in found] == [
        (None, first, None, 80.0),
        (first, second, 1, 90.0),
        # A version that does not name it restores what is stated.
        (second, None, 2, 80.0),
    ]


def test_version_without_a_workload_does_not_take_back_what_was_promised_before(
    cluster: Cluster,
) -> None:
    allocation = measured(cluster)
    version(allocation, 1, NOW - 40 * MINUTE, reservation=90.0, shares=1000)
    version(allocation, 2, NOW - 20 * MINUTE)
    grid = grid_of(NOW - 60 * MINUTE, NOW, 60.0)

    reservation, _ = promised_in(promises_of([allocation])[allocation.pk], grid)

    # Windows that end after a version is made are judged by it: 20 minutes of each.
    assert reservation.tolist() == [80.0] * 20 + [90.0] * 20 + [80.0] * 20
    assert not np.isnan(reservation).any()


def test_proof_of_a_team_without_workloads_says_so(cluster: Cluster) -> None:
    team = Team.objects.create(organisation=cluster.organisation, name="none", tags=["tag=none"])
    subject = ReportSubject(organisation=cluster.organisation, team=team)

    proof = read_proof(subject, day(), now=NOW)

    assert (proof.promises, proof.versions, proof.measuring) == ((), (), ())
    assert written_proof(proof).words.gaps
