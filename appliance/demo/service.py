"""The product itself, started on scratch data and used through its commands."""

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advisor.management.status_exit import StatusExit
from appliance.demo.commands import run
from appliance.embedded.child import Child, ChildSpec
from config.paths import DataDir

SLUICE = str(Path(sys.executable).with_name("sluice"))
START_DEADLINE_S = 240.0
# The demo ignores servers named in the caller's environment.
FOREIGN_SETTINGS = (
    "DATABASE_URL", "DATABASE_URL_FILE", "REDIS_URL", "REDIS_URL_FILE",
    "DATABASE_URL_INGEST", "DATABASE_URL_WORKER", "DATABASE_URL_WEB", "DATABASE_URL_REPLICA",
    "SLUICE_DATABASE_ROLE",
    "SLUICE_HTTPS_ONLY", "SLUICE_BEHIND_PROXY", "SLUICE_ALLOWED_HOSTS",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The running product."""

    data: DataDir
    port: int
    user: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def sluice(self, command: str, *words: str) -> Any:
        """Run `sluice COMMAND --json WORDS` and give what it prints, decoded."""
        # The exit status of `sluice status` is a result, not a failure.
        accepted = tuple(StatusExit) if command == "status" else (0,)
        argv = [SLUICE, command, "--json", *words]
        environment = {**os.environ, **_environment(self.data)}
        return json.loads(run(argv, environment=environment, accepted=accepted))


@contextmanager
def running_service(
    data: DataDir,
    *,
    user: str,
    port: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Service]:
    """Start `sluice run` below `data`, and stop all of it at the end.

    Raises ChildFailed with the end of its log when it does not start.
    """
    service = Service(data=data, port=port or free_port(), user=user)
    child = Child(
        ChildSpec(
            name="sluice run",
            argv=(SLUICE, "run", "--port", str(service.port), "--no-reader"),
            log=data.root.parent / "sluice-run.log",
            environment=_environment(data) | dict(environment or {}),
            stop_timeout_s=60.0,
            ready_timeout_s=START_DEADLINE_S,
            is_ready=_says_ready(data.root.parent / "sluice-run.log"),
        )
    )
    try:
        child.wait_until_ready()
        yield service
    finally:
        child.stop()


def _says_ready(log: Path) -> Callable[[], bool]:
    return lambda: log.is_file() and "Sluice is ready" in log.read_text()


def _environment(data: DataDir) -> dict[str, str]:
    # An empty variable counts as not set.
    blank = dict.fromkeys(FOREIGN_SETTINGS, "")
    return blank | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "SLUICE_DATA_DIR": str(data.root),
        "PYTHONUNBUFFERED": "1",
    }


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
