"""Which windows tell how a datastore answers to load."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.history.load_points import device_day
from tests.advisor.advised_datastores import datastore
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, make_cluster

pytestmark = pytest.mark.django_db

INTERVALS = 120
BUSY = DiskPhase(intervals=INTERVALS, iops=1000, latency_ms=20.0)


@pytest.mark.parametrize(
    ("kept", "depths"),
    [
        (slice(None), {40}),
        # ten samples are missing: eleven windows without a rate, and the rest is whole
        (slice(0, 50), {40, 20}),
        ([*range(50), *range(60, INTERVALS + 1)], {40}),
    ],
    ids=["both hosts", "the other host went away", "the other host has a gap"],
)
def test_window_without_the_load_of_a_host_that_is_back_tells_nothing(
    kept: slice | list[int], depths: set[int]
) -> None:
    cluster = make_cluster()
    lun = datastore(cluster, "lun", "h1", "h2")
    start = NOW - timedelta(seconds=10 * INTERVALS)
    other = disk_lines("h2", "lun", [BUSY], start=start).split("\n")
    lines = other[kept] if isinstance(kept, slice) else [other[place] for place in kept]
    send(cluster.organisation, disk_lines("h1", "lun", [BUSY], start=start), now=NOW)
    send(cluster.organisation, "\n".join(lines), now=NOW)

    points = device_day(lun, until=NOW)

    # Little's law: 1000 a second for 20 ms each are 20 outstanding of each host.
    assert {round(one.outstanding_io) for one in points} == depths
    assert len(points) >= 100
