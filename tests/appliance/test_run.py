"""`sluice run` as a person meets it: everything starts, stops, and is found again."""

import http.client
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from django.conf import settings
from django.test import override_settings

from appliance.embedded.children import workers
from config.paths import DataDir
from config.queues import queues_in_use
from tests.appliance.embedded_run import (
    DEADLINE_S,
    SLUICE,
    EmbeddedRun,
    short_directory,
    start,
    started,
)
from tests.kept_cluster import put_tables

APP = "--app=config.celery "
# A whole run starts ten processes, beside other tests.
pytestmark = [pytest.mark.postgres, pytest.mark.valkey, pytest.mark.timeout(1200)]


@pytest.fixture
def data_dir() -> Iterator[Path]:
    with short_directory() as path:
        yield path / "data"


@pytest.fixture
def with_tables(data_dir: Path) -> Path:
    """A data directory in which the tables are there, as before the second start."""
    put_tables(DataDir(data_dir))
    return data_dir


@pytest.fixture(scope="module")
def running() -> Iterator[EmbeddedRun]:
    with short_directory() as path, started(path / "data") as run:
        yield run


def database(run: EmbeddedRun) -> psycopg.Connection:
    return psycopg.connect(f"host={run.data_dir}/run user=sluice dbname=sluice", autocommit=True)


def health(run: EmbeddedRun) -> int:
    return answer(run, "")


def answer(run: EmbeddedRun, part: str) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", run.port, timeout=10)) as connection:
        connection.request("GET", f"/health/{part}".rstrip("/"))
        return connection.getresponse().status


def health_figures(run: EmbeddedRun) -> dict[str, Any]:
    """What `sluice status` says of the server itself."""
    done = subprocess.run(
        [SLUICE, "status", "--json"],
        env={**os.environ, "SLUICE_DATA_DIR": str(run.data_dir)},
        capture_output=True,
        check=False,
    )
    found: dict[str, Any] = json.loads(done.stdout)["health"]
    return found


def processes_of(run: EmbeddedRun, mark: str) -> list[int]:
    return [pid for pid, line in run.processes().items() if mark in line]


def wait_for_another(run: EmbeddedRun, mark: str, *, but: int) -> None:
    """A process of a server that was killed may answer once more before it ends, too."""
    deadline = time.monotonic() + DEADLINE_S
    while but in (found := processes_of(run, mark)) or not found:
        assert time.monotonic() < deadline, run.said
        time.sleep(0.1)


def wait_until_healthy(run: EmbeddedRun) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_healthy(run):
        assert time.monotonic() < deadline, run.said
        time.sleep(0.1)


def is_healthy(run: EmbeddedRun) -> bool:
    try:
        return health(run) == 200
    except (OSError, http.client.HTTPException):
        return False


def test_address_and_log_in_are_told(running):
    assert f"Sluice is ready: http://127.0.0.1:{running.port}/" in running.said
    assert re.search(r"log in as admin with the password \S{16}\n", running.said)
    assert "sluice changepassword admin" in running.said


def test_web_worker_and_scheduler_run(running):
    commands = " ".join(running.processes().values())

    assert health(running) == 200
    for queue in ("evaluate", "advise", "notify", "report", "upkeep"):
        assert f"celery --app=config.celery worker --queues={queue} " in commands
    assert "celery --app=config.celery beat" in commands


@pytest.mark.parametrize(("command", "runs"), [((), False), (("mv", "{workload}"), True)])
def test_worker_of_moves_runs_where_a_command_is_configured(tmp_path, command, runs) -> None:
    with override_settings(WORK_QUEUES=queues_in_use(moves=bool(command))):
        names = {child.name for child in workers(DataDir(tmp_path))}

    assert ("worker-move" in names) is runs
    assert "worker-evaluate" in names


@pytest.mark.parametrize(
    ("words", "above"),
    [("postgres -D", 0), ("web_server", 400), ("celery worker", 600), ("fork_server", 600)],
)
def test_kernel_ends_work_first_and_the_database_last(running, words, above) -> None:
    commands = running.processes().items()
    found = [pid for pid, command in commands if words in command.replace(APP, "")]

    assert {score(pid) for pid in found} == {score(running.process.pid) + above}


def test_kernel_ends_the_queue_after_the_web_server(running):
    with redis.Redis.from_url(DataDir(running.data_dir).valkey_url) as client:
        pid = client.info("server")["process_id"]

    assert score(pid) == score(running.process.pid) + 200


def score(pid: int) -> int:
    """How much more a process seems to take to the kernel, in thousandths of the memory."""
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


