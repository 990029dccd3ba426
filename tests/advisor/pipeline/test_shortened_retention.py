"""Samples that are kept for a time alone: windows that were judged of them stay as they were."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from advisor.history.levels import read_points
from advisor.models import (
    Chunk,
    HistoryRetention,
    Incident,
    LateChange,
    Resource,
    ResourceStatus,
)
from advisor.pipeline import detect as detect_module
from advisor.pipeline.amend import figures_of
from advisor.pipeline.detect import detect
from advisor.pipeline.store_history import store_history
from ingest.partitions import drop_partitions
from ingest.services.maintenance import drop_sealed
from tests.advisor.disk_samples import DiskPhase, disk_lines
from tests.advisor.judged_windows import EVER
from tests.advisor.pipeline.noon import MINUTE, NOON, STEP, at, judged_steps, sent
from tests.advisor.samples import send

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
