"""A statement or a lock that takes too long is ended, but not in a migration; real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.models.signals import pre_migrate
from django.db.utils import ConnectionHandler
from django.test import Client

from config.database_timeouts import with_timeouts, without_timeouts
from ingest.models import DiskioSample, Series
from ingest.partitions import TABLES
from tests.ingest.scenario import disk_line, make_tenant, now, post, write_lines

LONGER_THAN_A_SECOND = "SELECT pg_sleep(1.2)"


def shown(name: str, on: Any = connection) -> str:
    with on.cursor() as cursor:
        cursor.execute(f"SHOW {name}")
        return cursor.fetchone()[0]


@pytest.fixture
def impatient(transactional_db: None) -> Iterator[Any]:
    """A connection to the same database with timeouts of one second."""
    database = with_timeouts({**connection.settings_dict, "OPTIONS": {}}, statement_s=1, lock_s=1)
    handler = ConnectionHandler({"default": database})
    yield handler["default"]
    handler.close_all()
    # Django empties the tables that it manages; the sample tables it does not.
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"TRUNCATE {table}")


@pytest.mark.django_db
def test_every_connection_of_the_product_has_timeouts() -> None:
    assert shown("statement_timeout") == f"{settings.STATEMENT_TIMEOUT_S}s" == "30s"
    assert shown("lock_timeout") == f"{settings.LOCK_TIMEOUT_S}s" == "10s"


def test_long_statement_is_ended(impatient: Any) -> None:
    with pytest.raises(OperationalError, match="statement timeout"):
        impatient.cursor().execute(LONGER_THAN_A_SECOND)


def test_wait_for_a_lock_is_ended(impatient: Any) -> None:
    with impatient.cursor() as cursor, connection.cursor() as holder:
        cursor.execute("SET statement_timeout = 0")
        holder.execute("SELECT pg_advisory_lock(42)")
        try:
            with pytest.raises(OperationalError, match="lock timeout"):
                cursor.execute("SELECT pg_advisory_lock(42)")
        finally:
            holder.execute("SELECT pg_advisory_unlock(42)")


def test_long_statement_of_a_migration_is_not_ended(impatient: Any) -> None:
    with without_timeouts(impatient):
        assert shown("lock_timeout", impatient) == "0"
        impatient.cursor().execute(LONGER_THAN_A_SECOND)

    assert shown("statement_timeout", impatient) == "1s"
    assert shown("lock_timeout", impatient) == "1s"


@pytest.mark.django_db(transaction=True)
def test_migrate_runs_without_timeouts() -> None:
    during: set[tuple[str, str]] = set()

    def look(**_: Any) -> None:
        during.add((shown("statement_timeout"), shown("lock_timeout")))

    pre_migrate.connect(look)
    try:
        call_command("migrate", verbosity=0, interactive=False)
    finally:
        pre_migrate.disconnect(look)

    assert during == {("0", "0")}
    assert shown("statement_timeout") == "30s"


def test_options_of_the_database_url_win() -> None:
    stated = {"OPTIONS": {"sslmode": "require", "options": "-c statement_timeout=5s"}}

    made = with_timeouts(stated, statement_s=30, lock_s=10)

    assert made["OPTIONS"] == {
        "sslmode": "require",
        "options": "-c statement_timeout=30s -c lock_timeout=10s -c statement_timeout=5s",
    }


def test_samples_for_a_locked_table_are_refused_until_later(
    impatient: Any, client: Client
) -> None:
    tenant = make_tenant()
    write_lines(tenant, disk_line(now()))
    with impatient.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("LOCK TABLE ingest_diskio_sample IN ACCESS EXCLUSIVE MODE")
        with connection.cursor() as own:
            own.execute("SET lock_timeout = '200ms'")

        answer = post(client, disk_line(now(), name="sdb"), secret=tenant.secret)

        cursor.execute("ROLLBACK")
        with connection.cursor() as own:
            own.execute("RESET lock_timeout")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    # Rows of samples outlive their series in tests that commit.
    assert DiskioSample.objects.filter(series__in=Series.objects.all()).count() == 1
