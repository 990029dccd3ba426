"""Sealing and ingest at the same time, in transactions of their own."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
from django.db import connection, transaction

from advisor.history.stored import seal as sealing
from advisor.history.stored.partitions import (
    Level,
    drop_organisation,
    ensure_partitions,
    organisations_with_partitions,
    partitions_of,
    span_of,
)
from advisor.history.stored.read import read_sealed
from ingest.core.figures import INTERFACE
from ingest.core.grid import GridGrowth, grid_of
from ingest.grid_reader import Subject
from ingest.models import OpenHour
from ingest.partitions import TABLES
from ingest.services.maintenance import maintain_samples
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
from tests.ingest.scenario import Tenant, make_tenant
from tests.locks import wait_for_a_lock


@pytest.fixture
def committed_tenant(transactional_db: None) -> Iterator[Tenant]:
    """What is written is really committed; what Django does not manage is emptied after it."""
    yield make_tenant("northgate")
    for organisation in organisations_with_partitions():
        drop_organisation(organisation)
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"TRUNCATE {table}")


def test_seal_waits_for_samples_that_are_being_written(committed_tenant: Tenant) -> None:
    tenant, hour = committed_tenant, hour_of_tests()
    early = times(hour - MINUTE, hour + 20 * MINUTE)
    send_net(tenant, early)
    written = Event()

    def write_slowly() -> None:
        try:
            with transaction.atomic():
                send_net(tenant, times(early[-1] + STEP, hour + HOUR + MINUTE), begun=early[0])
                written.set()
                wait_for_a_lock()
        finally:
            connection.close()

    def seal_meanwhile() -> None:
        try:
            assert written.wait(timeout=60)
            seal_all(tenant, after(hour))
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(write_slowly), pool.submit(seal_meanwhile)]:
            done.result(timeout=90)

    subject = Subject(host=tenant.host().pk, name="eth0")
    grid = grid_of(hour, hour + HOUR, 10.0)
    found = read_sealed(tenant.organisation.pk, INTERFACE, [subject], grid)
    assert found.seconds.all()
    assert not OpenHour.objects.filter(at__lte=hour).exists()


def test_rows_stay_while_their_hour_is_sealed(
    committed_tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what was read of an hour that is sealed again would be taken for all there is."""
    tenant, hour = committed_tenant, hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + HOUR + MINUTE))
    seal_all(tenant, after(hour))
    OpenHour.objects.create(host=tenant.host(), at=hour)
    reading, is_locked = sealing.read_growth, Event()

    def read_slowly(*arguments: object) -> GridGrowth:
        is_locked.set()
        wait_for_a_lock()
        return reading(*arguments)  # type: ignore[arg-type]

    def seal_again() -> None:
        try:
            seal_all(tenant, after(hour))
        finally:
            connection.close()

    def drop_meanwhile() -> None:
        try:
            assert is_locked.wait(timeout=60)
            maintain_samples(now=hour + 40 * HOUR, retention=timedelta(days=30), rows=3 * HOUR)
        finally:
            connection.close()

    monkeypatch.setattr(sealing, "read_growth", read_slowly)
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(seal_again), pool.submit(drop_meanwhile)]:
            done.result(timeout=90)

    subject = Subject(host=tenant.host().pk, name="eth0")
    found = read_sealed(
        tenant.organisation.pk, INTERFACE, [subject], grid_of(hour, hour + HOUR, 10.0)
    )
    assert found.seconds.all()


def test_two_that_seal_the_same_hour_write_it_once(committed_tenant: Tenant) -> None:
    tenant, hour = committed_tenant, hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + HOUR + MINUTE))

    def seal_it(_: int) -> int:
        try:
            return seal_all(tenant, after(hour) + timedelta(minutes=1)).chunks
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        chunks = sorted(pool.map(seal_it, range(2)))

    # 8 counters, the part covered and their two sums, in the hour and the one before it.
    assert sum(chunks) == 22


def test_two_that_make_the_same_partition_make_it_once(committed_tenant: Tenant) -> None:
    organisation, day = committed_tenant.organisation.pk, hour_of_tests().date()
    made = Event()

    def make_slowly() -> None:
        try:
            with transaction.atomic():
                ensure_partitions(organisation, [day], [Level.EXACT])
                made.set()
                wait_for_a_lock()
        finally:
            connection.close()

    def make_meanwhile() -> None:
        try:
            assert made.wait(timeout=60)
            ensure_partitions(organisation, [day], [Level.EXACT])
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(make_slowly), pool.submit(make_meanwhile)]:
            done.result(timeout=90)

    assert partitions_of(organisation, Level.EXACT) == [span_of(Level.EXACT, day)]