def test_scheduled_work_is_done(running):
    log = running.data_dir / "log" / "worker-evaluate.log"

    deadline = time.monotonic() + DEADLINE_S
    while "status=success task=detect_everywhere " not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def test_health_knows_every_process(running):
    deadline = time.monotonic() + DEADLINE_S
    while len(found := health_figures(running)["work"]["processes"]) < 6:
        assert time.monotonic() < deadline, found
        time.sleep(0.5)

    queues = {queue for process in found for queue in process["queues"]}
    assert queues == {"evaluate", "advise", "notify", "report", "upkeep"}
    assert [process["kind"] for process in found].count("scheduler") == 1
    assert queues == {queue.name for queue in settings.WORK_QUEUES}
    assert {address: answer(running, address) for address in ("live", "ready")} == {
        "live": 200,
        "ready": 200,
    }


def test_processes_connect_with_the_users_of_their_roles(running):
    health(running)
    with database(running) as connection:
        users = connection.execute(
            "SELECT DISTINCT usename FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
        (may_create,) = connection.execute(
            "SELECT has_schema_privilege('sluice_worker', 'public', 'CREATE')"
        ).fetchone()

    found = {name for (name,) in users}
    # A worker has a connection while a task runs only.
    assert {"sluice_web"} <= found <= {"sluice_web", "sluice_worker"}
    assert not may_create


def test_static_files_are_served(running):
    with closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)) as connection:
        connection.request("GET", "/static/sluice.css")
        answer = connection.getresponse()

        assert (answer.status, answer.headers["Content-Type"]) == (
            200,
            'text/css; charset="utf-8"',
        )


def test_database_and_queue_listen_on_their_sockets_only(running):
    with database(running) as connection:
        (addresses,) = connection.execute("SHOW listen_addresses").fetchone()
    queue = redis.Redis.from_url(f"unix://{running.data_dir}/run/valkey.sock")

    assert addresses == ""
    assert queue.config_get("port") == {"port": "0"}
    queue.close()


def test_sockets_are_closed_to_other_users(running):
    mode = (running.data_dir / "run").stat().st_mode

    assert mode & 0o077 == 0


@pytest.mark.long
def test_server_that_takes_https_only_becomes_ready(with_tables):
    with started(with_tables, env={"SLUICE_HTTPS_ONLY": "1"}) as run:
        assert health(run) == 200


def shows(connection: psycopg.Connection) -> bool:
    """Whether there are samples for a rate, and a resource for each whole disk."""
    (samples,) = connection.execute("SELECT count(*) FROM ingest_system_sample").fetchone()
    names = connection.execute("SELECT name FROM advisor_resource").fetchall()
    disks = {path.name for path in Path("/sys/block").glob("[svx]d[a-z]")}
    return samples >= 2 and {f"{socket.gethostname()}/{disk}" for disk in disks} <= {
        name for (name,) in names
    }


@pytest.mark.long
def test_machine_shows_itself_without_telegraf(with_tables):
    # A program that is not there: no Telegraf could be started by mistake.
    environment = {"SLUICE_TELEGRAF": "/nonexistent", "SLUICE_HTTPS_ONLY": "1"}
    with (
        started(with_tables, with_reader=True, env=environment) as run,
        database(run) as connection,
    ):
        deadline = time.monotonic() + DEADLINE_S
        while not shows(connection):
            assert time.monotonic() < deadline, (with_tables / "log" / "reader.log").read_text()
            time.sleep(0.1)
        hosts = connection.execute("SELECT name FROM ingest_host").fetchall()
        tables = "SELECT DISTINCT measurement FROM ingest_series"
        measured = {name for (name,) in connection.execute(tables).fetchall()}

    assert hosts == [(socket.gethostname(),)]
    assert {"diskio", "net", "system", "nstat", "internal_write"} <= measured
    assert "token" not in (with_tables / "log" / "reader.log").read_text()


@pytest.mark.long
def test_sample_shows_a_fleet_with_a_culprit_and_its_victims(with_tables):
    noisy = (
        "SELECT jsonb_array_length(incident.victims) FROM advisor_incident incident"
        " JOIN advisor_resource resource ON resource.id = incident.resource_id"
        " WHERE resource.name = 'silver-01' AND incident.ended_at IS NULL"
        ' AND incident.aggressors @> \'[{"workload": "etl-13"}]\''
    )
    environment = {"SLUICE_HTTPS_ONLY": "1"}
    with (
        started(with_tables, "--sample", env=environment) as run,
        database(run) as connection,
    ):
        deadline = time.monotonic() + DEADLINE_S
        while not (found := connection.execute(noisy).fetchall()):
            assert time.monotonic() < deadline, (with_tables / "log" / "sample.log").read_text()
            time.sleep(0.2)
        workloads = connection.execute("SELECT count(*) FROM advisor_workload").fetchone()

    ((victims,),) = found
    assert victims > 20
    assert workloads == (300,)


