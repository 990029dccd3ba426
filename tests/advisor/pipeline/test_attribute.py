"""Incidents are attributed from stored samples, with how sure that is."""

from __future__ import annotations

import random
import re
from datetime import timedelta

import pytest

from advisor.core.detection.external_workload import ExternalState
from advisor.models import Incident, IncidentVersion, Unit
from advisor.pipeline.amend import figures_of
from advisor.pipeline.attribute import Study, study_incident
from advisor.pipeline.look_outside import look_outside
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.judged_windows import judge, judged_window
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


START = NOW - timedelta(hours=1)
LENGTH = 30


def bursts_of(interface: str) -> str:
    """What the interface of web-2 counts: it comes and goes every five minutes."""
    calm, full = (
        Phase(intervals=LENGTH, sent={}, received={interface: rate * MBIT}) for rate in (1, 59)
    )
    return net_lines("h1", [calm, full] * 6, start=START)


def bursts(cluster: Cluster, *, culprit: bool = True) -> Incident:
    """web-2 comes and goes; while it is on, web-1 misses its reservation."""
    calm, full = (
        Phase(intervals=LENGTH, sent={"up0": sent}, received={"p1": own, "p3": 4e6})
        for sent, own in ((60 * MBIT, 55 * MBIT), (93 * MBIT, 30 * MBIT))
    )
    send(cluster.organisation, net_lines("h1", [calm, full] * 6, start=START), now=NOW)
    if culprit:
        send(cluster.organisation, bursts_of("p2"), now=NOW)
    return Incident.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        started_at=START + timedelta(minutes=5),
        ended_at=NOW,
        peak_value=0.99,
        threshold=0.9,
    )


def study(incident: Incident) -> Study:
    return study_incident(incident=incident, now=NOW)


def test_workload_that_comes_and_goes_with_the_harm_is_named(cluster: Cluster) -> None:
    found = study(bursts(cluster)).attribution

    assert found is not None
    assert found.aggressors == ("web-2",)
    first = found.suspects[0]
    assert first.part_ratio > first.fair_ratio
    assert first.experiment is not None
    # On is worse: what web-1 misses of its 75 is part of its entitlement.
    assert first.experiment.shift > 0.1


def test_cause_of_an_incident_that_is_amended_is_looked_for_anew(cluster: Cluster) -> None:
    """Samples of the culprit come late; without them its traffic is other traffic."""
    incident = bursts(cluster, culprit=False)
    before = study(incident).attribution
    send(cluster.organisation, bursts_of("p2"), now=NOW)
    kept = study(incident).attribution

    IncidentVersion.objects.create(
        incident=incident, replaced_at=NOW, figures=figures_of(incident)
    )

    after = study(incident).attribution
    assert before is not None
    assert after is not None
    assert kept == before
    assert before.aggressors != ("web-2",)
    assert after.aggressors == ("web-2",)


def test_innocent_neighbour_has_its_reason(cluster: Cluster) -> None:
    found = study(bursts(cluster)).attribution

    assert found is not None
    (quiet,) = [one for one in found.suspects if one.workload == "web-3"]
    assert not quiet.is_aggressor
    assert "of the traffic" in quiet.reason
    (ground,) = [one for one in found.confidence.parts if one.name == "on and off"]
    assert re.search(r"worse by \d+(\.\d+)? \(.*\) % of their entitlement while", ground.how)


def test_too_few_samples_are_told_by_number(cluster: Cluster) -> None:
    incident = Incident.objects.create(
        organisation=cluster.organisation,
        resource=cluster.uplink,
        started_at=NOW - timedelta(minutes=10),
        peak_value=0.99,
        threshold=0.9,
    )

    found = study(incident)

    assert found.attribution is None
    assert found.gap == "0 windows of it are stored, 12 are needed"


def test_uplink_has_no_load_from_outside(cluster: Cluster) -> None:
    assert study(bursts(cluster)).external is None


@pytest.mark.parametrize(
    ("load", "state"),
    [(1000.0, ExternalState.EXTERNAL), (5000.0, ExternalState.UNKNOWN)],
    ids=["as much own load as ever", "more own load than ever"],
)
def test_latency_without_own_load_hints_at_load_from_outside(
    cluster: Cluster, load: float, state: ExternalState
) -> None:
    lun = stated_datastore(cluster.organisation, "lun", "h1")
    started = NOW - timedelta(minutes=30)
    judge(
        lun,
        *(
            judged_window(
                NOW - timedelta(minutes=minute),
                # 40 ms where as much load used to make 5 ms
                value=40.0 if minute < 30 else 5.0,
                device_load=load if minute < 30 else 1000.0,
            )
            for minute in range(2, 200)
        ),
    )
    incident = Incident.objects.create(
        organisation=cluster.organisation,
        resource=lun,
        started_at=started,
        ended_at=NOW - timedelta(minutes=1),
        peak_value=40.0,
        threshold=20.0,
    )

    look_outside(incident=incident, now=NOW)
    incident.refresh_from_db()

    found = study(incident).external

    assert found is not None
    assert found.state == state


