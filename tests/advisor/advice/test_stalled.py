"""A device that hangs: from the samples of its host to state, incident, alarm and advice."""

from __future__ import annotations

from datetime import timedelta

import pytest

from advisor.advice.policy.recommend import recommend
from advisor.history.levels import read_points
from advisor.models import Incident, Resource, ResourceStatus
from advisor.pipeline.detect import detect
from advisor.queries.heat import Level, heat_strips
from tests.advisor.judged_windows import EVER
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import stated_datastore

pytestmark = pytest.mark.django_db

STEP = timedelta(seconds=10)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def disk(
    cluster: Cluster, seen: str, *, in_flight: str = "", busy_while_hung: bool = False
) -> Resource:
    """A datastore by letter per sample, the last of which is taken now.

    `.` is after 1000 reads of 4 ms, `!` after none with 47 in flight, `_` after none at all.
    `in_flight` "none" leaves out what an older collector does not send.
    """
    lun = stated_datastore(cluster.organisation, "lun", "h1")
    start = NOW - len(seen) * STEP
    reads, wait_ms, busy_ms, lines = 1_000_000, 4_000_000, 4_000_000, []
    for step, letter in enumerate(f".{seen}"):
        if letter == ".":
            reads, wait_ms, busy_ms = reads + 1000, wait_ms + 4000, busy_ms + 4000
        elif letter == "!" and busy_while_hung:
            busy_ms += 10_000
        gauge = "" if in_flight == "none" else f",iops_in_progress={47 if letter == '!' else 0}i"
        lines.append(
            f"diskio,host=h1,name=lun reads={reads}i,writes=0i,read_bytes={reads * 4096}i,"
            f"write_bytes=0i,read_time={wait_ms}i,write_time=0i,io_time={busy_ms}i,"
            f"weighted_io_time={wait_ms}i{gauge} "
            f"{int((start + step * STEP).timestamp()) * 10**9}"
        )
    send(cluster.organisation, "\n".join(lines), now=NOW)
    detect(resource=lun, now=NOW)
    return lun


def states(lun: Resource) -> list[str]:
    return [str(point.state) for point in read_points(lun, since=EVER)]


@pytest.mark.parametrize(
    ("in_flight", "busy_while_hung"),
    [("", False), ("none", True)],
    ids=["by what is in flight", "by the time with I/O in flight"],
)
def test_a_device_that_hangs_is_stalled(
    cluster: Cluster, in_flight: str, busy_while_hung: bool
) -> None:
    lun = disk(cluster, ".....!!!!", in_flight=in_flight, busy_while_hung=busy_while_hung)

    status = ResourceStatus.objects.get(resource=lun)
    assert status.state == "stalled"
    assert status.reason.startswith("I/O is in flight and none completes:")
    assert status.value is None
    # With the gauge the first `!` proves only that I/O began; it was in flight from then on.
    since = NOW - 4 * STEP if in_flight == "none" else NOW - 3 * STEP
    assert status.state_since == since


def test_reason_tells_how_many_wait_on_which_host(cluster: Cluster) -> None:
    lun = disk(cluster, ".....!!!!")

    reason = ResourceStatus.objects.get(resource=lun).reason
    assert reason == "I/O is in flight and none completes: 47 on h1"


def test_an_idle_device_is_clear(cluster: Cluster) -> None:
    assert set(states(disk(cluster, "....____"))) == {"clear"}


def test_a_stall_is_an_incident_until_i_o_completes(cluster: Cluster) -> None:
    lun = disk(cluster, ".....!!!!")

    incident = Incident.objects.get(resource=lun)
    assert incident.started_at == NOW - 3 * STEP
    assert incident.ended_at is None
    assert (incident.windows, incident.stalled_windows) == (3, 3)
    assert (incident.peak_value, incident.victims, incident.aggressors) == (None, [], [])


def test_an_incident_ends_after_the_stall(cluster: Cluster) -> None:
    lun = disk(cluster, ".....!!!!.....")

    incident = Incident.objects.get(resource=lun)
    assert (incident.started_at, incident.ended_at) == (NOW - 8 * STEP, NOW - 5 * STEP)
    assert ResourceStatus.objects.get(resource=lun).state == "clear"


def test_advice_on_shares_is_not_given_for_a_stall(cluster: Cluster) -> None:
    lun = disk(cluster, ".....!!!!")

    said = recommend(resource=lun, now=NOW)

    assert said == "it stalled: no share, limit or reservation makes I/O complete"


def test_heat_strip_shows_the_stall_above_all(cluster: Cluster) -> None:
    lun = disk(cluster, ".....!!!!")

    cells = [cell for cell in heat_strips([lun.pk], now=NOW)[lun.pk].cells if cell is not None]
    assert [(cell.level, cell.value) for cell in cells] == [(Level.STALLED, None)]
