"""Many subjects are read onto a grid at once, as each would be alone, in a few statements."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingest import grid_reader
from ingest.core.figures import CGROUP_IO, DISK, INTERFACE, PRESSURE, FigureKind
from ingest.core.grid import grid_of
from ingest.grid_reader import (
    COARSE_WINDOW_S,
    Subject,
    read_growth,
    read_growths,
    read_newest,
    series_of,
)
from ingest.models import Host
from tests.ingest.random_samples import RandomSamples
from tests.ingest.scenario import Tenant, disk_line, nanoseconds, write_lines

UNTIL = datetime(2026, 11, 20, 0, 20, tzinfo=UTC)
SINCE = UNTIL - timedelta(minutes=50)
"""Over midnight, so that two partitions are read."""
MOST_STATEMENTS = 3

pytestmark = pytest.mark.django_db


def random_subjects(host: Host, seed: int) -> dict[FigureKind, list[Subject]]:
    samples = RandomSamples(host, seed=seed, until=UNTIL)
    interfaces = [samples.interface(f"vnet{number}") for number in range(5)]
    cgroups = [key for number in range(4) for key in samples.cgroup(f"/vm{number}.scope")]
    paths = dict.fromkeys(one.name for one in cgroups)
    return {
        INTERFACE: interfaces,
        CGROUP_IO: cgroups,
        PRESSURE: [Subject(host=host.pk, name=path) for path in paths],
    }


@pytest.mark.parametrize("window_s", [10.0, 60.0, COARSE_WINDOW_S])
@pytest.mark.parametrize("seed", range(6))
def test_many_subjects_are_read_as_each_alone(tenant: Tenant, seed: int, window_s: float) -> None:
    host = Host.objects.create(organisation=tenant.organisation, name="h1")
    grid = grid_of(SINCE, UNTIL, window_s)
    known = 0
    for kind, subjects in random_subjects(host, seed).items():
        with CaptureQueriesContext(connection) as statements:
            together = read_growth(kind, subjects, grid)
        assert len(statements) <= MOST_STATEMENTS
        for column, subject in enumerate(subjects):
            alone = read_growth(kind, [subject], grid)
            assert np.array_equal(together.growth[:, :, [column]], alone.growth)
            assert np.array_equal(together.seconds[:, [column]], alone.seconds)
            known += int((alone.seconds > 0).sum())
    assert known > 30


@pytest.mark.parametrize("many_series", [1, grid_reader.MANY_SERIES])
@pytest.mark.parametrize("seed", range(3))
def test_one_window_alone_is_that_window_of_many(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch, seed: int, many_series: int
) -> None:
    """What is judged live, window by window, is what a look back shows.

    A window of many series is read by time, of few by series.
    """
    monkeypatch.setattr(grid_reader, "MANY_SERIES", many_series)
    host = Host.objects.create(organisation=tenant.organisation, name="h1")
    grid = grid_of(SINCE, UNTIL, 10.0)
    for kind, subjects in random_subjects(host, seed).items():
        whole = read_growth(kind, subjects, grid)
        for place in range(0, grid.count, 37):
            part = read_growth(kind, subjects, grid.part(place, place + 1))
            assert np.array_equal(part.growth[:, 0], whole.growth[:, place])
            assert np.array_equal(part.seconds[0], whole.seconds[place])


@pytest.mark.parametrize("seed", range(3))
def test_readings_beyond_the_edges_add_nothing_to_those_that_are_needed(
    tenant: Tenant, seed: int
) -> None:
    host = Host.objects.create(organisation=tenant.organisation, name="h1")
    grid = grid_of(SINCE, UNTIL, 10.0)
    own = random_subjects(host, seed)
    for place in range(0, grid.count, 37):
        part, known = grid.part(place, place + 1), series_of(own)
        looks = []
        for sends_between in (False, True):
            for one in known.values():
                one.sends_between = sends_between
            looks.append(read_growths(own, part, known=known))
        for kind in own:
            first, second = (found[kind] for found in looks)
            assert np.array_equal(first.growth, second.growth)
            assert np.array_equal(first.seconds, second.seconds)
            assert np.array_equal(first.gauges, second.gauges)


def test_series_that_send_between_the_edges_are_read_in_one_statement_next_time(
    tenant: Tenant,
) -> None:
    start = datetime(2026, 11, 20, 12, 0, 3, tzinfo=UTC)
    for step in range(10):
        at = start + timedelta(seconds=10 * step)
        write_lines(tenant, disk_line(at, count=100 * step), at=at)
    wanted = {DISK: [Subject(host=tenant.host().pk, name="sda")]}
    grid = grid_of(start + timedelta(seconds=20), start + timedelta(seconds=30), 10)
    known, counts = series_of(wanted), []

    for _ in range(2):
        with CaptureQueriesContext(connection) as statements:
            found = read_growths(wanted, grid, known=known)[DISK]
        counts.append(len(statements))
        assert found.growth[DISK.counters.index("reads"), :, 0].tolist() == [100]

    assert counts == [2, 1]


def test_tenant_with_equal_names_is_not_read(tenant: Tenant, stranger: Tenant) -> None:
    grid = grid_of(SINCE, UNTIL, 10.0)
    host = Host.objects.create(organisation=tenant.organisation, name="h1")
    own = random_subjects(host, seed=1)
    before = {kind: read_growth(kind, subjects, grid) for kind, subjects in own.items()}
    other = Host.objects.create(organisation=stranger.organisation, name="h1")

    others = random_subjects(other, seed=1001)

    for kind, subjects in own.items():
        found = read_growth(kind, subjects, grid)
        assert np.array_equal(found.growth, before[kind].growth)
        assert np.array_equal(found.seconds, before[kind].seconds)
        # The names are equal, and yet what is found is not.
        assert [one.name for one in others[kind]] == [one.name for one in subjects]
        foreign = read_growth(kind, others[kind], grid)
        assert not np.array_equal(foreign.growth, found.growth)


def test_a_host_that_sends_rarely_is_known_in_every_window(tenant: Tenant) -> None:
    start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    for step in range(4):
        at = start + timedelta(minutes=5 * step)
        write_lines(tenant, disk_line(at, count=3000 * step), at=at)
    subject = Subject(host=tenant.host().pk, name="sda")

    found = read_growth(
        DISK, [subject], grid_of(start + timedelta(minutes=6), start + timedelta(minutes=7), 10)
    )

    reads = DISK.counters.index("reads")
    assert found.growth[reads, :, 0].tolist() == [100] * 6


def test_a_rare_reading_on_the_first_edge_is_judged_by_the_one_before_it(tenant: Tenant) -> None:
    start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    for step in range(4):
        at = start + timedelta(minutes=5 * step)
        write_lines(tenant, disk_line(at, count=3000 * step), at=at)
    subject = Subject(host=tenant.host().pk, name="sda")
    edge = start + timedelta(minutes=10)

    found = read_growth(DISK, [subject], grid_of(edge, edge + timedelta(minutes=5), 10))

    assert found.growth[DISK.counters.index("reads"), :, 0].tolist() == [100] * 30


def test_interval_after_a_long_silence_is_judged_alike_in_any_look(tenant: Tenant) -> None:
    """Two minutes, after half an hour without a reading, are no interval of this sender."""
    start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    silent_until = start + timedelta(minutes=31)
    readings = [start, silent_until, silent_until + timedelta(minutes=2)]
    for place, at in enumerate(readings):
        write_lines(tenant, disk_line(at, count=1200 * place), at=at)
    subject = Subject(host=tenant.host().pk, name="sda")
    long = grid_of(start, start + timedelta(minutes=33), 10)

    looks = [read_growth(DISK, [subject], long.part(begin, long.count)) for begin in (0, 186, 190)]

    assert [found.seconds.any() for found in looks] == [False] * 3


def rate_line(at: datetime, reads_per_s: float) -> str:
    return (
        f"iostat,host=h1,device=sda reads_per_s={reads_per_s},writes_per_s=0,read_bytes_per_s=0,"
        f"write_bytes_per_s=0,read_await_ms=0,write_await_ms=0 {nanoseconds(at)}"
    )


def test_a_rate_says_nothing_of_a_hole_that_is_shorter_than_coarse_windows(tenant: Tenant) -> None:
    start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    # A quarter of an hour, forty-five minutes without a reading, and a quarter again.
    steps = [*range(0, 901, 10), *range(3600, 4501, 10)]
    lines = [rate_line(start + timedelta(seconds=step), 5) for step in steps]
    write_lines(tenant, *lines, at=start + timedelta(hours=2))
    subject = Subject(host=tenant.host().pk, name="sda")

    found = read_growth(DISK, [subject], grid_of(start, start + timedelta(minutes=75), 900))

    # 5 reads a second in 900 seconds.
    assert found.growth[DISK.counters.index("reads"), :, 0].tolist() == [4500, 0, 0, 0, 4500]
    assert (found.seconds[:, 0] > 0).tolist() == [True, False, False, False, True]


def test_totals_are_read_alike_with_rates_beside_them(tenant: Tenant) -> None:
    """Each step of a coarse window is one look-up for totals; of rates every reading is read."""
    start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    times = [start + timedelta(seconds=7 + 10 * step) for step in range(60)]
    lines = [disk_line(at, name="sdb", count=step**2) for step, at in enumerate(times)]
    lines += [rate_line(at, 5) for at in times]
    write_lines(tenant, *lines, at=start + timedelta(minutes=11))
    rates, totals = (Subject(host=tenant.host().pk, name=name) for name in ("sda", "sdb"))
    grid = grid_of(start + timedelta(minutes=2), start + timedelta(minutes=8), COARSE_WINDOW_S)

    together = read_growth(DISK, [rates, totals], grid)

    for column, subject in enumerate((rates, totals)):
        alone = read_growth(DISK, [subject], grid)
        assert together.growth[:, :, column].tolist() == alone.growth[:, :, 0].tolist()
    # 5 a second in two minutes.
    assert together.growth[DISK.counters.index("reads"), :, 0].tolist() == [600] * 3


def test_the_newest_rates_are_read_as_totals(tenant: Tenant) -> None:
    start = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
    for step, reads_per_s in ((0, 7), (10, 9), (20, 4)):
        at = start + timedelta(seconds=step)
        write_lines(tenant, rate_line(at, reads_per_s), at=at)
    subject = Subject(host=tenant.host().pk, name="sda")

    [(_, counters)] = read_newest(
        DISK, subject, most=3, since=start - timedelta(hours=1), until=start + timedelta(hours=1)
    )

    # 9 a second for 10 seconds, and 4.
    assert np.diff(counters[:, DISK.counters.index("reads")]).tolist() == [90, 40]


def test_newest_window_of_many_series_is_unknown_where_nobody_sent(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid_reader, "MANY_SERIES", 1)
    host = Host.objects.create(organisation=tenant.organisation, name="h1")
    kind, subjects = next(iter(random_subjects(host, 1).items()))
    later = grid_of(UNTIL + timedelta(days=1), UNTIL + timedelta(days=1, seconds=10), 10.0)

    found = read_growth(kind, subjects, later)

    assert not found.seconds.any()


def test_what_nobody_sent_is_unknown(tenant: Tenant) -> None:
    host = Host.objects.create(organisation=tenant.organisation, name="h1")
    grid = grid_of(SINCE, UNTIL, 10.0)

    found = read_growth(DISK, [Subject(host=host.pk, name="sda")], grid)

    assert found.seconds.shape == (300, 1)
    assert not found.seconds.any()
    assert read_growth(DISK, [], grid).seconds.shape == (300, 0)
