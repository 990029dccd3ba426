"""The product's own processes: web, workers and scheduler."""

import http.client
import os
import socket
import ssl
import sys
from pathlib import Path
from typing import Any

from django.conf import settings

from appliance.embedded.child import ChildSpec
from appliance.embedded.fork_server import is_open
from appliance.embedded.kill_order import KillOrder
from appliance.embedded.memory_bounds import task_process_bytes
from appliance.embedded.postgres_memory import KIB, machine_memory_bytes
from appliance.embedded.product_users import NO_OTHER_USERS, ProductUsers
from appliance.embedded.service_user import ServiceUser
from config.paths import DataDir
from config.queues import WorkQueue
from config.signing_keys import SIGNING_VARIABLES

DATABASE, QUEUE = "postgres", "valkey"
# Django's checks of URLs import every page and its libraries, which no worker needs.
WORK_ENVIRONMENT = {"CELERY_SKIP_CHECKS": "1", "SLUICE_DATABASE_ROLE": "worker"}
# Celery waits for running tasks; the longest takes about as long as one look at all samples.
WORKER_STOP_TIMEOUT_S = 30.0
AFTER_THE_WEB_SERVER = 5
"""What waits in a queue can wait; who asks and who sends has a deadline (weights of 3 to 1)."""
# A loaded or emulated machine takes minutes to load the programs; who ends is seen at once.
READY_TIMEOUT_S = 300.0


def web(
    data: DataDir, *, host: str, port: int, allowed_hosts: str, user: ServiceUser | None = None
) -> ChildSpec:
    """The web server, ready when it reaches the database.

    It becomes the user itself, once it listens: a port below 1024 takes root.
    """
    return _python(
        data,
        "web",
        "appliance.web_server",
        f"--host={host}",
        f"--port={port}",
        f"--socket={data.web_socket}",
        f"--processes={web_processes()}",
        *([f"--user={user.name}"] if user else []),
        environment={
            "SLUICE_ALLOWED_HOSTS": allowed_hosts,
            "SLUICE_DATABASE_ROLE": "web",
            **_names(user),
        },
        is_ready=lambda: _answers(local_address(host), port, "/health", http.client.OK),
        is_alive=lambda: _answers(local_address(host), port, "/ping", http.client.NO_CONTENT),
        needs=(DATABASE,),
    )


def signer(data: DataDir, users: ProductUsers = NO_OTHER_USERS) -> ChildSpec:
    """The process that signs documents of hosts; it alone is given their secret.

    It becomes its user itself, once it has read what is root's alone.
    """
    own = {name: os.environ[name] for name in SIGNING_VARIABLES if name in os.environ}
    asked_by = users.product
    return _python(
        data,
        "signer",
        "appliance.signer",
        f"--socket={data.signer_socket}",
        *([f"--user={users.signer.name}"] if users.signer else []),
        *([f"--group={asked_by.gid}"] if asked_by else []),
        environment=own | _names(users.signer),
        kill_order=KillOrder.QUEUE,
        is_ready=lambda: _listens(data.signer_socket),
    )


