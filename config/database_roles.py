"""The roles that processes have in the database, and the rights of each.

The owner makes tables and runs migrations. The others read and write rows of the tables that
their work needs; `sluice migrate` gives them their rights after it has made the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from psycopg import sql

from config.paths import POSTGRES_PORT


class DatabaseRole(StrEnum):
    """What a process does with the database."""

    OWNER = "owner"
    INGEST = "ingest"
    WORKER = "worker"
    WEB = "web"


EMBEDDED_USERS = {
    DatabaseRole.OWNER: "sluice",
    DatabaseRole.INGEST: "sluice_ingest",
    DatabaseRole.WORKER: "sluice_worker",
    DatabaseRole.WEB: "sluice_web",
}
"""The users of the private database."""


def database_urls(
    sockets: Path,
    *,
    owner: str | None,
    ingest: str | None = None,
    worker: str | None = None,
    web: str | None = None,
) -> dict[DatabaseRole, str]:
    """The address for each role, from those that are stated.

    A role without an address of its own has that of the owner. Without that, the database is the
    private one behind the sockets, which has a user for each role.
    """
    stated = {
        DatabaseRole.OWNER: owner,
        DatabaseRole.INGEST: ingest,
        DatabaseRole.WORKER: worker,
        DatabaseRole.WEB: web,
    }
    place = f"{quote(str(sockets), safe='')}:{POSTGRES_PORT}/sluice"
    return {
        role: url or owner or f"postgres://{EMBEDDED_USERS[role]}@{place}"
        for role, url in stated.items()
    }


def user_names(urls: Mapping[DatabaseRole, str]) -> dict[DatabaseRole, str]:
    """The user of the database behind each role; empty where the address names none."""
    return {role: unquote(urlsplit(url).username or "") for role, url in urls.items()}


READ = "SELECT"
ADD = "SELECT, INSERT, UPDATE"
CHANGE = "SELECT, INSERT, UPDATE, DELETE"
NOTHING = ""

TABLE_RIGHTS: Mapping[DatabaseRole, Sequence[tuple[str, str]]] = {
    DatabaseRole.INGEST: (
        ("accounts_organisation", READ),
        ("accounts_token", "SELECT, UPDATE (last_used_at)"),
        ("django_migrations", READ),
        # Of refused lines only the newest are kept.
        ("ingest_rejectedline", CHANGE),
        ("ingest_*_sample", "INSERT"),
        ("ingest_*", ADD),
    ),
    DatabaseRole.WORKER: (
        ("auth_*", NOTHING),
        # Of logins; the product's own tables begin with `accounts_`.
        ("account_*", NOTHING),
        ("mfa_*", NOTHING),
        ("socialaccount_*", NOTHING),
        ("usersessions_*", NOTHING),
        ("django_session", NOTHING),
        ("accounts_token", NOTHING),
        ("accounts_jointoken", NOTHING),
        ("accounts_keptanswer", NOTHING),
        # What happens by itself is told there too; what was told, nobody changes.
        ("accounts_auditentry", "SELECT, INSERT"),
        ("accounts_audithead", ADD),
        ("ingest_*", CHANGE),
        ("advisor_*", CHANGE),
        ("*", READ),
    ),
    # One web server serves both pages and ingest unless there are several.
    DatabaseRole.WEB: (
        ("django_migrations", READ),
        # Read by functions, which leave out the series of other organisations.
        ("ingest_*_sample", "INSERT"),
        ("*", CHANGE),
    ),
}
"""The first pattern that fits a table decides; what fits none may not even be read."""

FUNCTION_RIGHTS: Mapping[str, Sequence[DatabaseRole]] = {
    "ingest_make_part": (DatabaseRole.INGEST, DatabaseRole.WORKER, DatabaseRole.WEB),
    "ingest_hold_series": (DatabaseRole.INGEST, DatabaseRole.WORKER, DatabaseRole.WEB),
    "ingest_drop_samples": (DatabaseRole.WORKER,),
    "ingest_read_samples": (DatabaseRole.WORKER, DatabaseRole.WEB),
    "ingest_own_samples": (DatabaseRole.WEB,),
    "ingest_read_latency_layers": (DatabaseRole.WORKER, DatabaseRole.WEB),
    "ingest_told_last": (DatabaseRole.WORKER, DatabaseRole.WEB),
    "ingest_samples_before": (DatabaseRole.INGEST, DatabaseRole.WORKER, DatabaseRole.WEB),
    "ingest_stage_samples": (DatabaseRole.INGEST, DatabaseRole.WORKER, DatabaseRole.WEB),
    "ingest_unite_samples": (DatabaseRole.INGEST, DatabaseRole.WORKER, DatabaseRole.WEB),
    "advisor_make_history_partition": (DatabaseRole.WORKER,),
    "advisor_drop_history_partition": (DatabaseRole.WORKER,),
    "accounts_close_organisation": (DatabaseRole.WORKER,),
    "accounts_delete_organisation": (DatabaseRole.WORKER,),
}
"""What runs with the owner's rights, and who may call it."""


OWN_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
  AND NOT relispartition AND pg_has_role(relowner, 'USAGE')
"""
"""Who may read a table may read its partitions through it."""


def rights_on(table: str, role: DatabaseRole) -> str:
    """What the role may do with the rows of a table; empty for nothing."""
    for pattern, rights in TABLE_RIGHTS[role]:
        if fnmatchcase(table, pattern):
            return rights
    return NOTHING


def grant_rights(connection: Any, names: Mapping[DatabaseRole, str]) -> None:
    """Give each role exactly its rights on all tables of the schema; safe to run again.

    `names` are the users of the database behind the roles. One that is not there, or is the
    present user, is left out.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolname FROM pg_roles WHERE rolname = ANY(%s) AND rolname <> current_user",
            [list(names.values())],
        )
        there = {name for (name,) in cursor.fetchall()}
        for role, name in names.items():
            if name in there and role != DatabaseRole.OWNER:
                _grant(cursor, role, name)


def _grant(cursor: Any, role: DatabaseRole, name: str) -> None:
    who = sql.Identifier(name)
    tables = _rows(cursor, OWN_TABLES)
    (schema,) = _rows(cursor, "SELECT current_schema()")
    place = {"who": who, "schema": sql.Identifier(schema)}
    cursor.execute(sql.SQL("GRANT USAGE ON SCHEMA {schema} TO {who}").format(**place))
    cursor.execute(
        sql.SQL("REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {who}").format(**place)
    )
    for table in tables:
        if rights := rights_on(table, role):
            cursor.execute(
                sql.SQL("GRANT {rights} ON {table} TO {who}").format(
                    rights=sql.SQL(rights), table=sql.Identifier(schema, table), who=who
                )
            )
    for function, callers in FUNCTION_RIGHTS.items():
        words = "GRANT {all} ON FUNCTION {function} TO {who}"
        if role not in callers:
            words = "REVOKE {all} ON FUNCTION {function} FROM {who}"
        named = sql.Identifier(schema, function)
        cursor.execute(sql.SQL(words).format(all=sql.SQL("EXECUTE"), function=named, who=who))


def _rows(cursor: Any, query: str) -> list[str]:
    cursor.execute(query)
    return [row[0] for row in cursor.fetchall()]
