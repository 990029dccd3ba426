"""Write all that is stored of one organisation into a ZIP file of CSV tables."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection, models, transaction
from django.db.models import QuerySet

from accounts.models import Organisation

FORMAT = 1
FASTEST = 1
"""Most of the file is history that is packed already: more work makes it 2 % smaller."""
OnTable = Callable[[str, int], None]
"""What is told of a table that was written: its name, and how many rows."""
PEOPLE = "people"
Statement = tuple[str, tuple[Any, ...]]
"""A query and its values."""
PART = timedelta(hours=1)
KEPT_LONGER = timedelta(days=2)
"""Old samples go by whole partitions, some time after their retention."""
AHEAD = timedelta(days=1)
"""Clocks of hosts that are ahead by more are refused."""
LONGEST_TABLE_H = 6
SECRETS: Mapping[str, frozenset[str]] = {
    "accounts_token": frozenset({"digest"}),
    "accounts_invitation": frozenset({"digest"}),
    "accounts_jointoken": frozenset({"digest"}),
    "advisor_enforcer": frozenset({"signing_key"}),
    # Who has the address of a chat service can write there.
    "advisor_notificationchannel": frozenset({"address", "secret"}),
    "advisor_vcentersource": frozenset({"password"}),
}
"""Columns that are left out: who has the file must not act as somebody."""


def export_organisation(
    organisation: Organisation,
    path: Path,
    *,
    now: datetime,
    on_table: OnTable = lambda _table, _rows: None,
) -> Mapping[str, int]:
    """Write the file, as the database is at one moment; the rows of each table.

    `on_table` is called after each. The file is there when it is whole. Of people the file has
    the names and mail addresses of its members, and no password.
    """
    part = path.with_name(f"{path.name}.part")
    written: dict[str, int] = {}

    def count(table: str, rows: int) -> None:
        written[table] = rows
        on_table(table, rows)

    try:
        # For its owner alone: it tells of everything.
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as whole:
            for data in export_parts(organisation, now=now, on_table=count):
                whole.write(data)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return written


def export_parts(
    organisation: Organisation,
    *,
    now: datetime,
    on_table: OnTable = lambda _table, _rows: None,
) -> Iterator[bytes]:
    """The same file in parts, each as soon as it is made."""
    made, written = _Made(), dict[str, int]()
    with _at_one_moment(), ZipFile(made, "w", ZIP_DEFLATED, compresslevel=FASTEST) as file:
        readable = _readable_tables()
        for table, rows in _tables(organisation):
            copied = _Copy([_statement(rows)])
            if table not in readable:
                copied = _Copy(_parts_of_samples(table, rows, now=now))
            with file.open(f"{table}.csv", "w", force_zip64=True) as entry:
                for data in copied:
                    entry.write(data)
                    yield from made.taken()
            written[table] = copied.rows
            on_table(table, copied.rows)
        about = {
            "format": FORMAT,
            "organisation": organisation.slug,
            "written_at": now.isoformat(),
            "rows": written,
        }
        file.writestr("about.json", json.dumps(about, indent=2))
    yield from made.taken()


def _readable_tables() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
            " AND relkind IN ('r', 'p') AND has_table_privilege(oid, 'SELECT')"
        )
        return {PEOPLE, *(name for (name,) in cursor.fetchall())}


def _statement(rows: QuerySet[Any, Any]) -> Statement:
    return rows.query.sql_with_params()


def _parts_of_samples(
    table: str, rows: QuerySet[Any, Any], *, now: datetime
) -> Iterator[Statement]:
    """Statements for what a web server may read by a function alone, an hour each.

    What a function gives is whole before the first row of it comes, so each part is small.
    """
    names = ", ".join(f'"{_options(rows.model).get_field(one).column}"' for one in _names(rows))
    query = f'SELECT {names} FROM ingest_own_samples(NULL::"{table}", %s, %s)'  # noqa: S608  # of ours
    begin = now - timedelta(days=settings.SAMPLE_RETENTION_DAYS) - KEPT_LONGER
    while begin < now + AHEAD:
        yield query, (begin, begin + PART)
        begin += PART


def _names(rows: QuerySet[Any, Any]) -> Sequence[str]:
    return [str(name) for name in rows.query.values_select]


class _Made(io.RawIOBase):
    """What of a file was made and is not yet taken; it has no beginning to go back to."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def taken(self) -> list[bytes]:
        parts, self._parts = self._parts, []
        return parts


def paths_to_organisation() -> Mapping[type[models.Model], str]:
    """The filter by which the rows of one organisation are found, of each table that has some."""
    found: dict[type[models.Model], str] = {}
    every = apps.get_models(include_auto_created=True)
    for model in every:
        if (path := _path(model, seen=frozenset())) is not None:
            found[model] = path
    return found


def _path(model: type[models.Model], *, seen: frozenset[type[models.Model]]) -> str | None:
    if model is Organisation:
        return "pk"
    columns = {field.attname: field for field in _options(model).concrete_fields}
    if "organisation_id" in columns:
        return "organisation_id"
    for field in columns.values():
        parent = field.related_model
        # What may point nowhere does not say whose a row is.
        if not isinstance(parent, type) or field.null or parent in {model, *seen}:
            continue
        path = _path(parent, seen=seen | {model})
        if path is not None:
            return f"{field.name}__{path}"
    return None


def _tables(organisation: Organisation) -> Iterator[tuple[str, QuerySet[Any, Any]]]:
    yield (
        PEOPLE,
        get_user_model()
        .objects.filter(memberships__organisation=organisation)
        .order_by()
        .values_list("pk", "username", "email", "last_login"),
    )
    paths = paths_to_organisation()
    for model in sorted(paths, key=lambda one: _options(one).db_table):
        table = _options(model).db_table
        names = [
            field.attname
            for field in _options(model).concrete_fields
            if field.column is not None and field.attname not in SECRETS.get(table, ())
        ]
        rows = model._base_manager.filter(**{paths[model]: organisation.pk})  # noqa: SLF001  # Django's interface.
        yield table, rows.order_by().values_list(*names)


def _options(model: type[models.Model]) -> Any:
    return model._meta  # noqa: SLF001  # Django's interface.


class _Copy:
    """Rows as CSV with a line of names, as PostgreSQL does it; afterwards how many there were."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._statements = statements
        self.rows = 0

    def __iter__(self) -> Iterator[bytes]:
        header = ", HEADER"
        for query, parameters in self._statements:
            with connection.cursor() as cursor:
                statement = f"COPY ({query}) TO STDOUT (FORMAT csv{header})"
                with cursor.copy(statement, parameters) as copy:
                    yield from map(bytes, copy)
                self.rows += max(int(cursor.rowcount), 0)
            header = ""


@contextmanager
def _at_one_moment() -> Iterator[None]:
    if connection.in_atomic_block:
        # The transaction that is open has seen something already.
        yield
        return
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            # A table of a large organisation takes minutes, and who loads it may be slow.
            cursor.execute(f"SET LOCAL statement_timeout = '{LONGEST_TABLE_H}h'")
        yield
