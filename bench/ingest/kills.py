"""`python -m bench.ingest.kills`: processes of the write path are killed, and no sample is lost.

Senders write all the time, and send again what was not answered, as Telegraf does. Meanwhile the
web server, one of its workers, a backend of the database or the whole database is killed and
starts again. In the end every sample that was answered 204 is stored as it was sent, and every
hour of it is on the list of what has to be sealed. Status 1 if not.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Thread

from bench.fleet.rows import as_json, as_table, at_most
from bench.private_server import private_server

PORT = 8463
SENDERS = 8
TARGETS = ("web server", "worker", "backend", "database")
PAUSE_S = (0.2, 1.5)
READY_WITHIN_S = 120.0


@dataclass(slots=True)
class Sender:
    """Sends a sample after another of a host of its own, each until it is answered."""

    number: int
    secret: str
    answered: list[tuple[int, int]] = field(default_factory=list)
    repeated: int = 0

    def run(self, ended: Event) -> None:
        random = Random(self.number)
        at_s = int(time.time()) - 6 * 3600
        while not ended.is_set():
            # Now and then a late one, and the hour moves on.
            at_s += random.choice((1, 10, 10, 10, 300))
            value = random.randrange(10**12)
            body = f"diskio,host=k{self.number},name=sda reads={value}i {at_s}000000000"
            while not self._is_stored(body):
                self.repeated += 1
                if ended.wait(0.05):
                    return
            self.answered.append((at_s, value))

    def _is_stored(self, body: str) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
        try:
            headers = {"Authorization": f"Token {self.secret}"}
            connection.request("POST", "/api/v2/write", body, headers)
            return connection.getresponse().status == http.client.NO_CONTENT
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ingest.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sluice-kills-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        with private_server(Path(folder), timescaledb=False):
            rows = [at_most(*run(options.kills, Random(options.seed)))]
    print(as_table(rows))
    if options.json:
        options.json.write_text(json.dumps(as_json(rows), indent=1) + "\n")
    raise SystemExit(not rows[0].holds)


def run(kills: int, random: Random) -> tuple[str, str, float, float, str]:
    """What was asked and measured: samples that are lost, and what was done."""
    from accounts.models import Organisation, Scope, Token

    organisation = Organisation.objects.create(slug="kills", name="Kills")
    _, secret = Token.objects.issue(organisation=organisation, scope=Scope.INGEST, name="kills")
    ended = Event()
    senders = [Sender(number, secret) for number in range(SENDERS)]
    killed: Counter[str] = Counter()
    with services() as kill_one:
        threads = [Thread(target=one.run, args=(ended,), daemon=True) for one in senders]
        for thread in threads:
            thread.start()
        for target in targets(kills, random):
            time.sleep(random.uniform(*PAUSE_S))
            kill_one(target, random)
            killed[target] += 1
        # After the last one all go on.
        time.sleep(2)
        ended.set()
        for thread in threads:
            thread.join(60)
        wait_for_database()
        missing = lost(senders)
    answered = sum(len(one.answered) for one in senders)
    note = (
        f"{answered} were answered, {sum(one.repeated for one in senders)} sent again; "
        + ", ".join(f"{name} {count}" for name, count in sorted(killed.items()))
    )
    return f"samples lost by {kills} kills", "samples", 0, missing, note


def targets(kills: int, random: Random) -> Iterator[str]:
    """What is killed: all kinds in turn, each round of them in another order."""
    for begin in range(0, kills, len(TARGETS)):
        yield from random.sample(TARGETS, min(len(TARGETS), kills - begin))


@contextmanager
def services() -> Iterator[Callable[[str, Random], None]]:
    """Web server and database, started again whenever one is gone; gives who kills one."""
    from appliance.embedded.child import Child
    from appliance.embedded.children import web
    from config.paths import data_dir

    spec = web(data_dir(), host="127.0.0.1", port=PORT, allowed_hosts="127.0.0.1,localhost")
    running = {"web": Child(spec)}
    running["web"].wait_until_ready()

    def kill_one(target: str, random: Random) -> None:
        wait_for_database()
        if target == "web server":
            os.killpg(running["web"].process.pid, signal.SIGKILL)
            running["web"].process.wait()
            running["web"] = Child(spec)
        elif target == "worker":
            kill(random, children_of(running["web"].process.pid))
        elif target == "backend":
            # The database ends all others and recovers.
            kill(random, backends())
        else:
            start_database_again()
        running["web"].wait_until_ready()

    try:
        yield kill_one
    finally:
        running["web"].stop()
        with suppress(ProcessLookupError, FileNotFoundError):
            # It may not be the one that was started first.
            os.kill(database_process(), signal.SIGINT)


def database_process() -> int:
    from config.paths import data_dir

    return int((data_dir().postgres / "postmaster.pid").read_text().split()[0])


def start_database_again() -> None:
    """Kill all of it at once, and start it from what it left."""
    from django.db import connection

    from config.paths import data_dir

    postmaster = database_process()
    command = Path(f"/proc/{postmaster}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    status = Path(f"/proc/{postmaster}/status").read_text()
    user, group = (int(line.split()[1]) for line in status.splitlines()
                   if line.startswith(("Uid:", "Gid:")))  # fmt: skip
    for pid in [postmaster, *children_of(postmaster)]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    connection.close()
    with suppress(ChildProcessError):
        os.waitpid(postmaster, 0)

    def start() -> None:
        # One that is too early finds the other's memory in use, and ends.
        with (data_dir().logs / "postgres.log").open("ab") as log:
            subprocess.Popen(
                command, user=user, group=group, cwd="/", start_new_session=True,
                stdout=log, stderr=log,
            )  # fmt: skip

    wait_for_database(start)


def wait_for_database(meanwhile: Callable[[], object] = lambda: None) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while not _answers():
        if time.monotonic() > deadline:
            raise SystemExit("the database did not start again")
        meanwhile()
        time.sleep(0.5)


def _answers() -> bool:
    from django.db import InterfaceError, OperationalError, connection

    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (InterfaceError, OperationalError):
        connection.close()
        return False
    return True


def backends() -> list[int]:
    """Those of the web server."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return [pid for (pid,) in cursor.fetchall()]


def children_of(parent: int) -> list[int]:
    task = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(pid) for pid in task.read_text().split()]


def kill(random: Random, processes: list[int]) -> None:
    if processes:
        with suppress(ProcessLookupError):
            os.kill(random.choice(processes), signal.SIGKILL)


def lost(senders: list[Sender]) -> int:
    """Answered samples that are not stored as sent, or whose hour would not be sealed."""
    from ingest.models import OpenHour

    missing = 0
    for sender in senders:
        host = f"k{sender.number}"
        stored = _stored(host)
        hours = {
            int(at.timestamp())
            for at in OpenHour.objects.filter(host__name=host).values_list("at", flat=True)
        }
        missing += sum(
            one not in stored or one[0] // 3600 * 3600 not in hours for one in sender.answered
        )
    return missing


def _stored(host: str) -> set[tuple[int, int]]:
    """Seconds since 1970 and value of the samples of a host."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM sample.time)::bigint, sample.reads"
            "  FROM ingest_diskio_sample AS sample"
            "  JOIN ingest_series AS series ON series.id = sample.series_id"
            "  JOIN ingest_host AS host ON host.id = series.host_id WHERE host.name = %s",
            [host],
        )
        return set(cursor.fetchall())


if __name__ == "__main__":
    main()