@pytest.mark.parametrize(
    ("unit", "reservation"), [(Unit.IOPS, 400.0), (Unit.BYTES_PER_S, 400 * 64_000.0)]
)
def test_what_a_reservation_of_large_ios_is_due_is_told_in_device_time(
    cluster: Cluster, unit: Unit, reservation: float
) -> None:
    lun = stated_datastore(cluster.organisation, "lun", "h1", capacity=5 * reservation, unit=unit)
    start = NOW - timedelta(minutes=20)
    # An I/O of 64 kB takes (51 + 64) / (51 + 8) = 1.949 times as long as one of 8 kB, so the 400
    # that are reserved take as long as 780 small ones: of 1000 in all.
    for name, iops, io_bytes, promised in (
        ("video", 400, 64_000, reservation),
        ("small", 220, 8_000, 0.0),
    ):
        cgroup_allocation(lun, name, reservation=promised)
        phase = CgroupPhase(intervals=120, iops=iops, waits=0.5, io_bytes=io_bytes)
        lines = cgroup_lines("h1", f"/{name}", [phase], start=start)
        send(cluster.organisation, lines, now=NOW)
    disk = DiskPhase(intervals=120, iops=620, latency_ms=60.0, io_bytes=44_129)
    send(cluster.organisation, disk_lines("h1", "lun", [disk], start=start), now=NOW)
    incident = Incident.objects.create(
        organisation=cluster.organisation,
        resource=lun,
        started_at=start,
        ended_at=NOW,
        peak_value=60.0,
        threshold=30.0,
    )

    found = study(incident).attribution

    assert found is not None
    parts = {one.workload: (one.part_ratio, one.fair_ratio) for one in found.suspects}
    assert parts["video"] == pytest.approx((0.78, 0.78), abs=0.005)
    assert parts["small"] == pytest.approx((0.22, 0.22), abs=0.005)


def short_bursts(cluster: Cluster, *, count: int) -> Incident:
    """Each hour web-2 sends for 20 s, and web-1 misses its reservation; the newest incident.

    Between, all send now more and now less.
    """
    start = NOW - timedelta(hours=count, minutes=30)
    seed = random.Random(count)

    def calm(intervals: int) -> list[Phase]:
        own, other = seed.uniform(30, 60) * MBIT, seed.uniform(0.5, 4) * MBIT
        received = {"p1": own, "p2": other, "p3": seed.uniform(1, 9) * MBIT}
        return [Phase(intervals=intervals, sent={"up0": 70 * MBIT}, received=received)]

    full = Phase(
        intervals=2,
        sent={"up0": 93 * MBIT},
        received={"p1": 28 * MBIT, "p2": 59 * MBIT, "p3": 4e6},
    )
    phases = []
    for _ in range(count):
        phases += [phase for _ in range(179) for phase in calm(2)]
        phases.append(full)
    phases += [phase for _ in range(90) for phase in calm(2)]
    send(cluster.organisation, net_lines("h1", phases, start=start), now=NOW)
    rows = []
    for number in range(count):
        ends_at = start + timedelta(hours=number + 1)
        rows.append(
            Incident.objects.create(
                organisation=cluster.organisation,
                resource=cluster.uplink,
                started_at=ends_at - timedelta(seconds=20),
                ended_at=ends_at,
                peak_value=0.99,
                threshold=0.9,
            )
        )
    return rows[-1]


@pytest.mark.parametrize(
    ("count", "accused"), [(2, ()), (6, ("web-2",))], ids=["two bursts", "six bursts"]
)
def test_short_bursts_of_one_day_are_told_together(
    cluster: Cluster, count: int, accused: tuple[str, ...]
) -> None:
    found = study(short_bursts(cluster, count=count))

    assert found.attribution is not None
    assert found.attribution.aggressors == accused
    told = "so say 6 incidents of a day together, this one alone says too little"
    assert found.attribution.reason.endswith(told) is bool(accused)
    # Alone it is an hour and a half; of several incidents a minute around each of 20 s.
    assert found.windows in (range(80, 91) if accused else range(538, 545))
