"""`python -m tests.upgrade.make_dump`: the story of the tests of pages, as a dump of this commit.

It has no past of samples beyond a quarter of an hour, so that it stays small.
"""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from datetime import UTC, datetime

LONGEST_BYTES = 200_000
NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
HOURS = 0.25
# Lines that psql of an earlier minor version does not know, and settings of later versions.
OF_LATER_PROGRAMS = re.compile(
    r"^(\\(un)?restrict .*|SET transaction_timeout = .*)\n", re.MULTILINE
)


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("SLUICE_SECRET_KEY", "of the dump")
    import django

    django.setup()
    from appliance.embedded.scratch_database import on_scratch_database
    from appliance.embedded.scratch_directory import scratch_directory
    from config.paths import DataDir
    from tests.upgrade.dump import DUMP, HEAD

    with scratch_directory() as folder, on_scratch_database(DataDir(folder)):
        secret = _tell()
        sql = _dump(DataDir(folder))
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    text = HEAD.format(commit=commit, secret=secret) + OF_LATER_PROGRAMS.sub("", sql)
    packed = gzip.compress(text.encode(), 9, mtime=0)
    if len(packed) > LONGEST_BYTES:
        raise SystemExit(f"{len(packed):,} bytes are more than {LONGEST_BYTES:,}")
    DUMP.write_bytes(packed)
    print(f"{DUMP.name}: {len(packed):,} bytes of commit {commit}")


def _tell() -> str:
    """Store the story; gives the secret of a token that may send samples."""
    from accounts.models import Scope, Token
    from tests.web.scenario import noisy_neighbour

    fleet = noisy_neighbour(NOW, hours=HOURS)
    _, secret = Token.objects.issue(
        organisation=fleet.organisation, scope=Scope.INGEST, name="upgrade"
    )
    return secret


def _dump(data: object) -> str:
    from appliance.embedded.postgres_cluster import DATABASE, ROLE
    from appliance.embedded.postgres_programs import choose_programs
    from config.paths import POSTGRES_PORT, DataDir

    assert isinstance(data, DataDir)
    done = subprocess.run(
        [
            choose_programs().bin_dir / "pg_dump", "--no-owner", "--no-privileges",
            f"--host={data.sockets}", f"--port={POSTGRES_PORT}", f"--username={ROLE}", DATABASE,
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


if __name__ == "__main__":
    main()
