"""Samples become chunks: exactly, once, and whatever comes late or goes wrong."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from advisor.history.measured import read_measured
from advisor.history.stored import seal as sealing
from advisor.history.stored.partitions import Level
from advisor.history.stored.read import read_sealed
from advisor.history.stored.seal import ready_hours
from advisor.models import Chunk, Member, Quarter, Resource, Shard, Track
from ingest.core.figures import CGROUP_IO, DISK, INTERFACE, PRESSURE
from ingest.core.grid import GridGrowth, grid_of
from ingest.grid_reader import Subject
from ingest.models import Host, NetSample, OpenHour
from ingest.services.maintenance import maintain_samples
from tests.advisor.history.stored.hosts import (
    BYTES_SENT,
    HOUR,
    MINUTE,
    STEP,
    after,
    assert_same,
    drop_samples,
    eth0,
    from_samples,
    hour_of_tests,
    known_windows,
    net_line,
    read,
    row_count,
    seal_all,
    send_net,
    stored_bytes,
    times,
)
from tests.advisor.judged_windows import judge, judged_window
from tests.ingest.random_samples import RandomSamples
from tests.ingest.scenario import Tenant, disk_line, write_lines

pytestmark = pytest.mark.django_db


def test_sealed_hour_reads_as_its_samples_did(tenant: Tenant) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + HOUR + MINUTE))
    expected = from_samples(INTERFACE, [eth0(tenant)], hour, hour + HOUR)

    seal_all(tenant, after(hour))
    drop_samples()

    found = read(tenant, [eth0(tenant)], hour, hour + HOUR)
    assert_same(found, expected)
    # 7 bytes a second for 10 s.
    assert found.growth[BYTES_SENT].tolist() == [[70]] * 360


@pytest.mark.parametrize("seed", range(4))
def test_samples_of_any_kind_are_kept_as_they_were_read(tenant: Tenant, seed: int) -> None:
    """With gaps, resets, wraps, odd times and series that follow one another."""
    hour = hour_of_tests()
    host = Host.objects.create(organisation=tenant.organisation, name="h1")
    samples = RandomSamples(host, seed=seed, until=hour + HOUR)
    interfaces = [samples.interface(f"vnet{number}") for number in range(4)]
    cgroups = [key for number in range(3) for key in samples.cgroup(f"/vm{number}.scope")]
    subjects = {
        INTERFACE: interfaces,
        CGROUP_IO: cgroups,
        PRESSURE: list(dict.fromkeys(one._replace(device="") for one in cgroups)),
    }
    span = hour, hour + HOUR
    expected = {kind: from_samples(kind, own, *span) for kind, own in subjects.items()}

    seal_all(tenant, after(hour))
    drop_samples()

    assert sum(known_windows(found) for found in expected.values()) > 30
    for kind, own in subjects.items():
        found = read_sealed(tenant.organisation.pk, kind, own, grid_of(*span, 10.0))
        assert_same(found, expected[kind])


def test_gauges_are_kept_at_every_edge(tenant: Tenant) -> None:
    hour = hour_of_tests()
    lines = [
        disk_line(at, count=place).replace(" reads=", f" iops_in_progress={place % 5}i,reads=")
        for place, at in enumerate(times(hour - HOUR - MINUTE, hour + HOUR + MINUTE))
    ]
    write_lines(tenant, *lines, at=hour + HOUR + MINUTE)
    subject = Subject(host=tenant.host().pk, name="sda")
    expected = from_samples(DISK, [subject], hour, hour + HOUR)

    seal_all(tenant, after(hour))

    found = read_sealed(tenant.organisation.pk, DISK, [subject], grid_of(hour, hour + HOUR, 10.0))
    assert np.array_equal(found.gauges, expected.gauges)
    assert found.gauges.shape == (1, 361, 1)


def test_longer_windows_are_sums_of_stored_ones(tenant: Tenant) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + HOUR + MINUTE))
    seal_all(tenant, after(hour))

    found = read(tenant, [eth0(tenant)], hour, hour + HOUR, window_s=300.0)

    assert found.growth[BYTES_SENT].tolist() == [[2100]] * 12
    assert found.seconds.tolist() == [[300.0]] * 12


def test_windows_that_no_stored_ones_make_up_take_their_part_of_them(tenant: Tenant) -> None:
    hour = hour_of_tests()
    begun = hour - MINUTE
    # 7 bytes a second, and 70 from ten seconds into the hour on.
    first = times(begun, hour + STEP)
    send_net(tenant, first)
    lines = [
        net_line(at, total=1000 + 7 * 70 + 70 * round((at - first[-1]).total_seconds()))
        for at in times(first[-1] + STEP, hour + HOUR + MINUTE)
    ]
    write_lines(tenant, *lines, at=hour + HOUR + MINUTE)
    seal_all(tenant, after(hour))

    found = read(tenant, [eth0(tenant)], hour, hour + MINUTE, window_s=15.0)

    # The first window has 10 s at 7 and 5 s at 70.
    assert found.growth[BYTES_SENT, :, 0].tolist() == [420, 1050, 1050, 1050]
    assert found.seconds[:, 0].tolist() == [15.0] * 4


def test_sealing_twice_gives_the_same_bytes(tenant: Tenant) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + HOUR + MINUTE))
    seal_all(tenant, after(hour))
    before = stored_bytes()

    OpenHour.objects.create(host=tenant.host(), at=hour)
    again = seal_all(tenant, after(hour))

    assert stored_bytes() == before
    assert (again.hours, again.chunks) == (1, 0)


def test_hour_waits_for_the_next_reading_of_a_rare_sender(tenant: Tenant) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour, hour + 30 * MINUTE))

    at = [after(hour) - timedelta(seconds=1), after(hour)]

    # The hour before is touched by the first reading too, and was over long ago.
    assert [ready_hours(tenant.organisation, now=one) for one in at] == [
        [hour - HOUR],
        [hour - HOUR, hour],
    ]


def test_late_samples_are_merged_into_their_chunk(tenant: Tenant) -> None:
    hour = hour_of_tests()
    early = times(hour - MINUTE, hour + 20 * MINUTE)
    late = times(hour + 20 * MINUTE + STEP, hour + HOUR + MINUTE)
    send_net(tenant, early)
    seal_all(tenant, after(hour))
    known_before = known_windows(read(tenant, [eth0(tenant)], hour, hour + HOUR))

    send_net(tenant, late, begun=early[0])
    seal_all(tenant, after(hour))

    found = read(tenant, [eth0(tenant)], hour, hour + HOUR)
    assert known_before == 120
    assert found.growth[BYTES_SENT].tolist() == [[70]] * 360


def test_late_samples_are_added_when_those_before_are_gone(tenant: Tenant) -> None:
    """The one window between them is lost: the reading at its begin is gone."""
    hour = hour_of_tests()
    early = times(hour - MINUTE, hour + 20 * MINUTE)
    late = times(hour + 20 * MINUTE + STEP, hour + HOUR + MINUTE)
    send_net(tenant, early)
    seal_all(tenant, after(hour))
    drop_samples()

    send_net(tenant, late, begun=early[0])
    seal_all(tenant, after(hour))

    found = read(tenant, [eth0(tenant)], hour, hour + HOUR)
    assert np.flatnonzero(found.seconds[:, 0] == 0).tolist() == [120]


def test_known_windows_stay_when_the_rows_that_they_were_made_of_are_gone(
    tenant: Tenant,
) -> None:
    """A late sample every minute would spread evenly what is known of every ten seconds."""
    hour = hour_of_tests()
    whole = times(hour - MINUTE, hour + HOUR + MINUTE)
    lines = [net_line(at, total=place * place) for place, at in enumerate(whole)]
    write_lines(tenant, *lines, at=whole[-1])
    expected = from_samples(INTERFACE, [eth0(tenant)], hour, hour + HOUR)
    seal_all(tenant, after(hour))
    drop_samples()

    late = [line.replace("net,", "net,agent=late,") for line in lines[::6]]
    write_lines(tenant, *late, at=whole[-1])
    seal_all(tenant, after(hour))

    assert_same(read(tenant, [eth0(tenant)], hour, hour + HOUR), expected)


def test_late_sample_takes_back_what_all_rows_say_is_wrong(tenant: Tenant) -> None:
    """Between two readings the counter started again; 256 s at least is a lost window."""
    hour = hour_of_tests()
    at = times(hour - MINUTE, hour + HOUR + MINUTE)
    lines = [net_line(one, total=1000 + 10 * place) for place, one in enumerate(at)]
    late = lines.pop(60)
    write_lines(tenant, *lines, at=at[-1])
    seal_all(tenant, after(hour))
    bridged = read(tenant, [eth0(tenant)], hour, hour + HOUR)

    write_lines(
        tenant, late.replace("bytes_sent=1600i,bytes_recv=3200i", "bytes_sent=1i,bytes_recv=1i")
    )
    seal_all(tenant, after(hour))

    found = read(tenant, [eth0(tenant)], hour, hour + HOUR)
    assert bridged.seconds.all()
    # A minute before the hour it began: the windows on both sides of the 60th reading.
    assert np.flatnonzero(found.seconds[:, 0] == 0).tolist() == [53]


def test_month_that_is_imported_at_once_is_sealed_though_rows_are_kept_for_hours(
    tenant: Tenant,
) -> None:
    """Two hours of each day; retention is shortened when a part of them is sealed."""
    last = hour_of_tests()
    days = [last - timedelta(days=back) for back in range(29, -1, -1)]
    at = [one for day in days for one in times(day, day + 2 * HOUR, 5 * MINUTE)]
    send_net(tenant, at)
    subject, span = eth0(tenant), (days[0], days[-1] + 2 * HOUR)
    expected = from_samples(INTERFACE, [subject], *span)
    now = last + timedelta(hours=24)

    for rows in (48, 6, 3):
        for _ in range(20):
            sealing.seal(organisation=tenant.organisation, now=now, limit_s=0.0)
        maintain_samples(now=now, retention=timedelta(days=40), rows=timedelta(hours=rows))
        joined = read_measured({INTERFACE: [subject]}, grid_of(*span, 10.0))
        assert_same(joined.growth[INTERFACE], expected)
    seal_all(tenant, now)
    maintain_samples(now=now, retention=timedelta(days=40), rows=3 * HOUR)

    assert NetSample.objects.filter(time__lt=days[-1]).count() == 0
    assert_same(read(tenant, [subject], *span), expected)


def test_samples_in_any_order_end_in_the_same_bytes(tenant: Tenant) -> None:
    hour = hour_of_tests()
    whole = times(hour - MINUTE, hour + HOUR + MINUTE)
    send_net(tenant, whole, name="eth0")
    seal_all(tenant, after(hour))
    for part in (whole[200:], whole[:100], whole[150:200], whole[100:150]):
        send_net(tenant, part, name="eth1", begun=whole[0])
        seal_all(tenant, after(hour))

    host = tenant.host().pk
    found = read(
        tenant, [Subject(host=host, name=name) for name in ("eth0", "eth1")], hour, hour + HOUR
    )
    assert np.array_equal(found.growth[..., 0], found.growth[..., 1])
    assert np.array_equal(found.seconds[..., 0], found.seconds[..., 1])


def test_samples_that_come_while_an_hour_is_sealed_open_it_again(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = hour_of_tests()
    early = times(hour - MINUTE, hour + 20 * MINUTE)
    send_net(tenant, early)
    reading = sealing.read_growth

    def read_then_late(*arguments: object) -> GridGrowth:
        found = reading(*arguments)  # type: ignore[arg-type]
        monkeypatch.setattr(sealing, "read_growth", reading)
        send_net(tenant, times(early[-1] + STEP, hour + HOUR + MINUTE), begun=early[0])
        return found

    monkeypatch.setattr(sealing, "read_growth", read_then_late)
    seal_all(tenant, after(hour))
    seal_all(tenant, after(hour))

    assert known_windows(read(tenant, [eth0(tenant)], hour, hour + HOUR)) == 360


def test_seal_that_is_killed_leaves_the_hour_open_and_nothing_half_written(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + HOUR + MINUTE))
    expected = from_samples(INTERFACE, [eth0(tenant)], hour, hour + HOUR)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sealing, "write_quarters", killed)
        with pytest.raises(KeyboardInterrupt):
            seal_all(tenant, after(hour))
    half = (row_count(Level.EXACT), Member.objects.count(), Track.objects.count())
    seal_all(tenant, after(hour))

    assert half == (0, 0, 0)
    assert_same(read(tenant, [eth0(tenant)], hour, hour + HOUR), expected)


def test_hour_that_the_database_refuses_is_left_and_the_others_go_on(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour + MINUTE, hour + 2 * HOUR + 30 * MINUTE))
    writing = sealing.write_chunks

    def refused(organisation: int, at: datetime, data: dict[tuple[int, int], bytes]) -> int:
        if at == hour:
            raise DatabaseError("disk full")
        return writing(organisation, at, data)

    monkeypatch.setattr(sealing, "write_chunks", refused)
    result = seal_all(tenant, after(hour, hours=2))

    # The hour before is touched by the first reading and holds nothing.
    assert (result.hours, result.left) == (2, 1)
    assert list(OpenHour.objects.filter(at__lte=hour + HOUR).values_list("at", flat=True)) == [
        hour
    ]


def test_sealing_stops_when_its_time_is_up_and_goes_on_where_it_stopped(tenant: Tenant) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + 3 * HOUR))
    runs = [
        sealing.seal(organisation=tenant.organisation, now=after(hour, hours=3), limit_s=0.0)
        for _ in range(5)
    ]

    # The hour before, three hours, and the one after, which is not over.
    assert [(run.hours, run.left) for run in runs] == [(1, 3), (1, 2), (1, 1), (1, 0), (0, 0)]


def test_organisations_share_no_chunk(tenant: Tenant, stranger: Tenant) -> None:
    hour = hour_of_tests()
    for one in (tenant, stranger):
        send_net(one, times(hour - MINUTE, hour + HOUR + MINUTE))

    seal_all(tenant, after(hour))

    assert set(Chunk.objects.values_list("organisation_id", flat=True)) == {tenant.organisation.pk}
    assert ready_hours(stranger.organisation, now=after(hour)) == [hour - HOUR, hour]
    # Whoever knows the subject of another organisation reads nothing of it.
    assert not known_windows(read(stranger, [eth0(tenant)], hour, hour + HOUR))


def test_reading_takes_two_statements_however_many_subjects(tenant: Tenant) -> None:
    hour = hour_of_tests()
    for number in range(3):
        send_net(tenant, times(hour - MINUTE, hour + HOUR), host=f"h{number}")
    seal_all(tenant, after(hour))
    subjects = [eth0(tenant, f"h{number}") for number in range(3)]

    with CaptureQueriesContext(connection) as captured:
        found = read(tenant, subjects, hour - HOUR, hour + HOUR)

    assert len(captured) == 2
    assert Shard.objects.count() == 3
    assert found.seconds[360:].all()


def test_quarters_hold_the_mean_and_the_largest_window(tenant: Tenant) -> None:
    hour = hour_of_tests()
    quarter = 15 * MINUTE
    send_net(tenant, times(hour - MINUTE, hour + quarter))
    # From then on nothing for a minute, then seven times as much.
    begun = hour + quarter + MINUTE
    base = 1000 + 7 * 17 * 60
    lines = [
        (at, base + 49 * round((at - begun).total_seconds()))
        for at in times(begun, hour + 2 * quarter)
    ]
    write_lines(tenant, *(net_line(at, total=total) for at, total in lines), at=hour + HOUR)

    seal_all(tenant, after(hour))

    rows = Quarter.objects.order_by("at").values_list("at", "mean", "maximum")
    found = [
        (at - hour, mean[BYTES_SENT], top[BYTES_SENT]) for at, mean, top in rows if at >= hour
    ]
    # One minute of 7 is bridged, then 14 minutes of 49.
    assert [at for at, _, _ in found] == [timedelta(), quarter]
    assert found[0][1:] == (7, 7)
    assert found[1][1:] == (pytest.approx((1 * 7 + 14 * 49) / 15), 49)


def test_quarters_of_a_resource_hold_its_level_and_load(tenant: Tenant) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour, hour + 20 * MINUTE))
    uplink = Resource.objects.create(
        organisation=tenant.organisation, name="up0", kind="uplink", unit="bit/s",
        mode="floor", threshold=0.9, activity_floor=0.0,
    )  # fmt: skip
    windows = [(5, 0.2, 10.0), (15, 0.6, None), (16, None, 50.0), (17, None, None)]
    judge(
        uplink,
        *(
            judged_window(hour + at * MINUTE, value=level, load=load)
            for at, level, load in windows
        ),
    )

    seal_all(tenant, after(hour))

    rows = Quarter.objects.filter(track_id=Track.objects.get(resource=uplink).pk).order_by("at")
    # A window belongs to the quarter in which it ends; one that ends with it is of it.
    assert [(row.at - hour, row.mean, row.maximum) for row in rows] == [
        (timedelta(), pytest.approx([0.4, 10.0]), pytest.approx([0.6, 10.0])),
        (timedelta(minutes=15), [None, 50.0], [None, 50.0]),
    ]
