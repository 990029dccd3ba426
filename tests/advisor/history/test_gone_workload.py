"""A workload that is gone keeps nobody from getting advice."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from advisor.advice.policy.recommend import recommend
from advisor.models import Recommendation
from advisor.pipeline.detect import detect
from advisor.pipeline.look_outside import look_where_due
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db

CALM, CROWDED = 60, 120
"""Intervals of ten seconds."""


@pytest.mark.parametrize("intervals_there", [12, 60])
def test_a_workload_that_is_gone_needs_no_samples(intervals_there: int) -> None:
    organisation = make_cluster().organisation
    lun = stated_datastore(organisation, "lun", "h1")
    start = NOW - timedelta(seconds=10 * (CALM + CROWDED))
    disk = [
        DiskPhase(intervals=CALM, iops=500, latency_ms=5.0),
        DiskPhase(intervals=CROWDED, iops=1000, latency_ms=60.0),
    ]
    send(organisation, disk_lines("h1", "lun", disk, start=start), now=NOW)
    for name, calm, crowded, there in (
        ("db", 300, 200, CROWDED),
        ("noisy", 100, 700, CROWDED),
        ("import", 100, 100, intervals_there),
    ):
        cgroup_allocation(lun, name)
        phases = [
            CgroupPhase(intervals=CALM, iops=calm, waits=0.0),
            CgroupPhase(intervals=there, iops=crowded, waits=0.9),
        ]
        lines = cgroup_lines("h1", f"/{name}", phases, start=start)
        send(organisation, lines, now=NOW)
    detect(resource=lun, now=NOW)
    look_where_due(resource=lun, now=NOW)

    advice = recommend(resource=lun, now=NOW)

    assert isinstance(advice, Recommendation), advice
    rows = {row["workload"]: row for row in json.loads(advice.answer)["allocations"]}
    # Of the 900 that db and noisy got half is due to each, and db wants 300 when all is calm; it
    # waits for answers, and on the full disk these take longer.
    assert 270 <= rows["db"]["predicted_after"] <= 300
    assert rows["import"]["predicted_after"] == 0