def web_processes() -> int:
    """One for two cores, as the database works for it: writes that share a commit cost least."""
    return max(1, (os.cpu_count() or 1) // 2)


def fork_server(data: DataDir, user: ServiceUser | None = None) -> ChildSpec:
    """The process that workers and scheduler are copies of.

    It becomes the user itself, once its socket is there, in a folder that is root's.
    """
    return _python(
        data,
        "fork-server",
        "appliance.embedded.fork_server",
        *([f"--user={user.name}"] if user else []),
        str(data.fork_server_socket),
        environment=WORK_ENVIRONMENT | _names(user),
        kill_order=KillOrder.WORK,
        # It does nothing but answer, and nobody is brought back while it does not.
        silent_timeout_s=20.0,
        is_ready=lambda: is_open(data.fork_server_socket),
    )


def workers(
    data: DataDir, user: ServiceUser | None = None, *, by_fork_server: bool = False
) -> list[ChildSpec]:
    """One worker per queue with work, so that no queue can take the slots of another."""
    server = data.fork_server_socket if by_fork_server else None
    return [_worker(data, queue, user, server) for queue in settings.WORK_QUEUES]


def _worker(
    data: DataDir, queue: WorkQueue, user: ServiceUser | None, server: Path | None
) -> ChildSpec:
    """The process that does the work of one queue; its signs of life are Celery's heartbeats."""
    name = f"{queue.name}@{socket.gethostname()}"
    most_bytes = task_process_bytes(machine_memory_bytes())
    return _python(
        data,
        f"worker-{queue.name}",
        "celery",
        "--app=config.celery",
        "worker",
        f"--queues={queue.name}",
        f"--concurrency={queue.slots}",
        f"--max-memory-per-child={most_bytes // KIB}",
        f"--hostname={name}",
        "--loglevel=INFO",
        "--without-gossip",
        "--without-mingle",
        environment=WORK_ENVIRONMENT | _names(user),
        user=user,
        nice=AFTER_THE_WEB_SERVER,
        kill_order=KillOrder.WORK,
        stop_timeout_s=WORKER_STOP_TIMEOUT_S,
        alive_file=data.alive_file(f"worker-{queue.name}"),
        needs=(DATABASE, QUEUE),
        fork_server=server,
    )


def scheduler(
    data: DataDir, user: ServiceUser | None = None, *, by_fork_server: bool = False
) -> ChildSpec:
    """The process that queues periodic work."""
    return _python(
        data,
        "scheduler",
        "celery",
        "--app=config.celery",
        "beat",
        "--loglevel=INFO",
        f"--schedule={data.schedule}",
        environment=WORK_ENVIRONMENT | _names(user),
        user=user,
        alive_file=data.alive_file("scheduler"),
        needs=(DATABASE, QUEUE),
        fork_server=data.fork_server_socket if by_fork_server else None,
    )


def udp(data: DataDir, user: ServiceUser | None = None) -> ChildSpec:
    """The process that receives line protocol in datagrams."""
    return _python(
        data,
        "udp",
        "django",
        "udp",
        environment={"SLUICE_DATABASE_ROLE": "ingest", **_names(user)},
        user=user,
        needs=(DATABASE,),
        essential=False,
    )


def backup_keeper(data: DataDir) -> ChildSpec:
    """The process that brings the database's log to the target of backups, and makes them."""
    return _python(data, "backup", "appliance.backup.keeper", needs=(DATABASE,), essential=False)


def local_address(host: str) -> str:
    """An address that reaches the web server from this machine."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared only


def web_url(host: str, port: int) -> str:
    """What a person on this machine types into the browser."""
    scheme = "https" if settings.TLS_CERTIFICATE else "http"
    return f"{scheme}://{_bracketed(local_address(host))}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _python(data: DataDir, name: str, module: str, *arguments: str, **spec: Any) -> ChildSpec:
    """A Python program of this environment that reads the product's settings."""
    environment = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SLUICE_DATA_DIR": str(data.root),
        "PYTHONUNBUFFERED": "1",
        **spec.pop("environment", {}),
    }
    if file := spec.get("alive_file"):
        environment["SLUICE_ALIVE_FILE"] = str(file)
    return ChildSpec(
        name=name,
        argv=(sys.executable, "-m", module, *arguments),
        log=data.logs / f"{name}.log",
        environment=environment,
        ready_timeout_s=READY_TIMEOUT_S,
        **spec,
    )


def _names(user: ServiceUser | None) -> dict[str, str]:
    """What programs expect of a user's environment; root's home is closed to others."""
    return {"HOME": user.home, "USER": user.name, "LOGNAME": user.name} if user else {}


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(2)
        return connection.connect_ex(str(path)) == 0


def _answers(host: str, port: int, path: str, status: int) -> bool:
    """Whether the web server answers this path so."""
    connection = http.client.HTTPConnection(host, port, timeout=2)
    if settings.TLS_CERTIFICATE:
        # Its names are those of people's addresses; whether it answers is all that is asked.
        unchecked = ssl._create_unverified_context()  # noqa: S323,SLF001
        connection = http.client.HTTPSConnection(host, port, timeout=2, context=unchecked)
    try:
        connection.request("GET", path, headers={"Host": "localhost"})
        return connection.getresponse().status == status
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
