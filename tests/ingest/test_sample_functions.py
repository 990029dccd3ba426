"""Samples behind functions: who may not read the tables gets its own series alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.utils import ProgrammingError

from accounts.row_wall import lifted, look_at, walled
from config.database_roles import (
    EMBEDDED_USERS,
    FUNCTION_RIGHTS,
    DatabaseRole,
    grant_rights,
)
from config.row_walls import NAMED, SEES_ALL
from ingest.core.catalogue import DISKIO
from ingest.core.figures import DISK
from ingest.models import Series
from ingest.partitions import TABLES
from ingest.sample_reads import Way
from tests.config.roles import acting_as, make_roles
from tests.ingest.scenario import Tenant, disk_line, make_tenant, now, write_lines

AT = now() - timedelta(seconds=30)
TAKEN_FOR_TABLES = ("advisor_incident", "pg_authid", "ingest_x_sample; SELECT 1")


@pytest.fixture
def tenants(db: None) -> list[Tenant]:
    """Two organisations; each has a disk that sent three samples."""
    found = [make_tenant(slug) for slug in ("first", "second")]
    for one in found:
        write_lines(one, *(disk_line(AT - timedelta(seconds=s), count=s + 1) for s in (20, 10, 0)))
    make_roles()
    return found


@pytest.fixture
def web(tenants: list[Tenant]) -> Iterator[list[Tenant]]:
    with acting_as(DatabaseRole.WEB), walled():
        yield tenants


def disk_of(tenant: Tenant) -> int:
    with lifted():
        return Series.objects.get(organisation=tenant.organisation, measurement=DISKIO.name).pk


def asked(statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def by_way(way: str, series: list[int]) -> list[tuple[Any, ...]]:
    return asked(
        "SELECT octet_length(readings) FROM ingest_read_samples("
        "%s, 'ingest_diskio_sample', %s, %s, %s, %s, '10 s', 5)",
        way, list(DISK.columns), series, AT - timedelta(seconds=15), AT,
    )  # fmt: skip


def told_last(series: list[int]) -> list[tuple[Any, ...]]:
    return asked(
        "SELECT told FROM ingest_told_last('ingest_diskio_sample', '{reads}', %s)", series
    )


def before(series: list[int]) -> list[tuple[Any, ...]]:
    return asked(
        "SELECT value FROM ingest_samples_before("
        "'ingest_diskio_sample', 'reads', %s, %s, '1 min', false)",
        series, [AT] * len(series),
    )  # fmt: skip


def parts_of(table: str) -> list[str]:
    found = asked(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", table
    )
    return [name for (name,) in found]


def readers_of(table: str) -> list[str]:
    """The roles that may read any column of a table."""
    roles = [EMBEDDED_USERS[one] for one in DatabaseRole if one != DatabaseRole.OWNER]
    found = asked(
        "SELECT role FROM unnest(%s::text[]) AS role"
        " WHERE has_any_column_privilege(role, %s, 'SELECT')",
        roles, table,
    )  # fmt: skip
    return [role for (role,) in found]


@pytest.mark.parametrize("table", TABLES)
def test_workers_alone_may_read_a_table_of_samples(tenants: list[Tenant], table: str) -> None:
    assert readers_of(table) == [EMBEDDED_USERS[DatabaseRole.WORKER]]
    for part in parts_of(table):
        assert EMBEDDED_USERS[DatabaseRole.WEB] not in readers_of(part)
        assert EMBEDDED_USERS[DatabaseRole.INGEST] not in readers_of(part)


def test_a_right_to_read_that_was_given_before_goes_from_all_parts(tenants: list[Tenant]) -> None:
    web = EMBEDDED_USERS[DatabaseRole.WEB]
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT SELECT ON ingest_diskio_sample TO {web}")
    write_lines(tenants[0], disk_line(AT - timedelta(days=2)))

    grant_rights(connection, EMBEDDED_USERS)

    assert parts_of(DISKIO.table)
    for one in (DISKIO.table, *parts_of(DISKIO.table)):
        assert web not in readers_of(one)


def test_samples_of_another_organisation_are_denied_and_by_a_function_there_are_none(
    web: list[Tenant],
) -> None:
    own, other = map(disk_of, web)
    look_at(web[0].organisation.pk)

    with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
        asked("SELECT FROM ingest_diskio_sample WHERE series_id = %s", other)
    for read in (told_last, before):
        assert len(read([own])) == 1
        assert read([other]) == []
        assert read([own, other]) == read([own])


@pytest.mark.parametrize("way", Way)
def test_each_way_of_reading_leaves_out_series_of_others(web: list[Tenant], way: Way) -> None:
    own, other = map(disk_of, web)
    look_at(web[0].organisation.pk)

    assert sum(size for (size,) in by_way(way, [own])) > 0
    assert by_way(way, [other]) == []
    assert by_way(way, [own, other]) == by_way(way, [own])


@pytest.mark.parametrize("way", Way)
def test_parts_of_other_times_are_left_out_of_the_plan(committed: None, way: Way) -> None:
    tenant = make_tenant()
    write_lines(tenant, disk_line(AT - timedelta(days=3)), disk_line(AT))

    with transaction.atomic():
        by_way(way, [disk_of(tenant)])
        # A statement locks what it is planned with.
        locked = {name for (name,) in asked("SELECT relation::regclass::text FROM pg_locks")}

    parts = set(parts_of(DISKIO.table))
    assert len(parts) > len(parts & locked) >= 1


def test_who_is_told_nothing_gets_nothing(web: list[Tenant]) -> None:
    series = [disk_of(one) for one in web]

    assert by_way(Way.EVERY, series) == told_last(series) == before(series) == []


def test_a_worker_reads_the_samples_of_all(tenants: list[Tenant]) -> None:
    series = [disk_of(one) for one in tenants]
    with acting_as(DatabaseRole.WORKER):
        assert len(told_last(series)) == len(before(series)) == 2


def test_functions_leave_out_by_the_words_of_the_policies() -> None:
    migration = import_module("ingest.migrations.0023_read_samples_by_function")

    assert f"organisation_id = ANY ({migration.NAMED})" == NAMED
    assert SEES_ALL.replace("=", "IS DISTINCT FROM") in migration.SEEN
    for text in (migration.READ, migration.TOLD, migration.BEFORE):
        assert migration.NAMED in text
        assert migration.SEEN in text


def test_an_export_has_the_samples_of_the_named_organisation_alone(tenants: list[Tenant]) -> None:
    """Whatever else the session sees."""
    own, other = (disk_of(one) for one in tenants)
    query = "SELECT DISTINCT series_id FROM ingest_own_samples(NULL::ingest_diskio_sample, %s, %s)"

    with walled():
        look_at(tenants[0].organisation.pk)
        found = asked(query, now() - timedelta(days=1), now() + timedelta(days=1))

    assert own != other
    assert found == [(own,)]


@pytest.mark.parametrize(
    "call", ["ingest_stage_samples(%s)", "ingest_unite_samples(%s, '{reads}')"]
)
@pytest.mark.parametrize(
    "made",
    [
        "VIEW staged_net_sample AS SELECT * FROM pg_temp.own",
        "TABLE staged_net_sample AS SELECT * FROM pg_temp.own",
    ],
)
def test_what_a_session_made_itself_is_not_read_with_the_owners_rights(
    web: list[Tenant], made: str, call: str
) -> None:
    """Its expressions would run as the owner."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE own (series_id bigint, time timestamptz, reads int8)"
        )
        cursor.execute(f"CREATE TEMPORARY {made}")

    with pytest.raises(DatabaseError, match="is not the table of this"), transaction.atomic():
        asked(f"SELECT {call}", "ingest_net_sample")


