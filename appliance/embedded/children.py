"""The product's own processes: web, workers and scheduler."""

import http.client
import os
import socket
import sys
from typing import Any

from django.conf import settings

from appliance.embedded.child import ChildSpec
from config.celery import app
from config.paths import DataDir
from config.queues import WorkQueue

# Django's checks of URLs import every page and its libraries, which no worker needs.
WORK_ENVIRONMENT = {"CELERY_SKIP_CHECKS": "1", "SLUICE_DATABASE_ROLE": "worker"}
# Celery waits for running tasks; the longest takes about as long as one look at all samples.
WORKER_STOP_TIMEOUT_S = 30.0


def web(data: DataDir, *, host: str, port: int, allowed_hosts: str) -> ChildSpec:
    """The web server, ready when it reaches the database."""
    return _python(
        data,
        "web",
        "appliance.web_server",
        f"--host={host}",
        f"--port={port}",
        f"--socket={data.web_socket}",
        f"--processes={web_processes()}",
        environment={"SLUICE_ALLOWED_HOSTS": allowed_hosts, "SLUICE_DATABASE_ROLE": "web"},
        is_ready=lambda: _answers(local_address(host), port),
    )


def web_processes() -> int:
    """One for two cores, as the database works for it: writes that share a commit cost least."""
    return max(1, (os.cpu_count() or 1) // 2)


def workers(data: DataDir) -> list[ChildSpec]:
    """One worker per queue with work, so that no queue can take the slots of another."""
    return [_worker(data, queue) for queue in settings.WORK_QUEUES]


def _worker(data: DataDir, queue: WorkQueue) -> ChildSpec:
    """The process that does the work of one queue, ready when it answers."""
    name = f"{queue.name}@{socket.gethostname()}"
    return _python(
        data,
        f"worker-{queue.name}",
        "celery",
        "--app=config.celery",
        "worker",
        f"--queues={queue.name}",
        f"--concurrency={queue.slots}",
        f"--hostname={name}",
        "--loglevel=INFO",
        "--without-gossip",
        "--without-mingle",
        environment=WORK_ENVIRONMENT,
        stop_timeout_s=WORKER_STOP_TIMEOUT_S,
        is_ready=lambda: bool(app.control.ping(destination=[name], timeout=0.5, limit=1)),
    )


def scheduler(data: DataDir) -> ChildSpec:
    """The process that queues periodic work."""
    return _python(
        data,
        "scheduler",
        "celery",
        "--app=config.celery",
        "beat",
        "--loglevel=INFO",
        environment=WORK_ENVIRONMENT,
    )


def udp(data: DataDir) -> ChildSpec:
    """The process that receives line protocol in datagrams."""
    return _python(
        data,
        "udp",
        "django",
        "udp",
        environment={"SLUICE_DATABASE_ROLE": "ingest"},
        essential=False,
    )


def local_address(host: str) -> str:
    """An address that reaches the web server from this machine."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared only


def web_url(host: str, port: int) -> str:
    """What a person on this machine types into the browser."""
    return f"http://{_bracketed(local_address(host))}:{port}"


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
    return ChildSpec(
        name=name,
        argv=(sys.executable, "-m", module, *arguments),
        log=data.logs / f"{name}.log",
        environment=environment,
        **spec,
    )


def _answers(host: str, port: int) -> bool:
    """Whether the web server can store samples at this moment."""
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/health", headers={"Host": "localhost"})
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
