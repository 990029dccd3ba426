"""Each subject is read once, from sealed hours and from the samples of open ones.

Whichever part is sealed, and whether its rows are there or not, the figures are those of the rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor.core.stored_hour import FIVE_MINUTE_SUMS
from advisor.history.measured import MOST_OPEN, read_measured, read_spans
from advisor.history.stored.read import Span
from advisor.models import Chunk
from ingest.core.catalogue import DISKIO
from ingest.core.figures import (
    CGROUP_BYTES,
    CGROUP_IO,
    CGROUP_IOPS,
    DISK,
    INTERFACE,
    PRESSURE,
    RECEIVED_BITS,
    WAITING,
    FigureKind,
)
from ingest.core.grid import Grid, GridGrowth, grid_of
from ingest.grid_reader import Subject, read_growth
from ingest.kept_rows import note_dropped
from ingest.models import Host, OpenHour
from ingest.partitions import SEALED_TABLES
from tests.advisor.history.stored.hosts import (
    HOUR,
    MINUTE,
    STEP,
    after,
    hour_of_tests,
    seal_all,
    send_net,
    times,
)
from tests.ingest.random_samples import RandomSamples
from tests.ingest.scenario import Tenant, disk_line, make_tenant, now, write_lines

pytestmark = pytest.mark.django_db

TEN_SECONDS = timedelta(seconds=10)
LONG_S = 7200
WINDOWS_S = (10, 60, 300, 600, 900, 3600, LONG_S)
HOURS = 5
Subjects = dict[FigureKind[Any], list[Subject]]


@pytest.fixture
def tenant(db: None) -> Tenant:
    return make_tenant()


def test_subject_that_is_wanted_twice_is_read_once(tenant: Tenant) -> None:
    end = now().replace(second=0)
    write_lines(tenant, disk_line(end - TEN_SECONDS, count=10), disk_line(end, count=60))
    subject = Subject(host=tenant.host().pk, name="sda")

    found = read_measured({DISK: [subject, subject]}, grid_of(end - TEN_SECONDS, end, 10))

    assert found.growth[DISK].seconds.shape == (1, 1)
    assert found.figures(DISK, [subject, subject]).read_iops.tolist() == [[5, 5]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fleet:
    """Hosts with random samples of some hours that end at `until`."""

    tenant: Tenant
    subjects: Subjects
    until: datetime

    @property
    def since(self) -> datetime:
        return self.until - HOURS * HOUR


def random_fleet(tenant: Tenant, seed: int) -> Fleet:
    """With resets, wraps, holes, missing counters, odd times, and series that come and go."""
    # Long windows begin at even hours; the end is within an hour.
    hour = hour_of_tests()
    until = hour + 27 * MINUTE + 3 * STEP
    found: Subjects = {INTERFACE: [], CGROUP_IO: [], PRESSURE: []}
    for number in range(2):
        host = Host.objects.create(organisation=tenant.organisation, name=f"h{number}")
        samples = RandomSamples(host, seed=seed + 50 * number, until=until, most_intervals=2000)
        found[INTERFACE] += [samples.interface(f"vnet{one}") for one in range(3)]
        cgroups = [key for one in range(2) for key in samples.cgroup(f"/vm{one}.scope")]
        found[CGROUP_IO] += cgroups
        found[PRESSURE] += dict.fromkeys(one._replace(device="") for one in cgroups)
    return Fleet(tenant=tenant, subjects=found, until=until)


def grids(fleet: Fleet) -> list[Grid]:
    return [grid_of(fleet.since, fleet.until, window_s) for window_s in WINDOWS_S]


Expected = dict[FigureKind[Any], GridGrowth]


def from_rows(fleet: Fleet) -> Expected:
    """All windows of 10 s, from rows alone."""
    # Whole windows of the longest grid, which begins before the samples.
    since = fleet.since - timedelta(seconds=LONG_S)
    grid = grid_of(since.replace(hour=since.hour // 2 * 2, minute=0, second=0), fleet.until, 10)
    return {kind: read_growth(kind, own, grid) for kind, own in fleet.subjects.items()}


def summed(found: GridGrowth, grid: Grid) -> GridGrowth:
    """The same in other windows: sums of those that lie in each, if half of it is known."""
    per_window = grid.window_us // found.grid.window_us
    first = (grid.since_us - found.grid.since_us) // found.grid.window_us
    seconds = np.zeros((grid.count, found.seconds.shape[1]))
    growth = np.zeros((found.growth.shape[0], *seconds.shape), dtype=np.int64)
    for window in range(grid.count):
        begin = first + window * per_window
        seconds[window] = found.seconds[begin : begin + per_window].sum(axis=0)
        growth[:, window] = found.growth[:, begin : begin + per_window].sum(axis=1)
    unknown = seconds < grid.window_s / 2
    seconds[unknown] = 0
    growth[:, unknown] = 0
    edges = found.gauges[:, first : first + grid.count * per_window + 1 : per_window]
    return GridGrowth(grid=grid, growth=growth, seconds=seconds, gauges=edges)


def assert_read_as(fleet: Fleet, expected: Expected, *, among: Sequence[Grid] = ()) -> None:
    for grid in among or grids(fleet):
        found = read_measured(fleet.subjects, grid)
        for kind, own in fleet.subjects.items():
            rows, read = summed(expected[kind], grid), found.growth[kind].chosen(range(len(own)))
            assert np.array_equal(read.growth, rows.growth), (kind.name, grid)
            assert read.seconds == pytest.approx(rows.seconds, abs=1e-5), (kind.name, grid)


def drop_rows(before: datetime) -> None:
    """As retention does."""
    note_dropped(before)
    with connection.cursor() as cursor:
        for table in SEALED_TABLES:
            cursor.execute(f"DELETE FROM {table} WHERE time < %s", [before])


def take_rows(chance: random.Random, since: datetime, until: datetime) -> Callable[[], None]:
    """Take some readings of this time away; what gives them back, as samples that come late."""
    tables = {}
    with connection.cursor() as cursor:
        for table in SEALED_TABLES:
            cursor.execute(
                f"DELETE FROM {table} WHERE time > %s AND time <= %s AND series_id %% 3 = %s"
                " RETURNING *",
                [since, until, chance.randrange(3)],
            )
            tables[table] = cursor.fetchall()

    def give_back() -> None:
        with connection.cursor() as cursor:
            for table, rows in tables.items():
                for row in rows:
                    places = ", ".join(["%s"] * len(row))
                    cursor.execute(f"INSERT INTO {table} VALUES ({places})", row)
            cursor.execute("SELECT DISTINCT host_id FROM ingest_series")
            hosts = [host for (host,) in cursor.fetchall()]
        hour = since.replace(minute=0, second=0) - HOUR
        OpenHour.objects.bulk_create(
            [
                OpenHour(host_id=host, at=hour + place * HOUR)
                for host in hosts
                for place in range((until - hour) // HOUR + 2)
            ],
            ignore_conflicts=True,
        )

    return give_back


def known(expected: Expected) -> int:
    return sum(int((found.seconds > 0).sum()) for found in expected.values())


@pytest.mark.parametrize("seed", range(6))
def test_figures_stay_as_they_are_when_hours_are_sealed_and_rows_go(
    tenant: Tenant, seed: int
) -> None:
    fleet = random_fleet(tenant, seed)
    expected = from_rows(fleet)
    hour = hour_of_tests()
    assert known(expected) > 1000

    assert_read_as(fleet, expected)
    for back in (2, 0):
        seal_all(tenant, after(hour - (back + 1) * HOUR))
        assert_read_as(fleet, expected)
        drop_rows(hour - (back + 1) * HOUR)
        assert_read_as(fleet, expected)

    assert OpenHour.objects.exists()


@pytest.mark.parametrize("seed", range(2))
def test_hours_sealed_before_there_were_sums_of_five_minutes_are_read_as_the_others(
    tenant: Tenant, seed: int
) -> None:
    fleet = random_fleet(tenant, seed)
    expected = from_rows(fleet)
    hour = hour_of_tests()
    seal_all(tenant, after(hour - HOUR))
    drop_rows(hour - HOUR)
    sums = Chunk.objects.filter(figure=FIVE_MINUTE_SUMS)
    assert sums.filter(at__gt=hour - 3 * HOUR).exists()

    removed, _ = sums.filter(at__lte=hour - 3 * HOUR).delete()

    assert removed > 0
    assert_read_as(fleet, expected, among=[grid_of(fleet.since, fleet.until, 300)])


@pytest.mark.parametrize("seed", range(4))
def test_any_windows_around_the_seam_are_those_of_the_rows(tenant: Tenant, seed: int) -> None:
    fleet = random_fleet(tenant, seed)
    expected = from_rows(fleet)
    hour, chance = hour_of_tests(), random.Random(seed)
    seal_all(tenant, after(hour - HOUR))
    drop_rows(hour - HOUR)

    among = []
    for window_s in WINDOWS_S:
        length = timedelta(seconds=window_s)
        for _ in range(4):
            since = hour - chance.randrange(0, 4) * length - chance.random() * HOUR
            until = min(hour + chance.random() * HOUR / 2 + length, fleet.until)
            among.append(grid_of(since, until, window_s))

    assert_read_as(fleet, expected, among=[grid for grid in among if grid.count])


PARTS = (CGROUP_IOPS, CGROUP_BYTES, RECEIVED_BITS)


@pytest.mark.parametrize("is_late", [False, True], ids=["in time", "late"])
@pytest.mark.parametrize("seed", range(4))
def test_spans_that_are_read_at_once_are_each_what_is_read_of_it_alone(
    tenant: Tenant, seed: int, is_late: bool
) -> None:
    fleet = random_fleet(tenant, seed)
    hour, chance = hour_of_tests(), random.Random(seed)
    late = take_rows(chance, hour - 3 * HOUR, hour - 2 * HOUR)
    seal_all(tenant, after(hour - HOUR))
    drop_rows(hour - HOUR)
    if is_late:
        late()
    spans = []
    for window_s in (10, 10, 60, 900, 25):
        since = hour - chance.random() * 3 * HOUR
        until = min(since + 3 * HOUR, fleet.until)
        kinds = tuple(chance.sample([*PARTS, *fleet.subjects], 3))
        spans.append(Span(grid=grid_of(since, until, window_s), kinds=kinds))
    aligned = spans[: chance.choice((1, 3, 4, 5))]

    found = read_spans(fleet.subjects, aligned)

    for span, own in zip(aligned, found, strict=True):
        alone = read_measured(fleet.subjects, span.grid)
        assert own.grid == span.grid
        for kind in span.kinds:
            subjects = fleet.subjects[kind.whole]
            expected = kind.grown(alone.growth[kind.whole])
            assert np.array_equal(own.growth[kind].growth, expected.growth), (kind.counters, span)
            assert np.array_equal(own.growth[kind].seconds, expected.seconds)
            assert own.figures(kind, subjects).seconds.shape == (span.grid.count, len(subjects))


def test_rates_alone_are_those_of_whole_kinds(tenant: Tenant) -> None:
    fleet = random_fleet(tenant, 1)
    grid = grid_of(fleet.until - HOUR, fleet.until, 10)
    whole = read_measured(fleet.subjects, grid)
    parts = whole.of((*PARTS, WAITING))
    cgroups, vnics = fleet.subjects[CGROUP_IO], fleet.subjects[INTERFACE]
    done, carried = whole.figures(CGROUP_IO, cgroups), whole.figures(INTERFACE, vnics)

    for kind, expected in ((CGROUP_IOPS, done.iops), (CGROUP_BYTES, done.bytes_per_s)):
        np.testing.assert_array_equal(parts.figures(kind, cgroups).rate, expected)
    pressed = fleet.subjects[PRESSURE]
    np.testing.assert_array_equal(
        parts.figures(WAITING, pressed).some_ratio, whole.figures(PRESSURE, pressed).some_ratio
    )
    received = parts.figures(RECEIVED_BITS, vnics).rate
    np.testing.assert_array_equal(received, carried.received_bits_per_s)
    assert (received > 0).any()


@pytest.mark.parametrize("seed", range(6))
def test_late_samples_of_a_sealed_hour_are_read_before_and_after_it_is_sealed_again(
    tenant: Tenant, seed: int
) -> None:
    """Even if they show that what was known was wrong: all rows are there."""
    fleet = random_fleet(tenant, seed)
    hour, whole = hour_of_tests(), from_rows(fleet)
    late = take_rows(random.Random(seed), hour - 2 * HOUR, hour - HOUR)
    seal_all(tenant, after(hour - HOUR))
    drop_rows(hour - 4 * HOUR)
    less = from_rows(fleet)

    late()
    open_again = from_rows(fleet)
    recent = [grid_of(hour - 3 * HOUR, fleet.until, window_s) for window_s in (10, 60, 900, 3600)]
    assert_read_as(fleet, whole, among=recent)
    seal_all(tenant, after(hour - HOUR))

    assert known(less) < known(open_again)
    assert_read_as(fleet, whole, among=recent)


@pytest.mark.parametrize("seed", range(4))
def test_late_samples_are_added_where_nothing_is_known_when_rows_are_gone(
    tenant: Tenant, seed: int
) -> None:
    fleet = random_fleet(tenant, seed)
    hour = hour_of_tests()
    late = take_rows(random.Random(seed), hour - 3 * HOUR, hour - 2 * HOUR)
    seal_all(tenant, after(hour - HOUR))
    grid = grid_of(hour - 4 * HOUR, fleet.until, 10)
    before = read_measured(fleet.subjects, grid)
    drop_rows(hour - HOUR)

    late()
    open_again = read_measured(fleet.subjects, grid)
    seal_all(tenant, after(hour - HOUR))
    sealed_again = read_measured(fleet.subjects, grid)

    added = 0
    for kind in fleet.subjects:
        one, other, third = (found.growth[kind] for found in (before, open_again, sealed_again))
        was_known = one.seconds > 0
        assert np.array_equal(other.growth[:, was_known], one.growth[:, was_known])
        assert np.array_equal(other.growth, third.growth)
        assert np.array_equal(other.seconds, third.seconds)
        added += int((other.seconds > 0).sum() - was_known.sum())
    assert added > 0


def test_gauges_are_those_of_the_rows_on_both_sides_of_the_seam(tenant: Tenant) -> None:
    hour = hour_of_tests()
    lines = [
        disk_line(at, count=place).replace(" reads=", f" iops_in_progress={place % 7}i,reads=")
        for place, at in enumerate(times(hour - 2 * HOUR, hour + 20 * MINUTE))
    ]
    write_lines(tenant, *lines, at=hour + 20 * MINUTE)
    subject = Subject(host=tenant.host().pk, name="sda")
    fine = grid_of(hour - 2 * HOUR, hour + 20 * MINUTE, 10)
    expected = read_growth(DISK, [subject], fine)
    seal_all(tenant, after(hour - HOUR))
    drop_rows(hour - HOUR)

    for window_s in (10, 60, 300, 900):
        grid = grid_of(hour - HOUR, hour + 15 * MINUTE, window_s)
        found = read_measured({DISK: [subject]}, grid).growth[DISK]
        assert np.array_equal(found.gauges, summed(expected, grid).gauges)
        assert found.gauges.shape == (len(DISKIO.fields) - 8, grid.count + 1, 1)


def test_windows_of_any_length_are_read_from_rows_as_long_as_they_are_there(
    tenant: Tenant,
) -> None:
    """A stored window of 10 s says nothing of the two of 5 s in it."""
    hour = hour_of_tests()
    send_net(tenant, times(hour - HOUR, hour + HOUR + MINUTE, timedelta(seconds=5)), per_s=7)
    subject = Subject(host=tenant.host().pk, name="eth0")
    grid = grid_of(hour - 30 * MINUTE, hour + HOUR, 5)
    expected = read_growth(INTERFACE, [subject], grid)
    seal_all(tenant, after(hour))

    from_samples = read_measured({INTERFACE: [subject]}, grid).growth[INTERFACE]
    drop_rows(hour - 25 * MINUTE)
    joined = read_measured({INTERFACE: [subject]}, grid).growth[INTERFACE]

    # The rate is steady, so that of the whole 10 s is that of each half.
    for found in (from_samples, joined):
        assert np.array_equal(found.growth, expected.growth)
        assert np.array_equal(found.seconds, expected.seconds)


def test_long_windows_are_read_though_sealing_is_far_behind(tenant: Tenant) -> None:
    hour = hour_of_tests()
    hours = MOST_OPEN // HOUR + 2
    begun = hour - hours * HOUR
    send_net(tenant, times(begun, hour, MINUTE), per_s=7)
    seal_all(tenant, after(begun))
    subject = Subject(host=tenant.host().pk, name="eth0")

    found = read_measured({INTERFACE: [subject]}, grid_of(begun, hour, 3600))

    # 7 bytes a second for an hour.
    assert found.growth[INTERFACE].growth[0, :, 0].tolist() == [25200] * hours


def test_long_windows_of_open_hours_are_the_same_of_their_last_readings_alone(
    tenant: Tenant,
) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour - 3 * HOUR, hour + 31 * MINUTE), per_s=7)
    seal_all(tenant, after(hour - 2 * HOUR))
    subject = Subject(host=tenant.host().pk, name="eth0")
    grid = grid_of(hour - 2 * HOUR, hour + 30 * MINUTE, 1800)

    exact, of_last = (
        read_measured({INTERFACE: [subject]}, grid, most_open=most).growth[INTERFACE]
        for most in (MOST_OPEN, timedelta(0))
    )

    # 7 bytes a second for half an hour; one hour is sealed, the others are not.
    assert of_last.growth[0, :, 0].tolist() == [12600] * 5
    assert np.array_equal(of_last.growth, exact.growth)
    assert np.array_equal(of_last.seconds, exact.seconds)


@pytest.mark.parametrize("window_s", [10, 60])
def test_windows_of_open_hours_ask_for_nothing_that_is_sealed(
    tenant: Tenant, window_s: int
) -> None:
    hour = hour_of_tests()
    send_net(tenant, times(hour - 2 * HOUR, hour + 10 * MINUTE))
    seal_all(tenant, after(hour - HOUR))
    subject = Subject(host=tenant.host().pk, name="eth0")

    with CaptureQueriesContext(connection) as captured:
        found = read_measured({INTERFACE: [subject]}, grid_of(hour, hour + MINUTE, window_s))

    # What is open, series, samples.
    assert len(captured) == 3
    assert found.growth[INTERFACE].seconds.all()


@pytest.mark.parametrize("interfaces", [3, 30])
def test_statements_do_not_grow_with_subjects(tenant: Tenant, interfaces: int) -> None:
    hour = hour_of_tests()
    for number in range(interfaces):
        at = times(hour - 2 * HOUR, hour + 10 * MINUTE, MINUTE)
        send_net(tenant, at, name=f"vnet{number}", host=f"h{number % 3}")
    seal_all(tenant, after(hour - HOUR))
    host = {name: tenant.host(name).pk for name in ("h0", "h1", "h2")}
    subjects = [
        Subject(host=host[f"h{number % 3}"], name=f"vnet{number}") for number in range(interfaces)
    ]

    with CaptureQueriesContext(connection) as captured:
        found = read_measured({INTERFACE: subjects}, grid_of(hour - HOUR, hour + 10 * MINUTE, 60))

    # What is open, series, samples, members and chunks.
    assert len(captured) == 5
    assert found.growth[INTERFACE].seconds.all()