def test_second_run_on_the_same_directory_is_refused(running):
    second = start(running.data_dir)

    assert second.process.wait(DEADLINE_S) == 1
    assert second.said == (
        f"sluice: the data directory {running.data_dir} is in use by another sluice run "
        f"(process {running.process.pid}); stop that one, or set SLUICE_DATA_DIR to another "
        "directory\n"
    )


def test_port_that_is_taken_is_told(data_dir):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        run = start(data_dir, port=port)

        assert run.process.wait(DEADLINE_S) == 1
    assert run.said.startswith(f"sluice: port {port} on 127.0.0.1 is taken by another program; ")
    assert f"--port {port + 1}" in run.said


def test_too_long_data_directory_is_told_before_anything_is_made(data_dir):
    deep = data_dir / ("x" * 100)

    run = start(data_dir, env={"SLUICE_DATA_DIR": str(deep)})

    assert run.process.wait(DEADLINE_S) == 1
    assert "too long a path for unix sockets; set SLUICE_DATA_DIR to one of at most" in run.said
    assert not (deep / "postgres").exists()


def test_queue_of_the_environment_that_is_silent_is_told(data_dir):
    run = start(data_dir, env={"REDIS_URL": "redis://127.0.0.1:1/0"})

    assert run.process.wait(DEADLINE_S) == 1
    assert "sluice: the server of REDIS_URL does not answer; is it running?" in run.said


@pytest.mark.long
def test_stop_leaves_no_process_and_the_next_run_finds_its_data(with_tables):
    with started(with_tables) as first:
        with database(first) as connection:
            connection.execute("UPDATE accounts_organisation SET name = 'Kept'")
        assert first.end(signal.SIGINT) == 0
        assert first.said.endswith("everything is stopped\n")
        assert first.processes() == {}

    with started(with_tables) as second, database(second) as connection:
        (name,) = connection.execute("SELECT name FROM accounts_organisation").fetchone()
        assert name == "Kept"
        assert "with the password" not in second.said


@pytest.mark.long
def test_run_begins_at_once_after_one_that_was_killed(with_tables):
    """Also where a collector keeps its connection, for which a web server waits as it ends."""
    with started(with_tables) as first:
        with database(first) as connection:
            connection.execute("UPDATE accounts_organisation SET name = 'Kept'")
        left = set(first.processes())
        with closing(http.client.HTTPConnection("127.0.0.1", first.port)) as collector:
            collector.request("GET", "/ping")
            collector.getresponse().read()
            first.end(signal.SIGKILL)

            with started(with_tables, port=first.port) as second, database(second) as connection:
                (name,) = connection.execute("SELECT name FROM accounts_organisation").fetchone()

                assert name == "Kept"
                assert not left & set(second.processes())


def test_killed_database_is_restarted_and_the_web_server_reaches_it_again(running):
    (server,) = processes_of(running, "/postgres -D")

    os.kill(server, signal.SIGKILL)

    wait_for_another(running, "/postgres -D", but=server)
    wait_until_healthy(running)
    assert "starting postgres again" in running.said
    assert running.process.poll() is None


def test_web_server_and_then_the_database_are_killed_and_both_come_back(running):
    web, database_server = (
        processes_of(running, mark)[0] for mark in ("appliance.web_server", "/postgres -D")
    )

    os.kill(web, signal.SIGKILL)
    time.sleep(1.6)
    os.kill(database_server, signal.SIGKILL)

    wait_for_another(running, "/postgres -D", but=database_server)
    wait_until_healthy(running)
    assert running.process.poll() is None


@pytest.mark.skipif(
    os.geteuid() != 0, reason="does not apply: every other test here runs without root already"
)
def test_everything_runs_without_root():
    nobody = pwd.getpwnam("nobody")
    identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    try:
        probe = subprocess.run([sys.executable, "-c", "import django"], check=False, **identity)
    except PermissionError:
        probe = None
    if probe is None or probe.returncode != 0:
        pytest.skip(f"does not apply: user nobody cannot reach {sys.executable}")
    with short_directory() as path:
        os.chown(path, nobody.pw_uid, nobody.pw_gid)
        with started(path / "data", env={"HOME": str(path)}, **identity) as run:
            owners = {Path(f"/proc/{pid}").stat().st_uid for pid in run.processes()}

            assert owners == {nobody.pw_uid}
            assert health(run) == 200
