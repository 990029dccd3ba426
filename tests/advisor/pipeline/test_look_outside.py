"""Load from outside: from stored samples to what advice and people do about it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command

from advisor.advice.policy.recommend import recommend
from advisor.core.detection.external_workload import ExternalState
from advisor.decisions import inventory
from advisor.history.load_points import device_day
from advisor.models import (
    Incident,
    Recommendation,
    RecommendationState,
    Resource,
    ResourceKind,
    ResourceStatus,
    State,
)
from advisor.pipeline.groups import judge_alone
from advisor.pipeline.look_outside import look_outside, look_where_due, resources_to_look_at
from advisor.pipeline.muting import external_load
from ingest.models import Host
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db

CALM = DiskPhase(intervals=180, iops=1000, latency_ms=5.0)
SLOW = DiskPhase(intervals=60, iops=1000, latency_ms=50.0)
BUSY = DiskPhase(intervals=60, iops=4000, latency_ms=50.0)
# As many I/Os of 1 MB take (51 + 1000) / (51 + 8) = 17.8 times the device time; the latency that
# I/Os of the reference size would have had is 1000 / 17.8 = 56 ms.
LARGE = DiskPhase(intervals=60, iops=1000, latency_ms=1000.0, io_bytes=1_000_000)
# I/Os of 110 kB take (51 + 110) / (51 + 8) = 2.73 times the device time, so 366 of them are as
# much load as 1000 of 8 kB; 136 / 2.73 = 50 ms.
LARGER = DiskPhase(intervals=60, iops=366.5, latency_ms=136.0, io_bytes=110_000)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def play(cluster: Cluster, *phases: DiskPhase, allocations: Collection[str] = ()) -> Resource:
    """A datastore with these phases, the last of which ends now; looked at as time goes by.

    Each allocation is one of a cgroup of that name.
    """
    lun = stated_datastore(cluster.organisation, "lun", "h1")
    for name in allocations:
        cgroup_allocation(lun, name)
    length = timedelta(seconds=10 * sum(phase.intervals for phase in phases))
    start = NOW - length
    send(cluster.organisation, disk_lines("h1", "lun", phases, start=start), now=NOW)
    for minutes in range(10, int(length.total_seconds() / 60) + 1, 10):
        now = start + timedelta(minutes=minutes)
        judge_alone(lun, now=now)
        look_where_due(resource=lun, now=now)
    return lun


@pytest.mark.parametrize(
    ("phase", "state"),
    [
        (SLOW, ExternalState.EXTERNAL),
        (BUSY, ExternalState.UNKNOWN),
        (LARGE, ExternalState.UNKNOWN),
        (LARGER, ExternalState.UNKNOWN),
    ],
    ids=["as much own load as ever", "more own I/Os", "larger own I/Os", "as much, but larger"],
)
def test_only_latency_that_our_own_load_does_not_explain_is_from_outside(
    cluster: Cluster, phase: DiskPhase, state: ExternalState
) -> None:
    lun = play(cluster, CALM, phase)

    incident = Incident.objects.get(resource=lun)
    found = external_load(incident)

    assert found is not None
    assert found.state is state
    if state is ExternalState.EXTERNAL:
        assert (found.normal_ms, found.recent_ms) == pytest.approx((5.0, 50.0), rel=0.01)
        assert found.comparable_windows == 180


@pytest.mark.parametrize(
    ("stops", "state", "reason"),
    [
        (False, ExternalState.EXTERNAL, "another system loads the disks"),
        (True, ExternalState.UNKNOWN, "no samples of h2:lun since 11:50:00 UTC"),
    ],
    ids=["both hosts are measured", "the other host's device is renamed"],
)
def test_load_of_a_host_that_fell_silent_is_not_from_outside(
    cluster: Cluster, stops: bool, state: ExternalState, reason: str
) -> None:
    lun = inventory.add_resource(
        organisation=cluster.organisation,
        name="lun",
        kind=ResourceKind.DATASTORE,
        attachments=[("h1", "lun"), ("h2", "lun")],
    )
    start = NOW - timedelta(minutes=40)
    seen = (CALM, replace(SLOW, intervals=0 if stops else 60))
    send(cluster.organisation, disk_lines("h1", "lun", (CALM, SLOW), start=start), now=NOW)
    send(cluster.organisation, disk_lines("h2", "lun", seen, start=start), now=NOW)
    for minutes in range(10, 41, 10):
        now = start + timedelta(minutes=minutes)
        judge_alone(lun, now=now)
        look_where_due(resource=lun, now=now)

    found = external_load(Incident.objects.get(resource=lun))

    assert found is not None
    assert found.state is state
    assert reason in found.reason
    # The state itself says whose samples are missing, too.
    status = ResourceStatus.objects.get(resource=lun)
    assert (reason in status.why) is stops


@pytest.mark.parametrize(
    ("ago_min", "state"), [(8, ExternalState.UNKNOWN), (10, ExternalState.EXTERNAL)]
)
def test_load_under_a_name_that_several_machines_send_under_is_not_from_outside(
    cluster: Cluster, ago_min: int, state: ExternalState
) -> None:
    lun = play(cluster, CALM, SLOW)
    Host.objects.filter(attachments__resource=lun).update(
        shared_at=NOW - timedelta(minutes=ago_min)
    )

    look_where_due(resource=lun, now=NOW + timedelta(minutes=1))

    # The incident is open, so it is looked at up to that minute.
    found = external_load(Incident.objects.get(resource=lun))
    assert found is not None
    assert found.state is state
    said = (
        "several machines send under the name of h1, or its clock was set back: unseen load of "
        "our own may explain"
    )
    assert (said in found.reason) is (state is ExternalState.UNKNOWN)


@pytest.mark.parametrize(
    ("during", "state"),
    [
        ({"db": 500, "batch": 500}, ExternalState.EXTERNAL),
        ({"db": 100, "batch": 900}, ExternalState.UNKNOWN),
    ],
    ids=["the same workloads as ever", "batch fills a datastore that gives no more"],
)
def test_as_much_load_of_another_workload_may_explain_the_latency(
    cluster: Cluster, during: dict[str, float], state: ExternalState
) -> None:
    start = NOW - timedelta(seconds=10 * (CALM.intervals + SLOW.intervals))
    for name, iops in during.items():
        phases = (
            CgroupPhase(intervals=CALM.intervals, iops=500, waits=0.1),
            CgroupPhase(intervals=SLOW.intervals, iops=iops, waits=0.9),
        )
        lines = cgroup_lines("h1", f"/{name}", phases, start=start)
        send(cluster.organisation, lines, now=NOW)

    lun = play(cluster, CALM, SLOW, allocations=during)

    found = external_load(Incident.objects.get(resource=lun))
    assert found is not None
    assert found.state is state
    advice = recommend(resource=lun, now=NOW)
    assert ("suspended" in str(advice)) == (state is ExternalState.EXTERNAL)
    if state is ExternalState.UNKNOWN:
        assert "less load of batch" in found.reason


def test_advice_is_suspended_while_load_comes_from_outside(cluster: Cluster) -> None:
    lun = play(cluster, CALM, SLOW)

    advice = recommend(resource=lun, now=NOW)

    assert advice == (
        "suspended, load from outside: 50 ms, against 5 ms at the same load of our own: "
        "another system loads the disks, or they have become slower; "
        "check the storage"
    )
    assert ResourceStatus.objects.get(resource=lun).advice_gap == advice


def test_command_tells_the_grounds_and_what_is_suspended(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    lun = play(cluster, CALM, SLOW)
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    out = StringIO()

    call_command(
        "incidents", str(Incident.objects.get(resource=lun).pk), organisation="acme", stdout=out
    )

    said = out.getvalue()
    assert "External load: external, 50 ms, against 5 ms at the same load of our own" in said
    assert said.rstrip().endswith("Advice on shares, limits and reservations is suspended.")


def test_advice_from_before_it_was_known_is_withdrawn(cluster: Cluster) -> None:
    lun = play(cluster, CALM, SLOW)
    early = Recommendation.objects.create(
        organisation=cluster.organisation,
        resource=lun,
        incident=Incident.objects.get(resource=lun),
        kind="shares",
        summary="Limit somebody",
        inputs="{}",
        answer="{}",
        created_at=NOW,
        expires_at=NOW + timedelta(hours=1),
    )

    recommend(resource=lun, now=NOW)

    early.refresh_from_db()
    assert early.state == RecommendationState.SUPERSEDED


def test_own_load_that_may_explain_the_latency_suspends_nothing(cluster: Cluster) -> None:
    lun = play(cluster, CALM, BUSY)

    advice = recommend(resource=lun, now=NOW)

    assert isinstance(advice, str)
    assert "suspended" not in advice


def test_windows_with_load_from_outside_do_not_tell_what_the_device_is_like(
    cluster: Cluster,
) -> None:
    lun = play(cluster, CALM, SLOW)

    latencies = {round(point.latency_ms) for point in device_day(lun, until=NOW)}

    assert latencies == {5}


def test_calm_datastore_has_no_incident_to_look_outside_for(cluster: Cluster) -> None:
    lun = play(cluster, CALM)

    assert ResourceStatus.objects.get(resource=lun).state == State.CLEAR
    assert not Incident.objects.filter(resource=lun).exists()


def test_incident_is_looked_at_when_it_begins_each_minute_and_when_it_ends(
    cluster: Cluster,
) -> None:
    lun = stated_datastore(cluster.organisation, "lun", "h1")
    incident = Incident.objects.create(
        organisation=cluster.organisation, resource=lun, started_at=NOW
    )

    due = []
    # It ends at 90 s, which is seen at 120 s.
    for seconds in (10, 20, 69, 70, 120, 121, 600):
        now = NOW + timedelta(seconds=seconds)
        if seconds == 120:
            incident.ended_at = NOW + timedelta(seconds=90)
            incident.save()
        if lun in resources_to_look_at(now=now):
            due.append(seconds)
            look_where_due(resource=lun, now=now)

    assert due == [10, 70, 120]
    incident.refresh_from_db()
    assert incident.looked_outside_until == incident.ended_at


def test_incident_that_ends_while_it_is_looked_at_is_due_again(cluster: Cluster) -> None:
    lun = stated_datastore(cluster.organisation, "lun", "h1")
    Incident.objects.create(organisation=cluster.organisation, resource=lun, started_at=NOW)
    stale = Incident.objects.get(resource=lun)
    now = NOW + timedelta(minutes=5)
    Incident.objects.update(ended_at=now - timedelta(seconds=30))

    look_outside(incident=stale, now=now)

    assert lun in resources_to_look_at(now=now)


def test_uplink_is_never_due(cluster: Cluster) -> None:
    Incident.objects.create(
        organisation=cluster.organisation, resource=cluster.uplink, started_at=NOW
    )

    assert not resources_to_look_at(now=NOW).exists()


def test_advice_waits_for_the_first_look(cluster: Cluster) -> None:
    lun = play(cluster, CALM, SLOW)
    Incident.objects.update(external=None)

    assert recommend(resource=lun, now=NOW) == "load from outside has not been looked for yet"


def test_incident_that_ended_before_anybody_looked_is_due(cluster: Cluster) -> None:
    lun = stated_datastore(cluster.organisation, "lun", "h1")
    Incident.objects.create(
        organisation=cluster.organisation,
        resource=lun,
        started_at=NOW,
        ended_at=NOW + timedelta(minutes=1),
    )

    assert lun in resources_to_look_at(now=NOW + timedelta(minutes=2))
