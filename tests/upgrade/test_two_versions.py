"""A web server of commit 01 and one of today serve one database: neither refuses a write.

That is the time in which a new version is rolled out: tables are those of the new one already.
The code of then is taken from the history of this repository, the packages are today's.
"""

from __future__ import annotations

import http.client
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from appliance.embedded import children
from appliance.embedded.child import Child, ChildSpec
from appliance.embedded.postgres_cluster import DATABASE, ROLE
from appliance.embedded.scratch_database import scratch_cluster
from config.paths import POSTGRES_PORT, DataDir
from tests.appliance.embedded_run import SLUICE, free_port, short_directory
from tests.upgrade.dump import commit_of, load, read_dump, secret_of

ROOT = Path(__file__).resolve().parents[2]
WRITES = 30

pytestmark = [
    pytest.mark.postgres, pytest.mark.slow, pytest.mark.any_database, pytest.mark.timeout(600),
]  # fmt: skip


def test_two_versions_refuse_no_write() -> None:
    dump = read_dump()
    code = _code_of(commit_of(dump))
    with short_directory() as folder:
        data = DataDir(folder)
        with tarfile.open(fileobj=io.BytesIO(code)) as tar:
            tar.extractall(folder / "then", filter="data")
        with scratch_cluster(data) as cluster:
            cluster.create_database()
            load(dump, _settings(data))
            _migrate(data)
            with _web(data, "today") as today, _web(data, "then", code=folder / "then") as then:
                answers = [
                    (port, _write(port, secret_of(dump), number))
                    for number in range(WRITES)
                    for port in (today, then)
                ]
            with psycopg.connect(cluster.address(DATABASE)) as connection:
                stored = connection.execute(
                    "SELECT sample.reads FROM ingest_diskio_sample sample "
                    "JOIN ingest_series series ON series.id = sample.series_id "
                    "JOIN ingest_host host ON host.id = series.host_id WHERE host.name ~ '^two-'"
                ).fetchall()

    assert answers == [
        (port, http.client.NO_CONTENT) for _ in range(WRITES) for port in (today, then)
    ]
    assert sorted(stored) == sorted((number,) for number in range(WRITES) for _ in range(2))


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


def _migrate(data: DataDir) -> None:
    subprocess.run(
        [SLUICE, "migrate"],
        env={
            **os.environ, "SLUICE_DATA_DIR": str(data.root),
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


def _write(port: int, secret: str, number: int) -> int:
    """A sample of a host that this server makes known; the status that it answers."""
    at_ns = (int(datetime.now(UTC).timestamp()) - 600 + number) * 10**9
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        body = f"diskio,host=two-{port},name=sda reads={number}i {at_ns}"
        headers = {"Authorization": f"Token {secret}"}
        connection.request("POST", "/api/v2/write", body, headers)
        return connection.getresponse().status
    finally:
        connection.close()
