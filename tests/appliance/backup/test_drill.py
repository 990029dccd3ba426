"""The restore drill: a server is filled, backed up, goes on, is killed, and comes back.

It is played with a directory and with a real S3 server as target.
Every point that it acknowledged up to the moment is there with its value, and none that came
after it.
"""

import http.client
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from appliance.backup.archive import Archive
from appliance.backup.directory_store import DirectoryStore
from appliance.backup.s3_store import S3Target, open_s3
from appliance.embedded.child import Child
from appliance.embedded.postgres_cluster import find_cluster
from appliance.embedded.service_user import service_user
from config.paths import DataDir
from tests.appliance.backup.s3_server import S3Server
from tests.appliance.embedded_run import READY, SLUICE, EmbeddedRun, short_directory, start

pytestmark = [
    pytest.mark.postgres, pytest.mark.valkey, pytest.mark.slow, pytest.mark.any_database,
    pytest.mark.timeout(600),
]  # fmt: skip

BEFORE_THE_BACKUP = 100
BEFORE_THE_MOMENT = 300
AFTER_THE_MOMENT = 100
WITHIN_S = 200.0
STORED = """
    SELECT sample.reads
      FROM ingest_diskio_sample AS sample
      JOIN ingest_series AS series ON series.id = sample.series_id
      JOIN ingest_host AS host ON host.id = series.host_id
     WHERE host.name = 'drill'
"""


@dataclass(slots=True, kw_only=True)
class Writer:
    """Sends a point after another; knows when each was sent and when it was acknowledged."""

    port: int
    secret: str
    sent: dict[int, datetime] = field(default_factory=dict)
    acknowledged: dict[int, datetime] = field(default_factory=dict)
    ended: threading.Event = field(default_factory=threading.Event)
    said: object = None

    def run(self) -> None:
        begin_s = int(time.time()) - 3600
        number = 0
        while not self.ended.is_set():
            number += 1
            self.sent[number] = datetime.now(UTC)
            body = f"diskio,host=drill,name=sda reads={number}i {begin_s + number}000000000"
            if self._is_taken(body):
                self.acknowledged[number] = datetime.now(UTC)

    def _is_taken(self, body: str) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            headers = {"Authorization": f"Token {self.secret}"}
            connection.request("POST", "/api/v2/write", body, headers)
            self.said = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            self.said = error
        finally:
            connection.close()
        return self.said == http.client.NO_CONTENT

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + WITHIN_S
        while len(self.acknowledged) < count:
            assert time.monotonic() < deadline, self.said
            time.sleep(0.02)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A place of backups: the settings that lead there, and what lies there."""

    settings: dict[str, str]
    archive: Archive


@pytest.fixture
def root() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture(params=["directory", "s3"])
def target(request: pytest.FixtureRequest, root: Path) -> Target:
    by_hand = {"SLUICE_BACKUP_EVERY_HOURS": "0"}
    if request.param == "directory":
        folder = root / "target"
        folder.mkdir()
        settings = {"SLUICE_BACKUP_TARGET": str(folder), **by_hand}
        return Target(settings=settings, archive=Archive(DirectoryStore(folder)))
    server: S3Server = request.getfixturevalue("server")
    place = S3Target(bucket="backups", folder="drill")
    return Target(
        settings={"SLUICE_BACKUP_TARGET": "s3://backups/drill", **by_hand, **server.environment},
        archive=Archive(open_s3(place, environ=server.environment)),
    )


def test_every_acknowledged_point_up_to_a_moment_comes_back(root: Path, target: Target) -> None:
    run = start(root / "d", env=target.settings)
    try:
        run.wait_for(READY)
        writer = Writer(port=run.port, secret=_secret(run))
        moment = _play(run, writer, target)
    finally:
        _kill(run)
    into = DataDir(root / "r")

    _sluice(run, target.settings, "restore", "--to", moment.isoformat(), "--into", str(into.root))
    stored = _stored(into)

    acknowledged = {n for n, at in writer.acknowledged.items() if at <= moment}
    assert len(acknowledged) >= BEFORE_THE_MOMENT
    assert acknowledged - stored == set()
    # One that was sent before and acknowledged after may be on either side.
    assert stored <= {number for number, at in writer.sent.items() if at <= moment}


def _play(run: EmbeddedRun, writer: Writer, target: Target) -> datetime:
    """Fill, back up, go on, and wait until the log is away; gives the moment to come back to."""
    thread = threading.Thread(target=writer.run, daemon=True)
    thread.start()
    try:
        writer.wait_for(BEFORE_THE_BACKUP)
        _sluice(run, target.settings, "backup")
        writer.wait_for(len(writer.acknowledged) + BEFORE_THE_MOMENT)
        moment = datetime.now(UTC)
        writer.wait_for(len(writer.acknowledged) + AFTER_THE_MOMENT)
        _wait_for_the_log(run, target.archive)
    finally:
        writer.ended.set()
        thread.join(60)
    return moment


def _wait_for_the_log(run: EmbeddedRun, archive: Archive) -> None:
    """Until what was written so far is at the target; within a minute it would go by itself."""
    cluster = find_cluster(DataDir(run.data_dir), service_user())
    with psycopg.connect(cluster.address("sluice"), autocommit=True) as connection:
        row = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
    assert row is not None
    deadline = time.monotonic() + WITHIN_S
    while row[0] not in archive.wal_names():
        assert time.monotonic() < deadline, (run.data_dir / "log/backup.log").read_text()
        time.sleep(0.1)


def _kill(run: EmbeddedRun) -> None:
    """All at once, without a goodbye."""
    for pid in [run.process.pid, *run.processes()]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    run.process.wait(60)


def _secret(run: EmbeddedRun) -> str:
    said = _sluice(run, {}, "token", "create", "drill", "--scope", "ingest")
    found = re.search(r"slu_[\w-]+", said)
    assert found is not None, said
    return found[0]


def _sluice(run: EmbeddedRun, settings: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [SLUICE, *arguments],
        env={
            **os.environ, "SLUICE_DATA_DIR": str(run.data_dir),
            "DJANGO_SETTINGS_MODULE": "config.settings", **settings,
        },
        capture_output=True, text=True, check=False, timeout=WITHIN_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def _stored(data: DataDir) -> set[int]:
    cluster = find_cluster(data, service_user())
    server = Child(cluster.server())
    try:
        server.wait_until_ready()
        with psycopg.connect(cluster.address("sluice")) as connection:
            return {number for (number,) in connection.execute(STORED)}
    finally:
        server.stop()
