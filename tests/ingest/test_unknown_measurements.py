"""Lines of measurements that no source knows are counted for each host."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction

from ingest.models import RejectedLine, Series, UnknownMeasurement
from ingest.refused import Refused, note_refused
from ingest.services.maintenance import maintain_samples
from ingest.sources.registry import find_head
from ingest.unknown_measurements import MOST_KEPT, count_unknown
from tests.ingest.scenario import Tenant, disk_line, make_tenant, now, write_lines
from tests.ingest.wire import eventually

SECOND = timedelta(seconds=1)


def counted() -> list[tuple[str, str, int]]:
    rows = UnknownMeasurement.objects.order_by("host", "measurement")
    return list(rows.values_list("host", "measurement", "lines"))


def test_lines_are_counted_by_host_and_measurement_over_bodies(tenant: Tenant) -> None:
    for _ in range(2):
        write_lines(
            tenant,
            "weather,host=h1 rain=1",
            "weather,host=h1 rain=2",
            "weather,host=h2 rain=3",
            "tides level=4",
            disk_line(now()),
        )

    assert counted() == [("", "tides", 2), ("h1", "weather", 4), ("h2", "weather", 2)]


def test_lines_of_it_leave_other_refused_lines_their_room(tenant: Tenant) -> None:
    write_lines(tenant, "bad")
    for _ in range(3):
        write_lines(tenant, "weather,host=h1 rain=1", "weather,host=h1 rain=2")
    write_lines(tenant, "weather,host=h2 rain=1")

    kept = RejectedLine.objects.order_by("pk").values_list("line", "line_count")
    # One line for each host tells what it looks like.
    assert list(kept) == [
        ("bad", 1), ("weather,host=h1 rain=1", 2), ("weather,host=h2 rain=1", 1),
    ]  # fmt: skip


def test_what_is_above_the_bound_is_told_by_refused_lines(tenant: Tenant) -> None:
    names = {("h1", f"m{number}"): 1 for number in range(MOST_KEPT)}
    count_unknown(tenant.organisation, names, now=now())

    write_lines(tenant, "weather,host=h1 rain=1")

    assert RejectedLine.objects.get().line == "weather,host=h1 rain=1"


@pytest.mark.usefixtures("committed")
@pytest.mark.parametrize("of_several", [False, True], ids=["hosts", "organisations"])
def test_bodies_that_are_stored_together_lock_in_one_order(of_several: bool) -> None:
    first = make_tenant("first")
    second = make_tenant("second") if of_several else first
    for tenant, host in ((first, "h1"), (second, "h2")):
        count_unknown(tenant.organisation, {(host, "weather"): 1}, now=now())

    def note() -> None:
        try:
            with transaction.atomic():
                note_refused(
                    [
                        Refused(token=second.token, rejections=[], unknown={("h2", "weather"): 1}),
                        Refused(token=first.token, rejections=[], unknown={("h1", "weather"): 1}),
                    ],
                    now=now(),
                )
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            held = UnknownMeasurement.objects.select_for_update()
            held.get(organisation=first.organisation, host="h1")
            noting = pool.submit(note)
            eventually(someone_waits, what="a writer that waits for the row")
            # Who waits for the first has not locked the second: so that one is free.
            free = UnknownMeasurement.objects.select_for_update(nowait=True)
            free.get(organisation=second.organisation, host="h2")
        noting.result(30)


def someone_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        waits: bool = cursor.fetchone()[0]
        return waits


def test_what_is_known_is_stored_beside_it(tenant: Tenant) -> None:
    write_lines(tenant, "weather,host=h1 rain=1", disk_line(now()))

    assert [series.measurement for series in Series.objects.all()] == ["diskio"]


def test_a_flood_of_names_is_bounded(tenant: Tenant) -> None:
    names = {("h1", f"m{number}"): 1 for number in range(MOST_KEPT)}
    count_unknown(tenant.organisation, names, now=now())

    count_unknown(tenant.organisation, {("h1", "one-more"): 1}, now=now() + timedelta(hours=1))

    assert UnknownMeasurement.objects.count() == MOST_KEPT


def test_known_measurements_stay_counted_when_the_bound_is_reached(tenant: Tenant) -> None:
    names = {("h1", f"m{number}"): 1 for number in range(MOST_KEPT)}
    for _ in range(2):
        count_unknown(tenant.organisation, names, now=now())

    assert UnknownMeasurement.objects.get(measurement="m7").lines == 2


def test_what_nobody_sends_any_more_makes_room(tenant: Tenant, stranger: Tenant) -> None:
    month = timedelta(days=30)
    for one in (tenant, stranger):
        count_unknown(one.organisation, {("h1", "old"): 1}, now=now() - month - SECOND)
        count_unknown(one.organisation, {("h1", "new"): 1}, now=now() - month + 9 * SECOND)

    maintain_samples(now=now(), retention=month, rows=month)

    assert counted() == [("h1", "new", 1), ("h1", "new", 1)]


@pytest.mark.parametrize("name", ["a" * 300, "nul\0", "שלום"])
def test_odd_names_are_kept_as_far_as_they_can_be(tenant: Tenant, name: str) -> None:
    count_unknown(tenant.organisation, {(name, name): 1}, now=now())

    ((host, measurement, _),) = counted()
    assert host[:3] == measurement[:3] == name[:3]


def test_source_is_found_for_what_stock_collectors_send() -> None:
    assert find_head("diskio", {"host": "h1", "name": "sda"}).host == "h1"
