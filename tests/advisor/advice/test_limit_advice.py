"""Limits that misbehave are told from stored samples, each workload's by itself."""

from __future__ import annotations

import json

import pytest

from advisor.advice.advise import advise
from advisor.decisions.decide import reject
from advisor.models import (
    Recommendation,
    Resource,
    ResourceStatus,
)
from tests.advisor.advised_datastores import (
    advice,
    cgroup_lines,
    datastore,
    disk_lines,
    limited,
)
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


@pytest.mark.parametrize(
    ("iops", "finding"),
    [(2000.0, "not_holding"), (200.0, None), (60.0, "over_throttled")],
    ids=["limit passed by", "limit holds", "far below with more waiting"],
)
def test_limit_is_checked_against_what_was_measured(
    cluster: Cluster, iops: float, finding: str | None
) -> None:
    lun = datastore(cluster, "lun", "h1")
    limited(cluster, lun, iops=iops, limit=200.0)

    found = advice(lun, "limit_check")

    if finding is None:
        assert isinstance(found, str)
    else:
        assert isinstance(found, Recommendation)
        assert [row["finding"] for row in json.loads(found.answer)["limits"]] == [finding]


@pytest.mark.parametrize(
    ("io_count", "advised"), [("per_32_kib", False), ("plain", True)], ids=["counted", "plain"]
)
def test_limit_that_counts_by_size_is_judged_by_size(
    cluster: Cluster, io_count: str, *, advised: bool
) -> None:
    lun = datastore(cluster, "lun", "h1")
    # 64 KiB are two counts of 32 KiB: a limit of 200 lets 100 I/Os a second pass
    lines = cgroup_lines("h1", "/db.slice", iops=100, waits=0.9, steps=700, io_bytes=65536)
    disk = disk_lines("h1", "lun", base_ms=0.1, slope_ms=0.01, steps=700)
    send(cluster.organisation, f"{lines}\n{disk}", now=NOW)
    cgroup_allocation(lun, "db", path="/db.slice", limit=200.0, facts={"io_count": io_count})

    found = advice(lun, "limit_check")

    assert isinstance(found, Recommendation) is advised


def two_limits_that_misbehave(cluster: Cluster) -> Resource:
    """Of three limits of 200 IOPS the first is passed by, the second throttles, one holds."""
    lun = datastore(cluster, "lun", "h1")
    rates = {"db": 2000.0, "mail": 60.0, "web": 200.0}
    lines = [cgroup_lines("h1", f"/{name}", iops=rate, waits=0.9, steps=400)
             for name, rate in rates.items()]  # fmt: skip
    disk = disk_lines("h1", "lun", base_ms=0.1, slope_ms=0.01, steps=400)
    send(cluster.organisation, "\n".join([*lines, disk]), now=NOW)
    for name in rates:
        cgroup_allocation(lun, name, limit=200.0)
    return lun


def test_each_workload_whose_limit_misbehaves_has_advice_of_its_own(cluster: Cluster) -> None:
    lun = two_limits_that_misbehave(cluster)

    advise(resource=lun, now=NOW)

    rows = Recommendation.objects.filter(topic="limit_check").order_by("subject")
    assert [(row.subject, row.state) for row in rows] == [("db", "proposed"), ("mail", "proposed")]
    assert (
        "200 IOPS within 200"
        in ResourceStatus.objects.get(resource=lun).other_advice_gaps["limit_check"]
    )


def test_rejecting_advice_on_one_limit_keeps_that_on_another(cluster: Cluster) -> None:
    lun = two_limits_that_misbehave(cluster)
    advise(resource=lun, now=NOW)
    first = Recommendation.objects.get(topic="limit_check", subject="db")
    reject(recommendation=first, user=cluster.people.owner, reason="known", now=NOW)

    advise(resource=lun, now=NOW)

    rows = Recommendation.objects.filter(topic="limit_check").order_by("subject")
    assert [row.state for row in rows] == ["rejected", "proposed"]
