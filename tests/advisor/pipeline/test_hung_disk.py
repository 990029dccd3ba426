"""A disk that hangs is stalled after one window, in a group that is judged together."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.models import Incident, Resource, ResourceStatus, State
from advisor.pipeline.groups import judge_together
from ingest.models import Host
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.django_db

STEP = timedelta(seconds=10)
STEP_MS = 10_000
START = NOW - timedelta(minutes=10)
HANGS_FROM, IN_FLIGHT = 4, 47


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


@pytest.fixture
def disks(cluster: Cluster) -> list[Resource]:
    """`sda` hangs from a moment on, `sdb` does not."""
    found = [stated_datastore(cluster.organisation, name, "h1") for name in ("sda", "sdb")]
    lines = [
        line(name, step, hangs_from=HANGS_FROM if name == "sda" else 100)
        for name in ("sda", "sdb")
        for step in range(8)
    ]
    send(cluster.organisation, "\n".join(lines), now=NOW)
    return found


def line(name: str, step: int, *, hangs_from: int) -> str:
    """1,000 reads of 2 ms in each window before; then as many in flight, and none completes."""
    reads, hung = 1000 * min(step, hangs_from), max(step - hangs_from, 0)
    in_flight = IN_FLIGHT if step >= hangs_from else 0
    return (
        f"diskio,host=h1,name={name} reads={reads}i,writes=0i,read_bytes={reads * 4096}i,"
        f"write_bytes=0i,read_time={reads * 2}i,write_time=0i,"
        f"io_time={reads * 2 + hung * STEP_MS}i,"
        f"weighted_io_time={reads * 2 + hung * STEP_MS * IN_FLIGHT}i,"
        f"iops_in_progress={in_flight}i "
        f"{int((START + step * STEP).timestamp()) * 10**9}"
    )


def states(disks: list[Resource], step: int) -> dict[str, str]:
    """Those of all when the samples of this step have come."""
    at = START + step * STEP
    Host.objects.update(last_sample_at=at)
    judge_together(disks, now=at + timedelta(seconds=1))
    return {
        row.resource.name: row.state for row in ResourceStatus.objects.select_related("resource")
    }


def test_disk_that_hangs_is_stalled_after_its_first_window(disks: list[Resource]) -> None:
    calm = {"sda": State.CLEAR, "sdb": State.CLEAR}
    assert states(disks, HANGS_FROM) == calm

    assert states(disks, HANGS_FROM + 1) == calm | {"sda": State.STALLED}
    status = ResourceStatus.objects.get(resource__name="sda")
    assert status.state_since == START + HANGS_FROM * STEP
    assert status.reason == f"I/O is in flight and none completes: {IN_FLIGHT} on h1"
    incident = Incident.objects.get()
    assert (incident.resource.name, incident.stalled_windows) == ("sda", 1)