@pytest.mark.parametrize("kind", ["accounts_token", "ingest_series", "text", "pg_class"])
@pytest.mark.usefixtures("db")
def test_an_export_has_no_other_table(kind: str) -> None:
    with pytest.raises(DatabaseError, match="is not a table of samples"):
        asked(f"SELECT ingest_own_samples(NULL::{kind}, now(), %s)", now())


@pytest.mark.parametrize("table", TAKEN_FOR_TABLES)
@pytest.mark.parametrize(
    "call",
    [
        "ingest_read_samples('every', %s, '{reads}', '{}', now(), now(), null, null)",
        "ingest_told_last(%s, '{reads}', '{}')",
        "ingest_samples_before(%s, 'reads', '{}', '{}', '1 min', true)",
        "ingest_stage_samples(%s)",
        "ingest_unite_samples(%s, '{reads}')",
    ],
)
@pytest.mark.usefixtures("db")
def test_what_is_no_table_of_samples_is_refused(call: str, table: str) -> None:
    assert call.partition("(")[0] in FUNCTION_RIGHTS
    with pytest.raises(DatabaseError, match="is not a table of samples"):
        asked(f"SELECT {call}", table)


@pytest.mark.usefixtures("db")
def test_a_column_is_a_name_and_no_expression() -> None:
    with pytest.raises(ProgrammingError, match="does not exist"):
        asked(
            "SELECT ingest_read_samples('every', 'ingest_diskio_sample', %s, '{1}',"
            " now(), now(), null, null)",
            ["reads) || (SELECT 1"],
        )
