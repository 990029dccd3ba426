"""A small database of an earlier commit, as SQL that its PostgreSQL wrote.

`python -m tests.upgrade.make_dump` makes it anew, of the checkout that it is run in.
"""

from __future__ import annotations

import gzip
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from appliance.embedded.postgres_programs import choose_programs

DUMP = Path(__file__).with_name("database_of_01.sql.gz")
HEAD = "-- Sluice, commit {commit}; secret of the token upgrade: {secret}\n"
POLICY = re.compile(r"^(CREATE POLICY .*?) TO [\w, ]+ USING", re.MULTILINE)
COPY = re.compile(r'COPY public\.("?\w+"?) \(')


def read_dump() -> str:
    """The SQL of the dump."""
    return gzip.decompress(DUMP.read_bytes()).decode()


def commit_of(dump: str) -> str:
    """The commit that made it."""
    return _head(dump, r"commit (\w+)")


def secret_of(dump: str) -> str:
    """The secret of a token in it that may send samples."""
    return _head(dump, r"token upgrade: (\S+)")


def rows_of(dump: str) -> Mapping[str, int]:
    """How many rows each table has, as the dump's own lines say."""
    found: dict[str, int] = {}
    table = None
    for line in dump.splitlines():
        if table is None:
            if begin := COPY.match(line):
                table = begin[1].strip('"')
                found[table] = 0
        elif line == r"\.":
            table = None
        else:
            found[table] += 1
    return found


def of_one_user(dump: str) -> str:
    """The dump for a server without the users of the roles, which other tests make and undo.

    Policies of rows for some of them are for whoever loads it; migrating builds them anew.
    """
    return POLICY.sub(r"\1 TO CURRENT_USER USING", dump)


def load(dump: str, database: Mapping[str, Any]) -> None:
    """Run the SQL in an empty database, given by Django's settings of it."""
    done = subprocess.run(
        [
            choose_programs().bin_dir / "psql",
            "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1",
            f"--host={database['HOST']}", f"--port={database['PORT'] or 5432}",
            f"--username={database['USER']}", f"--dbname={database['NAME']}",
        ],
        input=dump, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def _head(dump: str, pattern: str) -> str:
    found = re.search(pattern, dump.split("\n", maxsplit=1)[0])
    assert found is not None
    return found[1]
