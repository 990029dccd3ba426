"""A web server's writer stores what `store` stores, and commits before it answers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from threading import Barrier

import pytest
from django.db import connection, transaction

from accounts.models import Organisation, Token
from ingest.core.line_protocol import Precision
from ingest.core.quota.limits import QuotaExceededError
from ingest.known_series import MOST_BEHIND
from ingest.models import (
    CgroupPressureSample,
    CgroupSample,
    DiskioSample,
    Host,
    LateSamples,
    OpenHour,
    RejectedLine,
    Series,
    SystemSample,
)
from ingest.native_lines import IS_BUILT
from ingest.partitions import drop_partitions
from ingest.quotas.new_series import COUNTS
from ingest.write import WriteResult
from ingest.writer import Body, Writer
from tests.ingest.scenario import (
    RETENTION,
    Tenant,
    disk_line,
    make_tenant,
    nanoseconds,
    now,
    write_lines,
)
from tests.ingest.wire import eventually

pytestmark = pytest.mark.usefixtures("committed")

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


class Server:
    """A writer whose clock is that of the test, and that notes what is behind when told to."""

    def __init__(self) -> None:
        self.at = now()
        self.writer = Writer(notes_by_itself=False, clock=lambda: self.at)

    def write(self, tenant: Tenant, *lines: str, at: datetime | None = None) -> WriteResult:
        self.at = at or now()
        return self.give(body(tenant, *lines, at=self.at))[0]

    def give(self, *bodies: Body) -> list[WriteResult]:
        """Store bodies as the queue does: together, and alone what may take longer."""
        results = []
        for one, result in zip(bodies, self.writer.store_together(bodies), strict=True):
            assert not isinstance(result, Exception)
            results.append(self.writer.store_alone(one) if result is None else result)
        return results


def body(tenant: Tenant, *lines: str, at: datetime) -> Body:
    return Body(
        content="\n".join(lines).encode(),
        token=tenant.token,
        precision=Precision.NS,
        now=at,
        retention=RETENTION,
    )


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def one() -> Tenant:
    return make_tenant("one")


def stored(tenant: Tenant) -> list[tuple[object, ...]]:
    """All samples of an organisation, by the tags of their series."""
    found = []
    for model in (DiskioSample, CgroupSample, CgroupPressureSample, SystemSample):
        columns = [field.attname for field in model._meta.concrete_fields]
        names = [name for name in columns if name not in ("series_id", "pk")]
        rows = model.objects.filter(series__organisation=tenant.organisation)
        found += rows.values_list("series__measurement", "series__tags_key", *names)
    return sorted(found, key=repr)


def rows_beside(tenant: Tenant) -> list[tuple[object, ...]]:
    """What is noted with series, hosts and hours."""
    organisation = tenant.organisation
    series = Series.objects.filter(organisation=organisation).order_by("measurement", "tags_key")
    hosts = Host.objects.filter(organisation=organisation).order_by("name")
    hours = OpenHour.objects.filter(host__organisation=organisation)
    return [
        *series.values_list("measurement", "tags_key", "first_sample_at", "last_sample_at"),
        *hosts.values_list("name", "last_sample_at", "heard_at", "shared_at"),
        *hours.order_by("host__name", "at").values_list("host__name", "at"),
    ]


def notes(tenant: Tenant) -> dict[str, datetime]:
    """By host from when on windows are to be judged again; the notes are taken."""
    found: dict[str, datetime] = {}
    rows = LateSamples.objects.filter(host__organisation=tenant.organisation)
    for host, at in rows.values_list("host__name", "changed_from"):
        found[host] = min(at, found.get(host, at))
    rows.delete()
    return found


def random_bodies(random: Random, begin: datetime) -> Iterator[tuple[datetime, list[str]]]:
    """Bodies of two hosts and when they come: most in order, some late, again, or after a gap."""
    at = begin
    sent: list[str] = []
    for _ in range(40):
        at += random.choice([SECOND * 3, SECOND * 10, SECOND * 10, MINUTE * 14, MINUTE * 16])
        lines = []
        for host in random.sample(["h1", "h2"], random.randint(1, 2)):
            back = random.choice([0, 0, 0, 0, 7, 20, 300, 900, 2000])
            for step in range(random.choice([1, 1, 1, 4, 100])):
                moment = at - SECOND * (back + 10 * step)
                lines.append(disk_line(moment, host=host, count=random.randrange(10**6)))
                if random.random() < 0.3:
                    lines.append(
                        f"cgroup,host={host},path=/a\\ b io.stat.8:0.rios={step}i,"
                        f"io.pressure.some.total=1i {nanoseconds(moment)}"
                    )
                if random.random() < 0.3:
                    lines.append(f'system,host={host} n_cpus=4i,x="1" {nanoseconds(moment)}')
                    lines.append(f"system,host={host} load1=0.5 {nanoseconds(moment)}")
                if random.random() < 0.1:
                    lines.append("rubbish")
        if sent and random.random() < 0.2:
            lines += random.sample(sent, 1)
        sent += lines
        yield at, lines


@pytest.mark.parametrize("seed", range(4))
def test_writer_stores_and_notes_what_the_other_way_does(server: Server, seed: int) -> None:
    random = Random(seed)
    plain, quick = make_tenant("plain"), make_tenant("quick")
    for at, lines in random_bodies(random, now() - timedelta(days=2)):
        expected = write_lines(plain, *lines, at=at)
        result = server.write(quick, *lines, at=at)
        if random.random() < 0.7:
            server.writer.note_waiting()

        assert (result.accepted, result.rejected, result.rejections) == (
            expected.accepted,
            expected.rejected,
            expected.rejections,
        )
        # It may note too much, for what its rows do not say yet, and never too little.
        own = notes(quick)
        for host, changed_from in notes(plain).items():
            assert own[host] <= changed_from

    server.writer.note_waiting()
    assert stored(quick) == stored(plain)
    assert rows_beside(quick) == rows_beside(plain)


def test_sender_in_order_notes_nothing_late(server: Server, one: Tenant) -> None:
    # At the edges of windows; others send so close to the deadline that it is noted.
    begin = now().replace(second=0) - MINUTE
    server.write(one, disk_line(begin), at=begin + SECOND)
    server.writer.note_waiting()
    notes(one)

    for step in range(1, 5):
        at = begin + 10 * step * SECOND
        server.write(one, disk_line(at), at=at + SECOND)
        server.writer.note_waiting()

    assert notes(one) == {}


def test_rows_of_series_are_never_far_behind(server: Server, one: Tenant) -> None:
    begin = now() - timedelta(hours=3)
    for step in range(10):
        at = begin + step * 7 * MINUTE
        server.write(one, disk_line(at), at=at)

        (first, last) = Series.objects.values_list("first_sample_at", "last_sample_at").get()
        assert first == begin
        assert at - last <= MOST_BEHIND

    server.writer.note_waiting()
    assert Series.objects.get().last_sample_at == at
    assert one.host().heard_at == at


def test_known_series_is_written_without_looking_for_it(
    server: Server, one: Tenant, django_assert_max_num_queries: object
) -> None:
    lines = [disk_line(now() + step * SECOND) for step in range(3)]
    server.write(one, lines[0])
    server.write(one, lines[1])

    # Begin, hold the series, copy, lock open hours, commit.
    with django_assert_max_num_queries(5):  # type: ignore[operator]
        server.write(one, lines[2])


def test_deleted_host_may_return(server: Server, one: Tenant) -> None:
    server.write(one, disk_line(now()))
    one.host().delete()

    server.write(one, disk_line(now(), count=3))

    assert DiskioSample.objects.get(series__host__name="h1").reads == 3
    assert Series.objects.get().host == one.host()


def test_series_that_goes_while_it_is_learnt_is_made_anew(server: Server, one: Tenant) -> None:
    server.write(one, disk_line(now()))
    later = disk_line(now() + SECOND, count=3)

    def write() -> WriteResult:
        try:
            # A process that knows nothing yet.
            return Server().write(one, later)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            one.host().delete()
            writing = pool.submit(write)
            eventually(someone_waits, what="a writer that waits for the deletion")
        assert writing.result(30).accepted == 1

    assert DiskioSample.objects.get(series__host__name="h1").reads == 3


def someone_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        waits: bool = cursor.fetchone()[0]
        return waits


def test_machines_of_one_name_are_noted(server: Server, one: Tenant) -> None:
    begin = now() - MINUTE
    for step, uptime in enumerate([500, 9_000, 520]):
        at = begin + 10 * step * SECOND
        server.write(one, f"system,host=h1 uptime={uptime}i {nanoseconds(at)}", at=at)
    assert one.host().shared_at is None

    server.writer.note_waiting()

    assert one.host().shared_at == at


def test_dropped_partition_is_made_again(server: Server, one: Tenant) -> None:
    at = now() - timedelta(days=3)
    server.write(one, disk_line(at))
    drop_partitions(before=at + timedelta(days=1))

    server.write(one, disk_line(at + SECOND))

    assert DiskioSample.objects.get().time == at + SECOND


def test_quota_that_is_given_to_a_known_organisation_holds(server: Server, one: Tenant) -> None:
    COUNTS.forget()
    server.write(one, disk_line(now(), name="sda"))
    Organisation.objects.filter(pk=one.organisation.pk).update(quota_series=1)
    # As it is authenticated anew.
    token = Token.objects.select_related("organisation", "host").get(pk=one.token.pk)
    again = replace(one, token=token, organisation=token.organisation)

    later = now() + SECOND
    result = server.write(again, disk_line(later, name="sda"), disk_line(later, name="sdb"))

    assert (result.accepted, result.rejected) == (1, 1)
    assert Series.objects.get().subject == "sda"


def test_refused_lines_are_kept_and_the_others_stored(server: Server, one: Tenant) -> None:
    unknown = "no_such_thing,host=h1 v=1"
    result = server.write(one, disk_line(now()), unknown, unknown, "bad")

    assert (result.accepted, result.rejected, result.unknown) == (1, 3, 2)
    kept = RejectedLine.objects.order_by("line_number").values_list("line_number", "line_count")
    assert list(kept) == [(2, 2), (4, 1)]


def test_bodies_of_many_threads_are_all_stored(server: Server, one: Tenant) -> None:
    at = now()
    begin = Barrier(8)

    def send(sender: int) -> int:
        try:
            begin.wait(timeout=30)
            return sum(
                server.write(one, disk_line(at - step * SECOND, host=f"h{sender}")).changed_rows
                for step in range(20)
            )
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(send, range(8))) == 160

    assert DiskioSample.objects.count() == 160


def test_same_body_of_many_threads_is_stored_once(server: Server, one: Tenant) -> None:
    at = now()
    lines = [disk_line(at - step * SECOND, host=f"h{step % 3}") for step in range(60)]
    begin = Barrier(4)

    def send(turned: bool) -> WriteResult:
        try:
            begin.wait(timeout=30)
            return server.write(one, *(reversed(lines) if turned else lines))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(send, [False, True, False, True]))

    assert [result.accepted for result in results] == [60] * 4
    assert DiskioSample.objects.count() == 60


def test_bodies_that_come_together_are_each_answered(server: Server, one: Tenant) -> None:
    at = now()
    known, other = disk_line(at), disk_line(at, host="h2")
    server.write(one, known, at=at)

    results = server.give(
        body(one, disk_line(at + SECOND), at=at),
        # It is there already, so the transaction of all cannot be.
        body(one, known.replace("reads=", "reads=9"), at=at),
        body(one, "bad", at=at),
        body(one, other, at=at),
    )

    assert [(got.accepted, got.rejected) for got in results] == [(1, 0), (1, 0), (0, 1), (1, 0)]
    assert DiskioSample.objects.count() == 3


@pytest.mark.skipif(not IS_BUILT, reason="without the native part each is stored alone")
def test_what_is_new_or_there_already_is_left_for_a_transaction_of_its_own(
    server: Server, one: Tenant
) -> None:
    """It may take longer, and would hold up those with whom it came."""
    two, at = make_tenant("two"), now()
    for tenant in (one, two):
        server.write(tenant, disk_line(at), at=at)
    plain = body(two, disk_line(at + SECOND), at=at)

    new = server.writer.store_together([body(one, disk_line(at, host="h2"), at=at), plain])
    strange = f'diskio,host=h1,name=sda note="{"x" * 20_000}",reads=1i {nanoseconds(at + SECOND)}'
    long = server.writer.store_together([body(one, strange, at=at)])
    again = server.writer.store_together([plain])

    assert [result is None for result in (*new, *long, *again)] == [True, False, True, True]
    assert [len(stored(tenant)) for tenant in (one, two)] == [1, 2]


def test_organisation_over_its_quota_holds_no_other_up(server: Server, one: Tenant) -> None:
    two, at = make_tenant("two"), now()
    server.write(one, disk_line(at), at=at)
    one.organisation.quota_hosts = 1
    one.organisation.save()
    one.token.organisation.refresh_from_db()

    with pytest.raises(QuotaExceededError):
        server.give(body(one, disk_line(at, host="h2"), at=at))
    (kept,) = server.give(body(two, disk_line(at), at=at))

    assert kept.accepted == 1
    assert [len(stored(tenant)) for tenant in (one, two)] == [1, 1]
