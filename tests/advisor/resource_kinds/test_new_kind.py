"""A kind from one file and one line of the registry: stated, discovered, judged and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from advisor.advice.policy.recommend import recommend
from advisor.decisions.discovery import discover
from advisor.models import Resource, ResourceStatus, State
from advisor.pipeline.detect import detect
from advisor.resource_kinds import registry
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.resource_kinds.export_kind import EXPORT
from tests.advisor.samples import send
from tests.advisor.scenario import NOW, Cluster, make_cluster
from tests.advisor.stated_datastores import cgroup_allocation

pytestmark = pytest.mark.django_db

START = NOW - timedelta(minutes=10)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(registry, "KINDS", (*registry.KINDS, EXPORT))
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    return make_cluster()


def sluice(*words: str) -> Any:
    out = StringIO()
    with suppress(SystemExit):
        call_command(*words, "--organisation", "acme", "--json", stdout=out)
    return json.loads(out.getvalue())


def stated(cluster: Cluster, *, latency_ms: float, now: datetime = NOW) -> Resource:
    """An export that two hosts reach and that was so slow in the last ten minutes."""
    sluice("resource", "add", "home", "--kind", "export", "--at", "h1:nfs1", "--at", "h2:nfs1")
    phases = [DiskPhase(intervals=60, iops=100, latency_ms=latency_ms)]
    for host in ("h1", "h2"):
        send(cluster.organisation, disk_lines(host, "nfs1", phases, start=START), now=now)
    resource = Resource.objects.get(name="home")
    detect(resource=resource, now=now)
    return resource


def test_new_kind_is_stated_with_its_own_defaults(cluster: Cluster) -> None:
    (row,) = sluice("resource", "add", "home", "--kind", "export", "--at", "h1:a", "--at", "h2:a")

    assert (row["kind"], row["unit"], row["mode"]) == ("export", "bytes_per_s", "additive")
    # 50 ms, which this kind writes in seconds.
    assert row["congested_above"] == "0.0500 s"
    assert Resource.objects.get(name="home").reservable_ratio == 0.5


def test_one_host_alone_has_the_word_of_the_new_kind(cluster: Cluster) -> None:
    (row,) = sluice("resource", "add", "own", "--kind", "mount", "--at", "h1:nfs1")

    assert row["kind"] == "mount"
    assert Resource.objects.get(name="own").kind == "export"


def test_new_kind_is_discovered_by_the_names_of_its_devices(cluster: Cluster) -> None:
    lines = disk_lines("h1", "nfs7", [DiskPhase(intervals=1, iops=1, latency_ms=1)], start=START)
    send(cluster.organisation, lines, now=NOW)

    (found,) = discover(organisation=cluster.organisation)

    assert (found.name, found.kind) == ("h1/nfs7", "export")


@pytest.mark.parametrize(
    ("latency_ms", "state", "level"),
    [(80.0, State.CONGESTED, "0.0800 s"), (20.0, State.CLEAR, "0.0200 s")],
    ids=["above 50 ms", "below"],
)
def test_new_kind_is_judged_by_its_own_reader(
    cluster: Cluster, latency_ms: float, state: State, level: str
) -> None:
    resource = stated(cluster, latency_ms=latency_ms)

    (row,) = [row for row in sluice("status")["resources"] if row["resource"] == "home"]
    assert (row["kind"], row["state"], row["level"]) == ("export", state, level)
    assert resource.incidents.count() == (state == State.CONGESTED)


def test_pages_show_the_new_kind(cluster: Cluster) -> None:
    resource = stated(cluster, latency_ms=80.0)
    client = Client()
    client.force_login(cluster.people.viewer)

    page = client.get(f"/resources/{resource.pk}/").content.decode()
    assert "Export on" in page
    assert "0.080\N{NO-BREAK SPACE}s" in page
    assert "Latency of the export" in page
    incident = resource.incidents.get()
    assert "server time" in client.get(f"/incidents/{incident.pk}/").content.decode()
    assert "home" in client.get("/").content.decode()
    assert "export" in client.get("/search/", {"q": "home"}).content.decode()
    charts = client.get(f"/api/v1/resources/{resource.pk}/charts")
    assert charts.status_code == 200
    assert client.get(f"/incidents/{incident.pk}/cause/").status_code == 200


def test_policies_are_advised_for_the_new_kind(cluster: Cluster) -> None:
    resource = stated(cluster, latency_ms=80.0)
    cgroup_allocation(resource, "db", limit=1e6)

    recommend(resource=resource, now=NOW)

    gap = ResourceStatus.objects.get(resource=resource).advice_gap
    assert gap.startswith("Too little is known about export home")


def test_new_kind_takes_no_migration(cluster: Cluster) -> None:
    said = StringIO()

    call_command("makemigrations", "advisor", "--check", "--dry-run", stdout=said)

    assert said.getvalue() == "No changes detected in app 'advisor'\n"
