"""Much at once, samples that go away, and a worker that is killed: every window has its state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Organisation
from advisor.core.detection.congestion import StatePoint
from advisor.history.levels import read_points
from advisor.history.newest_rates import newest_rates
from advisor.history.reader import read_history
from advisor.models import (
    AdapterKind,
    Allocation,
    Attachment,
    Chunk,
    HistoryRetention,
    Incident,
    LateChange,
    Resource,
    ResourceStatus,
    Workload,
)
from advisor.pipeline import detect as detect_module
from advisor.pipeline.amend import figures_of
from advisor.pipeline.detect import detect
from advisor.pipeline.groups import judge_together
from advisor.pipeline.store_history import store_history
from ingest.core.grid import grid_of
from ingest.models import LateSamples
from ingest.partitions import drop_partitions
from ingest.services.maintenance import drop_sealed
from tests.advisor.disk_samples import CgroupPhase, DiskPhase, cgroup_lines, disk_lines
from tests.advisor.judged_windows import EVER
from tests.advisor.samples import send
from tests.advisor.stated_datastores import cgroup_allocation, stated_datastore

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
STEP = timedelta(seconds=10)
MINUTE = timedelta(minutes=1)


def at(step: int) -> datetime:
    return NOON + step * STEP


def make_lun() -> Resource:
    acme = Organisation.objects.create(slug="acme", name="Acme")
    return stated_datastore(acme, "sda", "h1", "h2")


@pytest.fixture
def lun(db: None) -> Resource:
    return make_lun()


@pytest.fixture
def committed_lun(transactional_db: None) -> Resource:
    """One that other processes see."""
    return make_lun()


def sent(lun: Resource, steps: int, *, start: int = 0, host: str = "h1", ms: float = 5.0) -> None:
    phase = DiskPhase(intervals=steps, iops=100, latency_ms=ms)
    lines = disk_lines(host, "sda", [phase], start=at(start))
    send(lun.organisation, lines, now=max(at(start + steps), at(0)))


def _figures(points: list[StatePoint]) -> list[tuple[datetime, float | None]]:
    return [(point.at, point.value) for point in points]


def judged_steps(lun: Resource) -> list[int]:
    return [(point.at - NOON) // STEP for point in read_points(lun, since=EVER)]


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
    assert _figures(read_points(lun, since=NOON)) == _figures(live)
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


DAYS = 3 * 8640
"""Steps of three days."""


@pytest.fixture
def shortened(lun: Resource) -> Resource:
    """Judged at noon, congested for ten minutes, and again three days later.

    Then its organisation keeps a day of samples, and those of the first noon are gone.
    """
    for start in (0, DAYS):
        phases = [DiskPhase(intervals=60, iops=100, latency_ms=ms) for ms in (90.0, 5.0)]
        lines = disk_lines("h1", "sda", phases, start=at(start))
        send(lun.organisation, lines, now=at(start + 120))
        detect(resource=lun, now=at(start + 120))
    HistoryRetention.objects.create(
        organisation=lun.organisation, exact_days=1, quarter_days=366, day_days=366
    )
    for _ in range(2):
        store_history(organisation=lun.organisation, now=at(DAYS + 600), limit_s=60.0)
    drop_sealed(before=at(DAYS))
    assert {one.date() for one in Chunk.objects.values_list("at", flat=True)} == {at(DAYS).date()}
    return lun


@pytest.mark.parametrize(
    ("starts", "expected_ms"),
    [
        pytest.param([0], [90.0, 90.0], id="of the time that is gone"),
        # As many I/Os of 5 ms: (90 + 5) / 2.
        pytest.param([0, DAYS], [90.0, 47.5], id="of that and of the time that is kept"),
    ],
)
def test_late_samples_change_no_window_whose_samples_the_organisation_keeps_no_more(
    shortened: Resource, starts: list[int], expected_ms: list[float]
) -> None:
    before = judged_steps(shortened)
    phase = DiskPhase(intervals=120, iops=100, latency_ms=5.0)
    bodies = [disk_lines("h2", "sda", [phase], start=at(start)) for start in starts]

    send(shortened.organisation, "\n".join(bodies), now=at(DAYS + 600))
    detect(resource=shortened, now=at(DAYS + 600))

    assert judged_steps(shortened) == before
    peaks = Incident.every.order_by("started_at").values_list("peak_value", "withdrawn_at")
    assert list(peaks) == [(pytest.approx(ms), None) for ms in expected_ms]
    assert not LateChange.objects.exists()


@pytest.mark.parametrize("bodies", [1, 2])
def test_retention_lengthened_after_samples_were_dropped_leaves_their_windows_as_they_were(
    shortened: Resource, bodies: int
) -> None:
    """What is sealed of the first late samples is not all that was sent in their time."""
    HistoryRetention.objects.update(exact_days=30)
    before = judged_steps(shortened)

    for number in range(bodies):
        now = at(DAYS + 600 + 360 * number)
        phase = DiskPhase(intervals=60, iops=100, latency_ms=5.0)
        late = disk_lines("h2", "sda", [phase], start=at(60 * number))
        send(shortened.organisation, late, now=now)
        detect(resource=shortened, now=now)
        store_history(organisation=shortened.organisation, now=now, limit_s=60.0)

    assert judged_steps(shortened)[: len(before)] == before
    values = [point.value for point in read_points(shortened, since=EVER)]
    assert values[:60] == [pytest.approx(90.0)] * 60
    peaks = Incident.every.order_by("started_at").values_list("peak_value", "withdrawn_at")
    assert list(peaks) == [(pytest.approx(90.0), None)] * 2


@pytest.mark.parametrize("late_ms", [9.0, 0.1], ids=["still congested", "not congested"])
@pytest.mark.parametrize(
    "begins",
    [
        pytest.param(400, id="in the second hour"),
        pytest.param(330, id="in the first hour"),
    ],
)
def test_retention_shortened_while_windows_are_judged_again_leaves_the_rest_as_it_was(
    lun: Resource, begins: int, late_ms: float
) -> None:
    """Two hours, each judged again by itself; the incident ends in the second."""
    organisation = lun.organisation
    phases = [
        DiskPhase(intervals=steps, iops=100, latency_ms=ms)
        for steps, ms in ((begins, 5.0), (60, 90.0), (660 - begins, 5.0))
    ]
    send(organisation, disk_lines("h1", "sda", phases, start=NOON), now=at(720))
    detect(resource=lun, now=at(720))
    (incident,) = Incident.objects.all()
    now = NOON + timedelta(hours=50)
    # Nine times as many I/Os of 0.1 ms: 90 ms becomes 9.
    phase = DiskPhase(intervals=720, iops=100 if late_ms == 9.0 else 900, latency_ms=late_ms)
    late = disk_lines("h2", "sda", [phase], start=NOON)
    send(organisation, late, now=now)
    detect(resource=lun, now=now, limit_s=0.0)
    assert ResourceStatus.objects.get(resource=lun).is_rejudging

    HistoryRetention.objects.create(
        organisation=organisation, exact_days=1, quarter_days=366, day_days=366
    )
    for _ in range(2):
        store_history(organisation=organisation, now=now, limit_s=60.0)
    drop_sealed(before=now)
    assert not Chunk.objects.exists()
    for minutes in range(3):
        detect(resource=lun, now=now + minutes * MINUTE)

    assert not ResourceStatus.objects.get(resource=lun).is_rejudging
    found = {(one.at - NOON) // STEP: one.value for one in read_points(lun, since=EVER)}
    assert list(found) == list(range(1, 721))
    # As many I/Os of 5 and of 9 ms in the first hour, or (5 + 9 x 0.1) / 10; then h1 alone.
    judged_again = {9.0: 7.0, 0.1: 0.59}[late_ms]
    assert (found[100], found[500]) == (pytest.approx(judged_again), pytest.approx(5.0))
    assert list(Incident.every.all()) == [incident]
    amended = figures_of(Incident.every.get())
    assert (amended, Incident.every.get().withdrawn_at) == (figures_of(incident), None)
    assert amended["peak_value"] == pytest.approx(90.0)
    assert not incident.versions.exists()


def test_incident_that_began_before_what_is_kept_keeps_its_begin(lun: Resource) -> None:
    """Two hours, each judged again by itself; what is kept begins within the incident."""
    phases = [
        DiskPhase(intervals=steps, iops=100, latency_ms=ms)
        for steps, ms in ((365, 5.0), (90, 90.0), (265, 5.0))
    ]
    send(lun.organisation, disk_lines("h1", "sda", phases, start=NOON), now=at(720))
    detect(resource=lun, now=at(720))
    (incident,) = Incident.objects.all()
    now = at(400) + timedelta(days=2)
    phase = DiskPhase(intervals=720, iops=100, latency_ms=9.0)
    send(lun.organisation, disk_lines("h2", "sda", [phase], start=NOON), now=now)
    detect(resource=lun, now=now, limit_s=0.0)
    assert ResourceStatus.objects.get(resource=lun).judged_until < at(365)

    HistoryRetention.objects.create(
        organisation=lun.organisation, exact_days=2, quarter_days=366, day_days=366
    )
    detect(resource=lun, now=now)

    assert not ResourceStatus.objects.get(resource=lun).is_rejudging
    (amended,) = Incident.every.all()
    assert amended.pk == incident.pk
    assert (amended.started_at, amended.ended_at) == (incident.started_at, incident.ended_at)
    # As many I/Os of 90 and of 9 ms.
    assert (amended.withdrawn_at, amended.peak_value) == (None, pytest.approx(49.5))


@pytest.mark.slow
def test_retention_shortened_while_windows_are_judged_waits_for_them(
    committed_lun: Resource, monkeypatch: pytest.MonkeyPatch
) -> None:
    lun = committed_lun
    sent(lun, 60)
    read, refused = detect_module._histories, []

    def read_and_drop(*arguments: object) -> object:
        found = read(*arguments)  # type: ignore[arg-type]  # as it is called
        refused.append(_dropped_elsewhere())
        return found

    monkeypatch.setattr(detect_module, "_histories", read_and_drop)
    detect(resource=lun, now=at(60))

    assert refused == ["refused"]
    assert judged_steps(lun) == list(range(1, 61))
    # Nobody reads now.
    assert drop_partitions(before=NOON + timedelta(days=2)) > 0
    detect(resource=lun, now=at(70))
    assert judged_steps(lun) == list(range(1, 61))


def _dropped_elsewhere() -> str:
    """What somebody else gets who drops all samples at this moment."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SET lock_timeout = '200ms'")
            cursor.execute(
                "SELECT ingest_drop_samples('ingest_diskio_sample', %s, false)",
                [NOON + timedelta(days=2)],
            )
    except OperationalError:
        return "refused"
    else:
        return "dropped"
    finally:
        other.close()


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
