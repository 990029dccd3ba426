"""A database of commit 01 is restored, brought to today's tables, and read.

Its newer migrations only expand: a web server of its own code, which is still there while a new
version is rolled out, goes on writing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django_migration_linter import MigrationLinter
from django_migration_linter.sql_analyser import analyse_sql_statements, get_sql_analyser_class

from advisor.models import Recommendation, Resource
from tests.upgrade.dump import DUMP, load, of_one_user, read_dump, rows_of, secret_of
from tests.upgrade.former_state import migrate_to_head
from tests.upgrade.make_dump import LONGEST_BYTES
from tests.upgrade.own_database import own_database
from tests.web.conftest import client_of
from tests.web.html import page_of

pytestmark = [pytest.mark.timeout(400), pytest.mark.any_database]

NOT_ROWS_OF_PEOPLE = {"django_migrations", "django_content_type", "auth_permission"}
REMOVED: frozenset[str] = frozenset()
"""Tables whose rows went with a migration, each named with its reason when that comes."""


WIDENING = {"advisor.0070_widen_columns_of_secrets"}
"""Types that change, from a text of limited length to any: what code of before writes fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgraded:
    """What the dump had, and what the linter said of the migrations since."""

    dump: str
    contracting: tuple[str, ...]


@pytest.fixture(scope="module")
def upgraded(django_db_setup: None, django_db_blocker: Any) -> Iterator[Upgraded]:
    dump = read_dump()
    with own_database(django_db_blocker):
        load(of_one_user(dump), connection.settings_dict)
        found = contracting()
        migrate_to_head()
        yield Upgraded(dump=dump, contracting=found)


@pytest.fixture
def migrated(upgraded: Upgraded) -> Iterator[Upgraded]:
    """The migrated database; what a test does in it is undone."""
    with transaction.atomic():
        yield upgraded
        transaction.set_rollback(True)


def contracting() -> tuple[str, ...]:
    """Migrations not applied yet that code of before would trip on.

    That is a column or table removed or renamed, a type changed, or a new column that code which
    does not know it leaves empty though it must not be.
    """
    linter = MigrationLinter(only_unapplied_migrations=True, no_cache=True, no_output=True)
    found = []
    for migration in linter._gather_all_migrations():
        if not linter.should_ignore_migration(
            migration.app_label, migration.name, migration.operations
        ):
            errors, _, _ = analyse_sql_statements(
                linter.sql_analyser_class,
                linter.get_sql(migration.app_label, migration.name),
                (),
            )
            found += [f"{migration.app_label}.{migration.name}: {one.message}" for one in errors]
    return tuple(found)


def test_dump_is_small() -> None:
    assert DUMP.stat().st_size < LONGEST_BYTES


def test_every_row_of_the_dump_is_there(migrated: Upgraded) -> None:
    with connection.cursor() as cursor:
        for table, rows in rows_of(migrated.dump).items():
            if table not in NOT_ROWS_OF_PEOPLE | REMOVED:
                cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")
                assert (table, cursor.fetchone()) == (table, (rows,))


def test_story_of_the_dump_is_told_by_pages(migrated: Upgraded) -> None:
    client = client_of(get_user_model().objects.get(username="owner"))
    paths = [
        reverse(name) for name in ("overview", "recommendations", "hosts", "health-of-sluice")
    ]
    for name, model in (("resource", Resource), ("recommendation", Recommendation)):
        paths += [reverse(name, args=[pk]) for pk in model.objects.values_list("pk", flat=True)]

    answers = {path: client.get(path, follow=True) for path in paths}

    assert {path: one.status_code for path, one in answers.items() if one.status_code != 200} == {}
    assert "nfs-07" in page_of(answers[paths[0]]).all_text()


def test_token_of_the_dump_stores_samples(migrated: Upgraded, client: Client) -> None:
    now_ns = int(datetime.now(UTC).timestamp()) * 10**9

    answer = client.post(
        "/api/v2/write",
        data=f"diskio,host=kvm-01,name=sdz reads=5i {now_ns}",
        content_type="text/plain",
        headers={"Authorization": f"Token {secret_of(migrated.dump)}"},
    )

    assert answer.status_code == 204


def test_migrations_since_the_dump_refuse_no_write_of_its_code(upgraded: Upgraded) -> None:
    assert {one.partition(":")[0] for one in upgraded.contracting} == WIDENING


@pytest.mark.parametrize(
    ("statement", "is_contracting"),
    [
        pytest.param('ALTER TABLE "a" DROP COLUMN "b" CASCADE', True, id="column removed"),
        pytest.param('ALTER TABLE "a" RENAME COLUMN "b" TO "c"', True, id="column renamed"),
        pytest.param('DROP TABLE "a" CASCADE', True, id="table removed"),
        pytest.param('ALTER TABLE "a" RENAME TO "b"', True, id="table renamed"),
        pytest.param('ALTER TABLE "a" ADD COLUMN "b" integer NOT NULL', True, id="must be filled"),
        pytest.param('ALTER TABLE "a" ADD COLUMN "b" integer NULL', False, id="may be empty"),
        pytest.param('CREATE TABLE "a" ("b" integer NOT NULL)', False, id="table made"),
    ],
)
def test_linter_knows_what_contracts(statement: str, is_contracting: bool) -> None:
    analyser = get_sql_analyser_class("django.db.backends.postgresql")

    errors, _, _ = analyse_sql_statements(analyser, [statement], ())

    assert bool(errors) == is_contracting
