"""The sample tables can be taken away and made again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection

from accounts.models import Scope, Token
from ingest.partitions import TABLES
from tests.ingest.scenario import disk_line, make_tenant, now, write_lines


def migrate(*target: str) -> None:
    """To the newest migrations of every app, because undoing ours undoes what builds on it."""
    call_command("migrate", *target, verbosity=0)


def existing_tables() -> set[str]:
    return set(connection.introspection.table_names()) & set(TABLES)


@pytest.fixture
def migrated_again(committed: None) -> Iterator[None]:
    """Whatever a test does, the tables are there for the next."""
    yield
    migrate()


@pytest.mark.long
def test_sample_tables_are_undone_and_made_again(migrated_again: None) -> None:
    write_lines(make_tenant(), disk_line(now()))

    migrate("ingest", "0001")
    undone = existing_tables()
    migrate()
    made = existing_tables()
    again = write_lines(make_tenant("again"), disk_line(now()))

    assert (undone, made) == (set(), set(TABLES))
    assert again.changed_rows == 1


@pytest.mark.long
def test_tokens_whose_scope_opened_nothing_are_removed(migrated_again: None) -> None:
    tenant = make_tenant()
    person = get_user_model().objects.create_user(username="rita")
    for scope in (Scope.READ, Scope.WRITE, Scope.ENFORCE):
        Token.objects.issue(
            organisation=tenant.organisation, scope=scope, name=scope,
            user=None if scope is Scope.ENFORCE else person,
        )  # fmt: skip
    migrate("ingest", "0006")

    migrate()

    assert sorted(Token.objects.values_list("scope", flat=True)) == ["enforce", "ingest"]
