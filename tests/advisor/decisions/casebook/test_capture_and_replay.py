"""An incident as a bundle, and the bundle through the real path again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta

import pytest

from accounts.models import Organisation
from advisor.core.casebook.bundle import Bundle, read_bundle, write_bundle
from advisor.core.casebook.pseudonyms import Pseudonyms, week_shift
from advisor.core.casebook.score import FoundIncident
from advisor.decisions.casebook.capture import capture
from advisor.decisions.casebook.replay import replay
from advisor.models import Allocation, Incident, Resource
from advisor.pipeline.detect import detect
from ingest.models import Host
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.samples import Phase, net_lines, send
from tests.advisor.scenario import MBIT, NOW, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

pytestmark = pytest.mark.django_db

NAMES = Pseudonyms(key=b"a secret of the test")
HOUR = timedelta(hours=1)
BEFORE = timedelta(minutes=40)
CALM, CROWDED = 180, 60
"""Intervals of ten seconds."""
START = NOW - timedelta(seconds=10 * (CALM + CROWDED))


def full_uplink() -> Incident:
    """web-1 lacks what it was promised; web-2 and web-3 take it."""
    cluster = make_cluster()
    equal = 94 * MBIT / 3
    phases = [
        Phase(
            intervals=CALM,
            sent={"up0": 12 * MBIT},
            received={"p1": 10 * MBIT, "p2": MBIT, "p3": MBIT},
        ),
        Phase(
            intervals=CROWDED,
            sent={"up0": 94 * MBIT},
            received={"p1": equal, "p2": 1.3 * equal, "p3": 0.7 * equal},
        ),
    ]
    send(cluster.organisation, net_lines("h1", phases, start=START), now=NOW)
    detect(resource=cluster.uplink, now=NOW)
    return Incident.objects.get()


def full_datastore() -> Incident:
    """db keeps its 100 IOPS wanted; etl takes the device."""
    organisation = Organisation.objects.create(slug="acme", name="Acme")
    store = stated_datastore(organisation, "sda", "h1", capacity=1000.0, threshold=20.0)
    for name in ("db", "etl"):
        cgroup_allocation(store, name)
    disk = [
        DiskPhase(intervals=CALM, iops=400.0, latency_ms=2.0),
        DiskPhase(intervals=CROWDED, iops=1000.0, latency_ms=40.0),
    ]
    shares = {"db": ((300.0, 0.1), (100.0, 0.9)), "etl": ((100.0, 0.1), (900.0, 0.9))}
    lines = [disk_lines("h1", "sda", disk, start=START)]
    for name, ((calm, waits), (crowded, waited)) in shares.items():
        phases = [
            CgroupPhase(intervals=CALM, iops=calm, waits=waits),
            CgroupPhase(intervals=CROWDED, iops=crowded, waits=waited),
        ]
        lines.append(cgroup_lines("h1", f"/{name}", phases, start=START))
    send(organisation, "\n".join(lines), now=NOW)
    detect(resource=store, now=NOW)
    return Incident.objects.get()


def workloads(said: Sequence[dict[str, str]]) -> tuple[str, ...]:
    return tuple(NAMES.of("workload", one["workload"]) for one in said)


@pytest.fixture(params=[full_uplink, full_datastore], ids=["uplink", "datastore"])
def incident(request: pytest.FixtureRequest) -> Incident:
    found: Incident = request.param()
    return found


@pytest.fixture
def bundle(incident: Incident) -> Bundle:
    return read_bundle(write_bundle(capture(incident, names=NAMES, now=NOW, before=BEFORE)))


def test_replay_finds_what_the_server_found(incident: Incident, bundle: Bundle) -> None:
    shift = bundle.until - NOW

    found = replay(bundle)

    assert found.incidents == (
        FoundIncident(began_at=incident.started_at + shift, ended_at=incident.ended_at),
    )
    assert found.aggressors == workloads(incident.aggressors)
    assert found.victims == workloads(incident.victims)
    assert found.victims
    assert found.aggressors


def test_replay_gives_the_same_bytes_again_and_leaves_nothing(bundle: Bundle) -> None:
    before = [model.objects.count() for model in (Organisation, Resource, Allocation, Host)]

    first, second = replay(bundle), replay(bundle)

    assert first.answer["outcome"] == "recommendation"
    assert first == second
    assert json.dumps(first.answer) == json.dumps(second.answer)
    after = [model.objects.count() for model in (Organisation, Resource, Allocation, Host)]
    assert after == before


def test_bundle_has_no_name_of_its_owner(incident: Incident, bundle: Bundle) -> None:
    text = repr(bundle)

    names = {incident.resource.name, "h1", "up0", "web-1", "sda", "db", "etl", "acme", "Acme"}
    assert not {name for name in names if f"'{name}" in text or f"/{name}" in text}
    assert bundle.since - week_shift(bundle.since) == bundle.since
    assert (NOW - bundle.until) % timedelta(weeks=1) == timedelta(0)
