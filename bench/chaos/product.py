"""The product under test: `sluice run` on a disk and in a network of its own."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

from bench.chaos.parts import Process, parts_below, processes_now, tree_of
from bench.chaos.schedule import Part
from bench.chaos.verdict import Stored
from config.paths import DataDir

SLUICE = str(Path(sys.executable).with_name("sluice"))
READY = "Ctrl-C stops everything"
READY_WITHIN_S = 600.0
PORT = 8464
SUPERVISOR, SENDER, AGENT, PROBE = "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"
"""By which address each of them reaches the web server; so one can be cut off alone."""
_OTHERS = ("DATABASE_URL", "REDIS_URL", "SLUICE_DATABASE_ROLE", "SLUICE_SIGNER_SOCKET")
STORED = " UNION ALL ".join(
    f"SELECT host.name, (extract(epoch FROM sample.time) * 1000)::bigint, '{table}',"
    f" sample.{column} FROM ingest_{table}_sample AS sample"
    "  JOIN ingest_series AS series ON series.id = sample.series_id"
    "  JOIN ingest_host AS host ON host.id = series.host_id"
    " WHERE host.name = ANY(%(hosts)s) AND sample.time >= to_timestamp(%(since_s)s)"
    for table, column in (("diskio", "reads"), ("net", "bytes_sent"), ("cgroup", "rios"))
)


class Product:
    """One run of it after another in the same data directory."""

    def __init__(self, data: DataDir, log: Path, environment: Mapping[str, str]) -> None:
        self.data, self.log = data, log
        self._environment = {
            **{name: text for name, text in os.environ.items() if name not in _OTHERS},
            "SLUICE_DATA_DIR": str(data.root),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "SLUICE_ALLOWED_HOSTS": ",".join((SENDER, AGENT, PROBE)),
            "PYTHONUNBUFFERED": "1",
            **environment,
        }
        self._run: subprocess.Popen[bytes] | None = None
        self._said_before = 0

    def start(self) -> None:
        """Start it; it needs a while."""
        self._said_before = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._run = subprocess.Popen(
                [SLUICE, "run", "--host=0.0.0.0", f"--port={PORT}", "--no-reader"],
                env=self._environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def wait_until_ready(self) -> None:
        """A start that ends is begun again, as a unit of systemd does.

        Raises RuntimeError with what it said if it takes too long.
        """
        deadline = time.monotonic() + READY_WITHIN_S
        while READY not in self.said():
            if time.monotonic() > deadline:
                raise RuntimeError(f"sluice run did not start:\n{self.said()[-2000:]}")
            if not self.is_running:
                self.start()
            time.sleep(0.2)

    def said(self) -> str:
        """What it said since it was started last."""
        with self.log.open("rb") as log:
            log.seek(self._said_before)
            return log.read().decode(errors="replace")

    @property
    def is_running(self) -> bool:
        return self._run is not None and self._run.poll() is None

    @property
    def pid(self) -> int:
        assert self._run is not None
        return self._run.pid

    def parts(self) -> dict[int, Part]:
        """Its processes by number."""
        return parts_below(self.pid, processes_now())

    def processes(self) -> list[int]:
        """All of them, whatever they are, the supervisor first."""
        return tree_of(self.pid, processes_now())

    def kill_supervisor(self) -> None:
        """As the kernel kills it for want of memory; its children are told."""
        assert self._run is not None
        self._run.kill()
        self._run.wait()

    def kill_all(self) -> None:
        """Everything at once, as nothing runs without power."""
        assert self._run is not None
        with suppress(ProcessLookupError):
            # So that it starts nobody again meanwhile.
            os.kill(self.pid, signal.SIGSTOP)
        for pid in reversed([*self.processes(), *self._strangers(processes_now())]):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._run.wait()
        deadline = time.monotonic() + 10
        while self._strangers(processes_now()) and time.monotonic() < deadline:
            time.sleep(0.02)

    def stop(self) -> None:
        """As Ctrl-C does."""
        if self._run is None or self._run.poll() is not None:
            return
        self._run.send_signal(signal.SIGTERM)
        try:
            self._run.wait(90)
        except subprocess.TimeoutExpired:
            self.kill_all()

    def is_healthy(self) -> bool:
        """Whether /health passes."""
        connection = http.client.HTTPConnection(PROBE, PORT, timeout=2)
        try:
            connection.request("GET", "/health", headers={"Host": "localhost"})
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def is_judged_since(self, moment: datetime, *, resources: int) -> bool:
        """Whether so many resources have a state of a window with samples that ended after it."""
        count = "SELECT count(*) FROM advisor_resourcestatus WHERE last_window_at > %s"
        try:
            return bool(self.ask(count, (moment,))[0][0] >= resources)
        except psycopg.Error:
            return False

    def stored(self, hosts: Sequence[str], *, since_s: float) -> list[Stored]:
        """The rows of these hosts from that time on, as one moment saw them."""
        found = self.ask(STORED, {"hosts": list(hosts), "since_s": since_s})
        return [
            Stored(host=host, at_ms=at_ms, table=table, number=int(number))
            for host, at_ms, table, number in found
        ]

    def ask(
        self, query: str, values: Sequence[object] | Mapping[str, object] = ()
    ) -> list[tuple[Any, ...]]:
        """The rows of a question to the database, past all of the product."""
        place = f"host={self.data.sockets} user=sluice dbname=sluice connect_timeout=2"
        with psycopg.connect(place, autocommit=True) as connection:
            connection.execute("SET statement_timeout = '60s'")
            rows = connection.execute(query.encode(), values)
            return rows.fetchall() if rows.description else []

    def _strangers(self, processes: Sequence[Process]) -> list[int]:
        """Processes of it, whoever their parent is: by their command line or their folder."""
        mark = re.compile(rf"{re.escape(str(self.data.root))}\b")
        found = []
        for one in processes:
            with suppress(OSError):
                place = str(Path(f"/proc/{one.pid}/cwd").readlink())
                if one.pid != os.getpid() and (mark.search(one.command) or mark.match(place)):
                    found.append(one.pid)
        return found
