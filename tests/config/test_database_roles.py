"""What each role may do in the database, and that its work is possible; real PostgreSQL."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.utils import DatabaseError, ProgrammingError
from django.test import Client

from accounts.models import Token
from advisor import tasks
from advisor.history.stored.partitions import (
    Level,
    ensure_partitions,
    organisations_with_partitions,
)
from advisor.history.stored.retention import drop_of_deleted_organisations
from advisor.models import Chunk, FailedWork, Resource, ResourceStatus
from advisor.pipeline.store_history import store_history
from config.celery import app
from config.database_roles import (
    FUNCTION_RIGHTS,
    NOTHING,
    DatabaseRole,
    database_urls,
    rights_on,
    user_names,
)
from ingest.models import DiskioSample, RejectedLine
from ingest.partitions import drop_partitions
from ingest.tasks import maintain_samples
from tests.advisor.history.stored.hosts import (
    HOUR,
    MINUTE,
    after,
    hour_of_tests,
    send_net,
    times,
)
from tests.config.roles import acting_as, make_roles
from tests.ingest.scenario import disk_line, make_tenant, now, post, write_lines

OWNER, INGEST, WORKER, WEB = DatabaseRole
SOCKETS = Path("/data/run")
TAKE_OVER = (
    "CREATE OR REPLACE FUNCTION ingest_make_part(parent text, begun timestamptz) RETURNS void"
    " LANGUAGE sql AS 'SELECT'"
)


@pytest.fixture
def roles(db: None) -> None:
    make_roles()


def test_private_database_has_a_user_for_each_role() -> None:
    assert user_names(database_urls(SOCKETS, owner=None)) == {
        OWNER: "sluice",
        INGEST: "sluice_ingest",
        WORKER: "sluice_worker",
        WEB: "sluice_web",
    }


def test_one_address_is_that_of_all_roles() -> None:
    assert set(database_urls(SOCKETS, owner="postgres://u@h/d").values()) == {"postgres://u@h/d"}


def test_address_of_a_role_wins_for_it_alone() -> None:
    found = database_urls(SOCKETS, owner="postgres://u@h/d", web="postgres://p%40ge:x@h/d")

    assert user_names(found) == {OWNER: "u", INGEST: "u", WORKER: "u", WEB: "p@ge"}


@pytest.mark.parametrize(
    ("role", "table", "rights"),
    [
        (INGEST, "ingest_diskio_sample", "INSERT"),
        (INGEST, "advisor_recommendation", NOTHING),
        (INGEST, "auth_user", NOTHING),
        (WORKER, "advisor_incident", "SELECT, INSERT, UPDATE, DELETE"),
        (WORKER, "auth_user", NOTHING),
        (WORKER, "accounts_token", NOTHING),
        (WORKER, "accounts_organisation", "SELECT"),
        (WORKER, "ingest_diskio_sample", "SELECT, INSERT, UPDATE, DELETE"),
        (WEB, "ingest_diskio_sample", "INSERT"),
        (WEB, "django_migrations", "SELECT"),
    ],
)
def test_rights_of_a_role_on_a_table(role: DatabaseRole, table: str, rights: str) -> None:
    assert rights_on(table, role) == rights


@pytest.mark.usefixtures("roles")
@pytest.mark.parametrize(
    ("role", "statement"),
    [
        *(
            (role, statement)
            for role in (INGEST, WORKER, WEB)
            for statement in (
                "CREATE TABLE mine (id bigint)",
                "DROP TABLE advisor_incident",
                "ALTER TABLE advisor_incident ADD COLUMN mine bigint",
                "TRUNCATE advisor_incident",
                "CREATE SCHEMA mine",
                "CREATE ROLE mine",
                "DELETE FROM django_migrations",
                TAKE_OVER,
            )
        ),
        (INGEST, "SELECT * FROM advisor_recommendation"),
        (INGEST, "SELECT * FROM auth_user"),
        (INGEST, "SELECT * FROM django_session"),
        (INGEST, "UPDATE accounts_token SET scope = 'enforce'"),
        (INGEST, "INSERT INTO accounts_token (name) VALUES ('mine')"),
        (INGEST, "DELETE FROM ingest_diskio_sample"),
        (INGEST, "SELECT ingest_drop_samples('ingest_diskio_sample', now(), true)"),
        (WORKER, "SELECT * FROM auth_user"),
        (WORKER, "SELECT * FROM django_session"),
        (WORKER, "SELECT * FROM accounts_token"),
        (WORKER, "UPDATE accounts_membership SET role = 'admin'"),
        (WEB, "DELETE FROM ingest_diskio_sample"),
        (WEB, "SELECT * FROM ingest_diskio_sample"),
        (WEB, "UPDATE ingest_diskio_sample SET reads = 0"),
        (WEB, "SELECT advisor_drop_history_partition('advisor_history_day_o1')"),
        (WEB, "SELECT ingest_drop_samples('ingest_diskio_sample', now(), true)"),
    ],
)
def test_what_is_not_its_work_is_refused(role: DatabaseRole, statement: str) -> None:
    with (
        pytest.raises(ProgrammingError, match=r"permission denied|must be owner"),
        acting_as(role),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("ingest_make_part('advisor_incident', '2026-11-22')", "table of samples"),
        ("ingest_drop_samples('advisor_incident', '2026-11-22', true)", "table of samples"),
        (
            "advisor_make_history_partition('advisor_incident', 1, '2026-11-22', '2026-11-23')",
            "table of the history",
        ),
        ("advisor_drop_history_partition('advisor_incident')", "partition of the history"),
    ],
)
def test_function_with_the_owners_rights_takes_its_own_tables_only(call: str, kind: str) -> None:
    assert call.partition("(")[0] in FUNCTION_RIGHTS
    with (
        pytest.raises(DatabaseError, match=f"advisor_incident is not a {kind}"),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"SELECT {call}")


@pytest.mark.usefixtures("roles")
@pytest.mark.parametrize("role", [INGEST, WEB])
def test_samples_are_stored_with_the_rights_of_the_role(
    client: Client, role: DatabaseRole
) -> None:
    tenant = make_tenant()
    body = f"{disk_line(now())}\nno line\n"

    with acting_as(role):
        stored = post(client, body, secret=tenant.secret)
        # A day that no partition was made for.
        earlier = post(client, disk_line(now() - timedelta(days=9)), secret=tenant.secret)

    assert (stored.status_code, earlier.status_code) == (204, 204)
    assert DiskioSample.objects.count() == 2
    assert RejectedLine.objects.count() == 1
    assert Token.objects.get().last_used_at is not None


@pytest.mark.usefixtures("roles")
def test_worker_drops_expired_samples() -> None:
    tenant = make_tenant()
    write_lines(tenant, disk_line(now() - timedelta(days=9)), disk_line(now()))

    with acting_as(WORKER):
        drop_partitions(before=now() - timedelta(days=2))

    assert DiskioSample.objects.count() == 1


@pytest.mark.usefixtures("roles")
def test_worker_seals_history_and_drops_that_of_deleted_organisations() -> None:
    tenant = make_tenant()
    hour = hour_of_tests()
    send_net(tenant, times(hour - MINUTE, hour + HOUR + MINUTE))

    with acting_as(WORKER):
        done = store_history(organisation=tenant.organisation, now=after(hour), limit_s=60.0)
        ensure_partitions(10**6, [hour.date()], Level)
        drop_of_deleted_organisations()

    assert done
    assert Chunk.objects.exists()
    assert organisations_with_partitions() == {tenant.organisation.pk}


@pytest.mark.usefixtures("roles")
def test_every_task_runs_with_the_rights_of_a_worker() -> None:
    tenant = make_tenant()
    write_lines(tenant, *(disk_line(now() - timedelta(seconds=s)) for s in (30, 20, 10)))
    app.loader.import_default_modules()

    with acting_as(WORKER):
        tasks.discover_organisation.apply((tenant.organisation.pk,), throw=True)
        resource = Resource.objects.get()
        for task in (
            tasks.detect_resource, tasks.recommend_resource, tasks.advise_resource,
            tasks.place_on_hosts,
        ):  # fmt: skip
            task.apply((resource.pk,), throw=True)
        tasks.store_organisation.apply((tenant.organisation.pk,), throw=True)
        tasks.tidy.apply(throw=True)
        maintain_samples.apply(throw=True)

    assert ResourceStatus.objects.get().looked_at is not None
    assert FailedWork.objects.count() == 0


@pytest.mark.usefixtures("db")
def test_migrate_gives_the_rights_and_takes_others_away() -> None:
    make_roles()
    with connection.cursor() as cursor:
        cursor.execute("GRANT SELECT ON auth_user TO sluice_ingest")

    call_command("migrate", verbosity=0, interactive=False)

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT has_table_privilege('sluice_ingest', 'auth_user', 'SELECT'),"
            " has_table_privilege('sluice_web', 'auth_user', 'SELECT')"
        )
        assert cursor.fetchone() == (False, True)
