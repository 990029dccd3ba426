"""Much at once, and a worker that is killed: every window has its state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.history.levels import read_points
from advisor.history.newest_rates import newest_rates
from advisor.history.reader import read_history
from advisor.models import (
    AdapterKind,
    Allocation,
    Attachment,
    Incident,
    LateChange,
    Resource,
    ResourceStatus,
    Workload,
)
from advisor.pipeline.detect import detect
from advisor.pipeline.groups import judge_together
from ingest.core.grid import grid_of
from ingest.models import LateSamples
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.pipeline.noon import (
    MINUTE,
    NOON,
    at,
    figures,
    judged_steps,
    sent,
)
from tests.advisor.samples import send
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore


def test_many_workloads_that_appear_at_once_cost_no_statement_and_no_window(lun: Resource) -> None:
    sent(lun, 40)
    detect(resource=lun, now=at(20))
    with CaptureQueriesContext(connection) as before:
        detect(resource=lun, now=at(21))

    lines = [
        cgroup_lines(
            "h1", f"/new-{number}", [CgroupPhase(intervals=2, iops=1, waits=0)], start=at(20)
        )
        for number in range(300)
    ]
    send(lun.organisation, "\n".join(lines), now=at(22))

    # All of a body are one note.
    assert LateSamples.objects.count() <= 1
    detect(resource=lun, now=at(25))
    with CaptureQueriesContext(connection) as after:
        detect(resource=lun, now=at(26))
    assert len(after) <= len(before)
    detect(resource=lun, now=at(40))
    assert judged_steps(lun) == list(range(1, 41))


@pytest.mark.slow
@pytest.mark.long
def test_ten_thousand_workloads_that_appear_at_once_are_measured_and_hold_nobody_up(
    lun: Resource,
) -> None:
    """On twenty datastores of a host each; before, only the disk of `lun` had sent."""
    sent(lun, 40)
    detect(resource=lun, now=at(20))
    hosts = [f"n{number}" for number in range(20)]
    datastores = [stated_datastore(lun.organisation, f"d-{host}", host) for host in hosts]
    paths = [f"/new-{number}" for number in range(500)]
    add_allocations(datastores, paths)
    sending = dict.fromkeys(hosts, "")
    for datastore, host in zip(datastores, hosts, strict=True):
        disk = [DiskPhase(intervals=4, iops=500, latency_ms=5)]
        own = [CgroupPhase(intervals=4, iops=1, waits=0)]
        texts = [disk_lines(host, datastore.name, disk, start=at(20))]
        texts += [cgroup_lines(host, path, own, start=at(20)) for path in paths]
        sending[host] = "\n".join(texts)

    for step in (21, 22, 23, 24):
        now = at(step) + timedelta(seconds=1)
        if step == 22:
            for body in sending.values():
                send(lun.organisation, body, now=at(24))
        judge_together([lun, *datastores], now=now)
        assert ResourceStatus.objects.get(resource=lun).judged_until == at(step)

    assert judged_steps(lun) == list(range(1, 25))
    for datastore in datastores:
        assert [point.at for point in read_points(datastore, since=at(20))] == [
            at(step) for step in (21, 22, 23, 24)
        ]
    # What lists are sorted by: all of them, with what each does.
    found = newest_rates(lun.organisation, since=at(23))
    assert (len(found.rates), found.rates.min(), found.rates.max()) == (10_000, 1.0, 1.0)


def add_allocations(datastores: list[Resource], paths: list[str]) -> None:
    """On each datastore a workload of its only host for each of these cgroups."""
    places = [(datastore, path) for datastore in datastores for path in paths]
    workloads = Workload.objects.bulk_create(
        Workload(organisation=datastore.organisation, name=f"{datastore.name}{path}")
        for datastore, path in places
    )
    hosts = {one.resource_id: one.host_id for one in Attachment.objects.all()}
    Allocation.objects.bulk_create(
        Allocation(
            resource=datastore,
            workload=workload,
            host_id=hosts[datastore.pk],
            adapter_kind=AdapterKind.CGROUP,
            adapter=path,
        )
        for (datastore, path), workload in zip(places, workloads, strict=True)
    )


def test_workload_that_moves_between_hosts_each_minute_has_a_rate_on_each(lun: Resource) -> None:
    cgroup_allocation(lun, "web", host="h1")
    cgroup_allocation(lun, "web-there", host="h2", path="/web")
    own = {
        host: cgroup_lines(
            host, "/web", [CgroupPhase(intervals=60, iops=50, waits=0)], start=NOON
        ).splitlines()
        for host in ("h1", "h2")
    }
    disks = {
        host: disk_lines(
            host, "sda", [DiskPhase(intervals=60, iops=100, latency_ms=5)], start=NOON
        ).splitlines()
        for host in ("h1", "h2")
    }
    for step in range(61):
        here = "h1" if step // 6 % 2 == 0 else "h2"
        body = [own[here][step], disks["h1"][step], disks["h2"][step]]
        send(lun.organisation, "\n".join(body), now=at(step) + timedelta(seconds=1))
        if step % 3 == 0:
            detect(resource=lun, now=at(step) + timedelta(seconds=1))

    # The last window waits for the host that the workload has just left.
    assert judged_steps(lun) == list(range(1, 60))
    detect(resource=lun, now=at(61))
    assert judged_steps(lun) == list(range(1, 61))
    assert not Incident.objects.exists()
    rates = read_history(lun, grid_of(NOON, at(60), 10.0)).allocations.rate
    # Six readings of a minute make five windows; the one in which it moves is known of neither.
    known = [[rate == pytest.approx(50.0) for rate in row] for row in rates.tolist()]
    minute = [[True, False]] * 5 + [[False, False]]
    other = [[False, True]] * 5 + [[False, False]]
    assert known == (minute + other) * 5


def test_import_of_the_past_into_a_resource_that_is_judged_live(lun: Resource) -> None:
    other = stated_datastore(lun.organisation, "sdb", "h3")
    sent(lun, 30)
    detect(resource=lun, now=at(30))
    live = read_points(lun, since=NOON)
    phase = DiskPhase(intervals=30, iops=100, latency_ms=5)
    send(lun.organisation, disk_lines("h3", "sdb", [phase], start=NOON), now=at(30))

    # Two hours, congested for a while; the counters had started again before noon.
    sent(lun, 700, start=-720)
    sent(lun, 10, start=-15, ms=90.0)
    judge_together([lun, other], now=at(31), limit_s=0.0)

    # The other is not kept waiting.
    assert judged_steps(other) == list(range(1, 31))
    for _ in range(9):
        detect(resource=lun, now=at(200))
    assert not LateChange.objects.exists()
    steps = judged_steps(lun)
    assert steps == [*range(-719, -19), *range(-14, -4), *range(1, 31)]
    assert figures(read_points(lun, since=NOON)) == figures(live)
    assert Incident.objects.get().started_at == at(-15)


def test_states_stay_when_their_samples_are_gone(lun: Resource, settings: object) -> None:
    sent(lun, 200)
    detect(resource=lun, now=at(200))
    before = judged_steps(lun)
    settings.SAMPLE_RETENTION_DAYS = 1  # type: ignore[attr-defined]
    now = NOON + timedelta(days=1, minutes=20)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_diskio_sample WHERE time < %s", [at(120)])

    # An hour of h2 whose first minutes are older than what is kept.
    LateChange.objects.create(resource=lun, changed_from=at(121))
    detect(resource=lun, now=now)

    assert judged_steps(lun) == before
    assert not LateChange.objects.exists()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.long
def test_month_that_is_imported_at_once_is_judged_while_others_go_on(lun: Resource) -> None:
    """A sample and a window a minute; congested for an hour, and for the last ten minutes."""
    Resource.objects.update(window_s=60.0)
    lun.refresh_from_db()
    other = stated_datastore(lun.organisation, "sdb", "h3")
    minutes = 29 * 1440
    phases = [
        DiskPhase(intervals=count, iops=100, latency_ms=ms)
        for count, ms in ((minutes // 2, 5.0), (60, 90.0), (minutes // 2 - 70, 5.0), (10, 90.0))
    ]
    begin = NOON - timedelta(minutes=minutes)
    lines = disk_lines("h1", "sda", phases, start=begin).splitlines()
    stamped = [
        f"{line.rpartition(' ')[0]} {int((begin + minute * MINUTE).timestamp()) * 10**9}"
        for minute, line in enumerate(lines)
    ]
    live = [DiskPhase(intervals=600, iops=100, latency_ms=5)]
    other_lines = disk_lines("h3", "sdb", live, start=NOON).splitlines()

    send(lun.organisation, "\n".join(stamped), now=NOON)
    looks = 0
    while looks < 2 or ResourceStatus.objects.get(resource=lun).judged_until < NOON:
        looks += 1
        now = at(looks) + timedelta(seconds=1)
        body = other_lines[: looks + 1] if looks == 1 else other_lines[looks : looks + 1]
        send(lun.organisation, "\n".join(body), now=now)
        judge_together([lun, other], now=now, limit_s=5.0)
        assert ResourceStatus.objects.get(resource=other).judged_until == at(looks)

    # Every minute of them; a step is 10 s.
    assert [one for one in judged_steps(lun) if one <= 0] == list(range(6 - 6 * minutes, 1, 6))
    found = list(Incident.objects.order_by("started_at").values_list("started_at", "peak_value"))
    middle = begin + minutes // 2 * MINUTE
    assert found == [
        (middle, pytest.approx(90.0)),
        (NOON - 10 * MINUTE, pytest.approx(90.0)),
    ]


KILLED = """
import os, signal, sys
import django
django.setup()
from datetime import datetime
from advisor.models import Resource
from advisor.pipeline import detect
detect._save_statuses = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
detect.detect(resource=Resource.objects.get(), now=datetime.fromisoformat(sys.argv[1]))
"""
"""Judges, and is killed when states and incidents are written, but not how far it came."""


@pytest.mark.slow
def test_judge_that_is_killed_half_way_leaves_nothing_and_the_next_one_misses_nothing(
    committed_lun: Resource,
) -> None:
    lun = committed_lun
    sent(lun, 30, ms=90.0)
    database = connection.settings_dict
    place = f"{quote(str(database['HOST']), safe='')}:{database['PORT']}/{database['NAME']}"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, at(30).isoformat()],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": f"postgres://{database['USER']}@{place}",
        },
        cwd=Path(__file__).resolve().parents[3],
        check=False,
        capture_output=True,
    )

    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-2000:]
    assert not judged_steps(lun)
    assert not Incident.objects.exists()
    assert not ResourceStatus.objects.exists()

    detect(resource=lun, now=at(30))
    assert judged_steps(lun) == list(range(1, 31))
    assert Incident.objects.get().started_at == NOON
