"""Which rows of an organisation a web server may see: the second wall behind the querysets.

PostgreSQL's row-level security (manual, "Row Security Policies") lets a session see the rows of
those organisations alone that it names in `sluice.organisations`. `accounts.row_wall` names those
of the person or the token of a request. So a filter that is missing in the code shows nothing.

Samples have no such policy: PostgreSQL copies into no table that has one. A web server may not
read their tables. Functions read them for it, and leave out the series that it may not see.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any

from psycopg import sql

from config.database_roles import OWN_TABLES, DatabaseRole


class Wall(StrEnum):
    """What keeps the rows of a table apart."""

    POLICY = "a policy of the table"
    FUNCTIONS = "functions that read it, and leave out the series of others"
    SHARED = "nothing: its rows are of no organisation"
    CLOSED = "all of it is closed, for nothing says whose its rows are"


NAMED = (
    "organisation_id = ANY (string_to_array("
    "nullif(current_setting('sluice.organisations', true), ''), ',')::bigint[])"
)
"""The rows of the organisations that the session names; none where it names none."""

UNLIKE: Mapping[str, str] = {
    "accounts_organisation": NAMED.replace("organisation_id", "id", 1),
    # A person sees in which organisations they are, before one is chosen.
    "accounts_membership": f"{NAMED} OR user_id::text = current_setting('sluice.user', true)",
    # Who shows a secret sees what it opens.
    "accounts_token": f"{NAMED} OR digest = current_setting('sluice.secret', true)",
    "accounts_jointoken": f"{NAMED} OR digest = current_setting('sluice.secret', true)",
    # What failed for the whole installation is everybody's.
    "advisor_failedwork": f"{NAMED} OR organisation_id IS NULL",
}
"""The rows that are seen of tables that are unlike others."""

PARENTS: Sequence[tuple[str, str]] = (
    ("resource_id", "advisor_resource"),
    ("host_id", "ingest_host"),
    ("incident_id", "advisor_incident"),
    ("recommendation_id", "advisor_recommendation"),
    ("track_id", "advisor_track"),
    ("maintenancewindow_id", "advisor_maintenancewindow"),
    ("run_id", "ingest_importrun"),
    ("team_id", "advisor_team"),
)
"""A row without an organisation is seen with that of the first column that it has."""

BY_FUNCTIONS = ("ingest_*_sample",)
SHARED = (
    "auth_*", "django_*", "account_*", "mfa_*", "socialaccount_*", "usersessions_*",
    "accounts_profile", "ingest_keptrows",
)  # fmt: skip
"""People are of no organisation: a membership is. Rows of samples are kept alike for all."""

SEES_ALL = "current_setting('sluice.sees', true) = 'all'"
"""Said by processes that work for all organisations, and by nothing that answers a page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWall:
    """The wall of a table; `seen` is the condition of its policy, empty without one."""

    wall: Wall
    seen: str = ""


def wall_of(table: str, columns: Collection[str]) -> TableWall:
    """What keeps the rows of a table apart."""
    if any(fnmatchcase(table, pattern) for pattern in SHARED):
        return TableWall(wall=Wall.SHARED)
    if any(fnmatchcase(table, pattern) for pattern in BY_FUNCTIONS):
        return TableWall(wall=Wall.FUNCTIONS)
    if table in UNLIKE:
        return TableWall(wall=Wall.POLICY, seen=UNLIKE[table])
    if "organisation_id" in columns:
        return TableWall(wall=Wall.POLICY, seen=NAMED)
    for column, parent in PARENTS:
        if column in columns:
            # The parent has a policy of its own, which holds in here as well. Of few rows each
            # one's parent is looked for; "IN" would read all parents in each statement.
            seen = f'EXISTS (SELECT FROM {parent} AS parent WHERE parent.id = "{table}".{column})'
            return TableWall(wall=Wall.POLICY, seen=seen)
    return TableWall(wall=Wall.CLOSED, seen="false")


def seeing_all(database: Mapping[str, Any]) -> dict[str, Any]:
    """The database's settings for connections that see all rows until a request narrows them."""
    options = database.get("OPTIONS", {})
    stated = options.get("options", "")
    return {**database, "OPTIONS": {**options, "options": f"-c sluice.sees=all {stated}".strip()}}


COLUMNS = """
SELECT attname FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped
"""


def build_walls(connection: Any, names: Mapping[DatabaseRole, str]) -> None:
    """Give each table its policies; safe to run again, and changes nothing that is as it must be.

    `names` are the users of the database behind the roles. Those of other roles than the web
    server's see all rows; so does a superuser, whom no policy binds.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        (owner,) = cursor.fetchone()
        cursor.execute(
            "SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)", [[*names.values(), owner]]
        )
        others = {name for (name,) in cursor.fetchall()} - {names[DatabaseRole.WEB]}
        cursor.execute(OWN_TABLES)
        for (table,) in cursor.fetchall():
            cursor.execute(COLUMNS, [f'"{table}"'])
            found = wall_of(table, {name for (name,) in cursor.fetchall()})
            if found.seen:
                _build(cursor, table, found.seen, sorted(others))


_STANDS = """
SELECT relrowsecurity AND relforcerowsecurity AND obj_description(pg_policy.oid, 'pg_policy') = %s
FROM pg_class JOIN pg_policy ON polrelid = pg_class.oid
WHERE pg_class.oid = %s::regclass AND polname = 'own'
"""


def _build(cursor: Any, table: str, seen: str, others: Iterable[str]) -> None:
    users = sql.SQL(", ").join(map(sql.Identifier, others))
    own = f"({SEES_ALL}) OR ({seen})"
    text = sha256(f"{own} {users.as_string(None)}".encode()).hexdigest()
    cursor.execute(_STANDS, [text, f'"{table}"'])
    if cursor.fetchone() == (True,):
        return
    named = sql.Identifier(table)
    for name in ("own", "every"):
        cursor.execute(
            sql.SQL("DROP POLICY IF EXISTS {} ON {}").format(sql.Identifier(name), named)
        )
    cursor.execute(
        sql.SQL("CREATE POLICY own ON {} USING ({seen}) WITH CHECK ({seen})").format(
            named, seen=sql.SQL(own)
        )
    )
    if others:
        # Beside the other this one is true, so their statements cost no more than before.
        cursor.execute(
            sql.SQL("CREATE POLICY every ON {} TO {} USING (true) WITH CHECK (true)").format(
                named, users
            )
        )
    for words in ("ENABLE", "FORCE"):
        cursor.execute(
            sql.SQL("ALTER TABLE {} {} ROW LEVEL SECURITY").format(named, sql.SQL(words))
        )
    cursor.execute(sql.SQL("COMMENT ON POLICY own ON {} IS {}").format(named, sql.Literal(text)))
