"""A cluster with the database of the tests, made once a day and copied from then on.

To make the tables takes a process some twenty seconds, and a run of all tests has ten of them.
A copy is of this day, because the tables have a part for each day, and of exactly this code.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import django

from appliance.embedded.postgres_cluster import PostgresCluster
from appliance.embedded.postgres_programs import choose_programs
from appliance.embedded.scratch_database import scratch_cluster
from config.paths import DataDir

ROOT = Path(__file__).parents[1]
CODE = ("accounts", "advisor", "appliance", "config", "ingest", "web")
OLD_S = 2 * 86400.0


def cache_folder() -> Path:
    """Where copies lie; other users must not reach them."""
    folder = os.environ.get("SLUICE_CACHE_DIR") or Path.home() / ".cache/sluice"
    return Path(folder) / "test-clusters"


class KeptCluster:
    """The cluster of a run; `is_copy` says that its tables are there already."""

    def __init__(self, data: DataDir, *, timescaledb: bool) -> None:
        self._data, self._timescaledb = data, timescaledb
        self._kept = cache_folder() / _name(timescaledb=timescaledb)
        self._server, self._lock = ExitStack(), ExitStack()
        self.is_copy = False

    def start(self) -> None:
        """Copy the cluster, or be the one that makes it while others wait."""
        cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock.enter_context(_locked(self._kept.with_suffix(".lock")))
        if self._kept.is_dir():
            self._lock.close()
            _copy(self._kept, self._data.postgres)
            self.is_copy = True
        self._start()

    def keep(self) -> None:
        """Keep what was made for others, before the first test writes."""
        if not self.is_copy:
            self._server.close()
            new = self._kept.with_suffix(f".{os.getpid()}")
            _copy(self._data.postgres, new)
            new.rename(self._kept)
            _forget_old()
            self._start()
        self._lock.close()

    def stop(self) -> None:
        """End the server; whoever waits is let in."""
        self._server.close()
        self._lock.close()

    def _start(self) -> PostgresCluster:
        return self._server.enter_context(
            scratch_cluster(self._data, timescaledb=self._timescaledb)
        )


def put_tables(data: DataDir) -> None:
    """The cluster of a run that brought its tables up to date and was stopped."""
    cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = cache_folder() / f"run-{_name(timescaledb=choose_programs().has_timescaledb)}"
    with _locked(kept.with_suffix(".lock")):
        if not kept.is_dir():
            _make_tables(kept)
    data.root.mkdir(mode=0o711)
    _copy(kept, data.postgres)


def _make_tables(kept: Path) -> None:
    """In a process of its own: Django knows one database from its start on."""
    with tempfile.TemporaryDirectory(prefix="sluice-kept-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        environment = {
            "DJANGO_SETTINGS_MODULE": "config.settings", "SLUICE_DATA_DIR": folder,
            "PATH": os.environ["PATH"], "HOME": str(Path.home()),
        }  # fmt: skip
        made = [sys.executable, "-c", _MAKES_TABLES]
        subprocess.run(made, cwd=ROOT, env=environment, check=True)
        new = kept.with_suffix(f".{os.getpid()}")
        _copy(Path(folder) / "postgres", new)
    new.rename(kept)
    _forget_old()


_MAKES_TABLES = """
import django
django.setup()
from appliance.embedded.postgres_programs import choose_programs
from appliance.embedded.scratch_database import on_scratch_database
from config.paths import data_dir
with on_scratch_database(data_dir(), timescaledb=choose_programs().has_timescaledb):
    pass
"""


def _name(*, timescaledb: bool) -> str:
    """Of this day, these programs and this code."""
    digest = hashlib.sha256()
    programs = choose_programs(timescaledb=timescaledb)
    digest.update(repr((str(programs), timescaledb, django.VERSION, os.geteuid())).encode())
    digest.update(datetime.now(UTC).date().isoformat().encode())
    for folder in CODE:
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:24]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", "--reflink=auto", source, target], check=True)


def _forget_old() -> None:
    """Those of former days; nobody copies them any more."""
    for one in cache_folder().iterdir():
        if time.time() - one.stat().st_mtime > OLD_S:
            shutil.rmtree(one) if one.is_dir() else one.unlink()
