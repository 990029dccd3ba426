"""A release for trials, its pods as processes: from an empty database to a stored sample."""

from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest

from appliance.embedded.postgres_programs import choose_programs, runnable_by
from appliance.embedded.service_user import make_directory, process_identity, service_user
from appliance.embedded.valkey import find_valkey
from tests.chart.pods_as_processes import LOOPBACK, Node, free_port
from tests.chart.programs_here import CHART
from tests.chart.rendering import Object, pod_of, rendered

pytestmark = [
    pytest.mark.chart, pytest.mark.postgres, pytest.mark.valkey, pytest.mark.slow,
    pytest.mark.timeout(900),
]  # fmt: skip

DEADLINE_S = 240.0
ROLES = ("owner", "web", "worker", "ingest")
WORKING = ("worker-evaluate", "worker-upkeep", "scheduler")
NAMED = ("--name", "North", "--admin", "anna")
COLLECTOR = ("collector", "--scope", "ingest")
Headers = Mapping[str, str]
PROBE = {"Host": "localhost"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short, because of sockets, and open to the user of PostgreSQL."""
    made = Path(tempfile.mkdtemp(prefix="sluice-pods-", dir="/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@contextmanager
def postgres(folder: Path, passwords: dict[str, str]) -> Iterator[int]:
    """As the image makes it: a superuser, the script of the chart, and passwords over TCP."""
    user, port = service_user(), free_port()
    programs = runnable_by(choose_programs(), user, copies=folder / "programs").bin_dir
    data, run, secrets = folder / "pg", folder / "pg-run", folder / "pg-secrets"
    make_directory(data, user)
    make_directory(run, user)
    secrets.mkdir()
    for role, password in passwords.items():
        (secrets / f"password-{role}").write_text(password)
    identity = process_identity(user)
    subprocess.run(
        [
            programs / "initdb", f"--pgdata={data}", "--username=postgres", "--encoding=UTF8",
            "--auth-local=trust", "--auth-host=scram-sha-256", "--no-instructions", "--no-sync",
        ],
        cwd="/", check=True, stdout=subprocess.DEVNULL, **identity,
    )  # fmt: skip
    server = subprocess.Popen(
        [
            programs / "postgres", "-D", data, "-c", f"port={port}",
            "-c", f"listen_addresses={LOOPBACK}", "-c", f"unix_socket_directories={run}",
            "-c", "fsync=off",
        ],
        cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **identity,
    )  # fmt: skip
    try:
        here = {"PGHOST": str(run), "PGPORT": str(port)}
        path = f"{programs}:{os.environ['PATH']}"
        wait_for(lambda: is_ready(programs, run, port), "PostgreSQL")
        subprocess.run(
            ["sh", CHART / "files" / "roles.sh"],
            env={"PATH": path, "SLUICE_PASSWORDS": str(secrets), **here}, cwd="/", check=True,
        )  # fmt: skip
        yield port
    finally:
        server.terminate()
        server.wait(60)


def is_ready(programs: Path, run: Path, port: int) -> bool:
    asked = [programs / "pg_isready", "--quiet", f"--host={run}", f"--port={port}"]
    return subprocess.run(asked, check=False).returncode == 0


@contextmanager
def valkey(folder: Path, configuration: str) -> Iterator[int]:
    """By the configuration of the chart, but on a port of the loopback."""
    port, data = free_port(), folder / "valkey"
    data.mkdir()
    file = folder / "valkey.conf"
    text = configuration.replace("dir /data", f"dir {data}")
    file.write_text(f"{text}\nport {port}\nbind {LOOPBACK}\n")
    server = subprocess.Popen([find_valkey(), file], stdout=subprocess.DEVNULL)
    try:
        yield port
    finally:
        server.terminate()
        server.wait(20)


def wait_for(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < until, f"not in {DEADLINE_S:.0f} s: {what}"
        time.sleep(0.2)


def answers(
    port: int, path: str, status: int, *, body: str | None = None, headers: Headers = PROBE
) -> bool:
    """Whether a web server answers so; not where there is none."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=30)
    try:
        connection.request("GET" if body is None else "POST", path, body=body, headers=headers)
        return connection.getresponse().status == status
    except OSError:
        return False
    finally:
        connection.close()


def test_pods_take_a_sample_from_an_empty_database_on(folder: Path) -> None:
    switches = ("--set", "console.enabled=true", "--set", "ingress.enabled=true")
    objects = rendered(CHART / "ci" / "trial-values.yaml", *switches)
    with ExitStack() as stack:
        node = Node(
            folder=folder, secrets=secrets_of(objects), services=servers(stack, folder, objects)
        )
        migrations = pod_of(objects, "migrations")
        node.run(migrations, migrations.template["spec"]["containers"][0])
        # One organisation, and a token for its collectors, as a person makes them in the console.
        console = pod_of(objects, "console")
        (inside,) = console.containers
        node.run(console, inside, django("organisation", "create", "north", *NAMED))
        token = node.run(console, inside, django("token", "create", *COLLECTOR)).split()[-1]
        ports = start(stack, node, objects)

        for name, port in ports.items():
            wait_for(partial(answers, port, "/health/ready", 200), f"{name} is ready")
        assert (folder / "web/all/run/signer.sock").is_socket()
        for component in WORKING:
            alive = folder / component / "all/data/alive"
            wait_for(alive.exists, f"a sign of life of {component}")
        # The address says https, and a page goes nowhere else.
        assert answers(ports["web"], "/login/", 301)
        by_proxy = {"X-Forwarded-Proto": "https", "Host": "sluice.example.net"}
        assert answers(ports["web"], "/login/", 200, headers=by_proxy)
        line = f"diskio,host=h1,name=sda reads=1i,writes=1i {time.time_ns()}"
        sent = {**by_proxy, "Authorization": f"Token {token}"}
        assert answers(ports["ingest"], "/api/v2/write", 204, body=line, headers=sent)

        with psycopg.connect(node.secret("sluice-database", "owner")) as connection:
            stored = connection.execute("SELECT count(*) FROM ingest_diskio_sample").fetchone()
            # For a superuser the walls between organisations would not hold.
            (is_superuser,) = connection.execute(
                "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchone() or (None,)
        assert stored == (1,)
        assert is_superuser is False


def servers(stack: ExitStack, folder: Path, objects: list[Object]) -> dict[str, str]:
    """PostgreSQL and valkey of the release; where its Services are here."""
    secrets = secrets_of(objects)
    database, queue = secrets["sluice-database"], secrets["sluice-queue"]
    passwords = {role: database[f"password-{role}"] for role in ROLES}
    postgres_port = stack.enter_context(postgres(folder, passwords))
    valkey_port = stack.enter_context(valkey(folder, queue["valkey.conf"]))
    return {
        "sluice-database:5432": f"{LOOPBACK}:{postgres_port}",
        "sluice-queue:6379": f"{LOOPBACK}:{valkey_port}",
    }


def start(stack: ExitStack, node: Node, objects: list[Object]) -> dict[str, int]:
    """All that serves and works; the ports of web servers, by component."""
    ports = {"web": free_port(), "ingest": free_port()}
    for component in (*ports, *WORKING):
        pod = pod_of(objects, component)
        for container in reversed(pod.containers):
            port = str(ports.get(component))
            stack.enter_context(node.running(pod, container, port=port, host=LOOPBACK))
    return ports


def secrets_of(objects: list[Object]) -> dict[str, dict[str, str]]:
    """What the release makes once, by name and key."""
    found = (one for one in objects if one["kind"] == "Secret")
    return {one["metadata"]["name"]: one["stringData"] for one in found}


def django(*words: str) -> list[str]:
    """A command of the product, typed in the console."""
    return [sys.executable, "-m", "django", *words]
