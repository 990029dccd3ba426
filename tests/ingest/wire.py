"""The real programs of the wire: our web server, and Telegraf."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from django.db import connection

import ingest

CONFIGURATION = Path(ingest.__file__).parent / "telegraf" / "sluice.conf"
DEADLINE_S = 150.0


def eventually(holds: Callable[[], bool], *, what: str, deadline_s: float = DEADLINE_S) -> None:
    """Return when it holds; fail when it does not in time."""
    deadline = time.monotonic() + deadline_s
    while not holds():
        assert time.monotonic() < deadline, f"not in {deadline_s:.0f} s: {what}"
        time.sleep(0.05)


class WebServer:
    """The product's web server on a port of its own, writing to the test's database."""

    def __init__(self, folder: Path, **environment: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.log = folder / "web.log"
        # By this path it is reached from every network namespace.
        self.socket = folder / "web.sock"
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable, "-m", "appliance.web_server", f"--port={self.port}",
                    f"--socket={self.socket}",
                ],
                env={**os.environ, "DATABASE_URL": database_url(), **self._environment},
                stdout=log,
                stderr=log,
            )  # fmt: skip
        eventually(self._answers, what=f"a web server; its log is {self.log}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(DEADLINE_S)
            self._process = None

    def _answers(self) -> bool:
        conversation = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        if "SLUICE_TLS_CERTIFICATE" in self._environment:
            unchecked = ssl._create_unverified_context()
            conversation = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=5, context=unchecked
            )
        try:
            conversation.request("GET", "/health")
            return conversation.getresponse().status == 200
        except OSError:
            return False
        finally:
            conversation.close()


class Collector:
    """Telegraf with the product's configuration, and lines of the test beside it."""

    def __init__(self, program: Path, folder: Path, *, url: str, secret: str) -> None:
        self._program = program
        self._folder = folder
        self._url = url
        self._secret = secret
        self._process: subprocess.Popen[bytes] | None = None
        self.buffer = folder / "buffer"
        self.log = folder / "telegraf.log"

    def start(self, *, script: str = "") -> None:
        """Start it; `script` is a shell script whose output is collected once, line by line."""
        extra = self._folder / "extra.conf"
        extra.write_text(
            "[[inputs.execd]]\n"
            f"command = ['sh', '-c', '''{script}\nexec sleep 600''']\n"
            "signal = 'none'\n"
            "data_format = 'influx'\n"
        )
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._program, "--strict-env-handling",
                    "--config", CONFIGURATION, "--config", extra,
                ],
                env={
                    **os.environ,
                    "SLUICE_URL": self._url,
                    "SLUICE_TOKEN": self._secret,
                    "SLUICE_INTERVAL": "1s",
                    "SLUICE_HOSTNAME": "real",
                    "SLUICE_BUFFER_DIR": str(self.buffer),
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def kill(self) -> None:
        """End it as a crash does."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait(DEADLINE_S)
        # The collected script lives in the same session.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process = None

    def has_buffered(self, text: str) -> bool:
        """Whether a metric with this text is on disk."""
        return any(text.encode() in path.read_bytes() for path in self._files())

    def _files(self) -> list[Path]:
        return [path for path in self.buffer.rglob("*") if path.is_file()]


def database_url() -> str:
    """The address of the test's database, for programs that the test starts."""
    database = connection.settings_dict
    host = quote(str(database["HOST"]), safe="")
    return f"postgres://{database['USER']}@{host}:{database['PORT']}/{database['NAME']}"
