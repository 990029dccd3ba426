"""Lines of measurements that no source knows are counted for each host."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ingest.models import Series, UnknownMeasurement
from ingest.services.maintenance import maintain_samples
from ingest.sources.registry import find_head
from ingest.unknown_measurements import MOST_KEPT, count_unknown
from tests.ingest.scenario import Tenant, disk_line, now, write_lines

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
