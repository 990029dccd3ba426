"""A whole `sluice run` in a data directory of its own, for tests that need the real thing."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SLUICE = Path(sys.executable).with_name("sluice")
READY = "Ctrl-C stops everything"
DEADLINE_S = 480.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedRun:
    """One supervisor process and what it has said so far."""

    process: subprocess.Popen[bytes]
    data_dir: Path
    port: int
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text()

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + DEADLINE_S
        while text not in self.said:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < deadline, self.said
            time.sleep(0.05)

    def end(self, number: signal.Signals) -> int:
        """Send a signal and give the exit status."""
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_S)

    def processes(self) -> dict[int, str]:
        """The command lines of every process that belongs to this data directory."""
        mark = f"SLUICE_DATA_DIR={self.data_dir}".encode()
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found[int(entry.name)] = command
            except OSError:
                continue
        return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(
    data_dir: Path,
    *arguments: str,
    port: int | None = None,
    with_reader: bool = False,
    prefix: Sequence[str] = (),
    **process: Any,
) -> EmbeddedRun:
    """Start it; it need not become ready."""
    port = port or free_port()
    log = data_dir.with_name(f"said-{port}")
    environment = {
        **os.environ,
        "SLUICE_DATA_DIR": str(data_dir),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        **process.pop("env", {}),
    }
    with log.open("wb") as output:
        child = subprocess.Popen(
            [
                *prefix,
                SLUICE,
                "run",
                f"--port={port}",
                *arguments,
                *([] if with_reader else ["--no-reader"]),
            ],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            **process,
        )
    return EmbeddedRun(process=child, data_dir=data_dir, port=port, log=log)


@contextmanager
def short_directory() -> Iterator[Path]:
    """A directory whose path leaves room for sockets, open to the users of servers."""
    path = Path(tempfile.mkdtemp(prefix="sluice-run-", dir="/tmp"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def started(data_dir: Path, *arguments: str, **options: Any) -> Iterator[EmbeddedRun]:
    """A run that is ready, and is stopped at the end."""
    run = start(data_dir, *arguments, **options)
    try:
        run.wait_for(READY)
        yield run
    finally:
        if run.process.poll() is None:
            assert run.end(signal.SIGTERM) == 0
