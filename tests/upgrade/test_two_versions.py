"""A web server of commit 01 gives way to one of today, and no write is refused meanwhile.

The old one serves while today's tables are made and filled, then both serve, then today's alone.
The code of then is taken from the history of this repository, the packages are today's.
"""

from __future__ import annotations

import http.client
import io
import os
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from appliance.embedded import children
from appliance.embedded.child import Child, ChildSpec
from appliance.embedded.postgres_cluster import DATABASE, ROLE
from appliance.embedded.scratch_database import scratch_cluster
from config.paths import POSTGRES_PORT, DataDir
from tests.appliance.embedded_run import free_port, short_directory
from tests.upgrade.dump import commit_of, load, read_dump, secret_of

ROOT = Path(__file__).resolve().parents[2]
WRITES = 30
WRITES_OF_A_HOST = 10
PAUSE_S = 0.05
WITHIN_S = 120.0
STORED = """
    SELECT host.name, sample.reads
      FROM ingest_diskio_sample AS sample
      JOIN ingest_series AS series ON series.id = sample.series_id
      JOIN ingest_host AS host ON host.id = series.host_id
     WHERE host.name ~ '^two-'
"""

pytestmark = [
    pytest.mark.postgres, pytest.mark.slow, pytest.mark.any_database, pytest.mark.timeout(600),
]  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Writer:
    """Writes to one server all the time; each write is of a new moment, some are of a new host."""

    port: int
    secret: str
    answers: list[int | str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self.ended.wait(PAUSE_S):
            self.answers.append(_write(self.port, self.secret, len(self.answers)))

    def wait_for(self, more: int) -> None:
        until = len(self.answers) + more
        deadline = time.monotonic() + WITHIN_S
        while len(self.answers) < until:
            assert time.monotonic() < deadline, self.answers[-1:]
            time.sleep(PAUSE_S)

    @property
    def rows(self) -> set[tuple[str, int]]:
        """What is stored when each write was taken."""
        return {(_host(self.port, number), number) for number in range(len(self.answers))}


def test_an_upgrade_behind_two_servers_refuses_no_write() -> None:
    dump = read_dump()
    code = _code_of(commit_of(dump))
    with short_directory() as folder:
        data = DataDir(folder)
        with tarfile.open(fileobj=io.BytesIO(code)) as tar:
            tar.extractall(folder / "then", filter="data")
        with scratch_cluster(data) as cluster:
            cluster.create_database()
            load(dump, _settings(data))
            # It changes no table: a dump has no rights of the users of processes.
            _migrate(data, code=folder / "then")
            then, today, during = _upgrade(data, folder / "then", secret_of(dump))
            with psycopg.connect(cluster.address(DATABASE)) as connection:
                stored = connection.execute(STORED).fetchall()

    assert set(then.answers) == set(today.answers) == {http.client.NO_CONTENT}
    assert during > 0
    assert sorted(stored) == sorted(then.rows | today.rows)


def _upgrade(data: DataDir, code: Path, secret: str) -> tuple[Writer, Writer, int]:
    """Roll today's version out under writes; gives who wrote, and how often during `migrate`."""
    with ExitStack() as old:
        then = old.enter_context(
            _written(old.enter_context(_web(data, "then", code=code)), secret)
        )
        then.wait_for(WRITES)
        before = len(then.answers)
        _migrate(data)
        during = len(then.answers) - before
        then.wait_for(WRITES)
        with _web(data, "today") as port, _written(port, secret) as today:
            today.wait_for(WRITES)
            then.wait_for(WRITES)
            old.close()
            today.wait_for(WRITES)
    return then, today, during


@contextmanager
def _written(port: int, secret: str) -> Iterator[Writer]:
    """A server is written to as long as this lasts."""
    writer = Writer(port=port, secret=secret)
    thread = threading.Thread(target=writer.run, daemon=True)
    thread.start()
    try:
        yield writer
    finally:
        writer.ended.set()
        thread.join(WITHIN_S)


def _code_of(commit: str) -> bytes:
    """The tree of a commit as a tar; skips by name where the history does not have it."""
    done = subprocess.run(
        ["git", "archive", "--format=tar", commit], cwd=ROOT, capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"does not apply: the history here has no commit {commit[:12]}")
    return done.stdout


def _settings(data: DataDir) -> dict[str, object]:
    return {"HOST": str(data.sockets), "PORT": POSTGRES_PORT, "USER": ROLE, "NAME": DATABASE}


def _migrate(data: DataDir, *, code: Path = ROOT) -> None:
    subprocess.run(
        [sys.executable, code / "manage.py", "migrate"],
        env={
            **os.environ, "SLUICE_DATA_DIR": str(data.root), "PYTHONPATH": str(code),
            "DJANGO_SETTINGS_MODULE": "config.settings",
        },
        check=True, capture_output=True,
    )  # fmt: skip


@contextmanager
def _web(data: DataDir, name: str, *, code: Path = ROOT) -> Iterator[int]:
    """A web server of this code; gives its port."""
    port = free_port()
    spec: ChildSpec = children.web(
        data, host="127.0.0.1", port=port, allowed_hosts="127.0.0.1,localhost"
    )
    socket = [
        f"--socket={data.root / name}.sock" if "--socket=" in one else one for one in spec.argv
    ]
    child = Child(
        replace(
            spec,
            argv=tuple(socket),
            log=data.logs / f"web-{name}.log",
            # It comes before the installed package, which is that of this checkout.
            environment={**spec.environment, "PYTHONPATH": str(code)},
        )
    )
    try:
        child.wait_until_ready()
        assert _origin(code) == code
        yield port
    finally:
        child.stop()


def _origin(code: Path) -> Path:
    """Where the code comes from that a process with this path runs."""
    said = subprocess.run(
        [sys.executable, "-c", "import appliance; print(appliance.__file__)"],
        cwd="/",
        env={**os.environ, "PYTHONPATH": str(code)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return Path(said.strip()).parents[1]


def _write(port: int, secret: str, number: int) -> int | str:
    """A sample; the status that the server answers, or what went wrong."""
    at_ns = (int(datetime.now(UTC).timestamp()) - 600) * 10**9 + number * 10**6
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        body = f"diskio,host={_host(port, number)},name=sda reads={number}i {at_ns}"
        headers = {"Authorization": f"Token {secret}"}
        connection.request("POST", "/api/v2/write", body, headers)
        answer = connection.getresponse()
        said = answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        return repr(error)
    finally:
        connection.close()
    return f"{answer.status} {said}" if said else answer.status


def _host(port: int, number: int) -> str:
    return f"two-{port}-{number // WRITES_OF_A_HOST}"
