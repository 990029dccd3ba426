"""Placement is computed from loads that add up to what the devices carry."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.advice.placement.gather import placement_inputs
from advisor.models import Incident
from advisor.pipeline.detect import detect
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("io_bytes", [8_000, 64_000, 256_000])
def test_loads_and_threshold_are_told_at_the_size_of_the_ios(
    io_bytes: int,
) -> None:
    organisation = make_cluster().organisation
    for name in ("lun", "other"):
        store = stated_datastore(organisation, name, "h1")
        store.size_bytes = 1e12
        store.save()
    lun = organisation.resources.get(name="lun")
    cgroup_allocation(lun, "video", facts={"size_bytes": 1e9})
    # 100 I/Os a second that take 40 ms each: 4 are outstanding, all of them the video's.
    start = NOW - timedelta(minutes=20)
    disk = DiskPhase(intervals=120, iops=100, latency_ms=40.0, io_bytes=io_bytes)
    cgroup = CgroupPhase(intervals=120, iops=100, waits=0.5, io_bytes=io_bytes)
    send(organisation, disk_lines("h1", "lun", [disk], start=start), now=NOW)
    send(organisation, cgroup_lines("h1", "/video", [cgroup], start=start), now=NOW)
    detect(resource=lun, now=NOW)
    Incident.objects.get_or_create(
        organisation=organisation,
        resource=lun,
        started_at=start,
        defaults={"peak_value": 40.0, "threshold": 30.0},
    )

    (inputs,) = placement_inputs(lun, NOW)

    (video,) = inputs.vdisks
    (store,) = (one for one in inputs.datastores if one.datastore == "lun")
    assert video.outstanding_io == pytest.approx(4.0, rel=0.01)
    assert store.other_outstanding_io == pytest.approx(0.0, abs=0.04)
    # 30 ms are stated, for I/Os of 8 kB.
    assert inputs.threshold_ms == pytest.approx(30 * (51_000 + io_bytes) / 59_000, rel=0.01)
