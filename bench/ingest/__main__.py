"""`python -m bench.ingest`: how fast samples go in, beside `\\copy` of the same rows.

Ours is the product's web server and its database, reached through a socket: packed bodies in
chunks, a token, lines of all kinds that hosts send, a durable commit before each answer. The rival
is `psql \\copy` of the same rows, binary, with a commit per body, into tables of the same shape,
keys, indexes and partitions. Both take turns on one private server, and have the same rows
afterwards. The client shares the machine; CPU is that of the web server and the database.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bench.fleet.rows import Row, as_json, as_table, at_most
from bench.ingest.cpu import cpu_s
from bench.ingest.sender import Load, Sent, send
from bench.private_server import private_server

if TYPE_CHECKING:
    from bench.ingest.bodies import BodyRows, Fleet

ROUNDS = 3
PARTS = ("large", "pair", "spread", "hosts")
PORT = 8462
LARGE_BODIES = 20
SMALL_HOSTS = 400
SHARE_OF_RATE = 0.8
AHEAD_MS = 120_000
"""Times begin so far in the future, because samples that come late cost more than others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of ours and of the rival's with the same rows; seconds."""

    rows: int
    bodies: int
    ours: Sent
    ours_cpu_s: float
    copy_s: float
    copy_cpu_s: float

    @property
    def ratio(self) -> float:
        return self.copy_s / self.ours.elapsed_s


def main() -> None:
    """Print the table; status 0 whatever holds."""
    parser = argparse.ArgumentParser(prog="python -m bench.ingest", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--timescaledb", action="store_true", help="hypertables, where installed")
    parser.add_argument("--bodies", type=int, default=6_000, help="of 40 lines, in one turn")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART",
                        help=f"what is measured, of {', '.join(PARTS)}")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--present", type=int, default=0, metavar="MILLIONS", help="of rows that are there before"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        with private_server(Path(folder), timescaledb=options.timescaledb) as psql:
            rows = measured_rows(psql, Path(folder), options)
    print(f"load {os.getloadavg()[0]:.1f} at the end\n\n{as_table(rows)}")
    if options.json:
        options.json.write_text(json.dumps(as_json(rows), indent=1) + "\n")


def measured_rows(psql: list[str], folder: Path, options: argparse.Namespace) -> list[Row]:
    from bench.ingest.rival import copied_tables

    for statement in copied_tables(datetime.now(UTC), timescaledb=options.timescaledb):
        subprocess.run([*psql, "-t", "-o", os.devnull, "-c", statement], check=True)
    if options.present:
        from bench.ingest.present import add_rows

        add_rows(psql, options.present)
    with web_server() as web:
        bench = Bench(psql, folder, web)
        rounds = options.rounds
        parts = {
            "large": lambda: large_rows(bench, hosts=12, connections=1, least=0.6, rounds=rounds),
            "pair": lambda: large_rows(bench, hosts=12, connections=2, least=0.45, rounds=rounds),
            "spread": lambda: large_rows(
                bench, hosts=125, connections=1, least=0.4, rounds=rounds
            ),
            "hosts": lambda: small_rows(bench, bodies=options.bodies),
        }
        rows = []
        for part in options.parts:
            for row in parts[part]():
                print(f"{row.what}: {row.measured:.2f} {row.unit}", flush=True)
                rows.append(row)
        return rows


class Bench:
    """The two that take turns."""

    def __init__(self, psql: list[str], folder: Path, web: int) -> None:
        from django.db import connection

        from accounts.models import Organisation, Scope, Token
        from bench.ingest.bodies import Fleet

        self.psql, self.folder, self.web = psql, folder, web
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            backend = cursor.fetchone()[0]
        fields = Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()
        self.database = int(fields[1])
        organisation = Organisation.objects.create(slug="bench", name="Bench")
        _, self.secret = Token.objects.issue(
            organisation=organisation, scope=Scope.INGEST, name="bench"
        )
        self.fleet: Fleet = Fleet(seed=1)
        self.at_ms = 0

    def moments(self, hosts: range, count: int, *, step_ms: int) -> list[tuple[int, int]]:
        """So many pairs of host and time: all hosts in turn, always later than before."""
        self.at_ms = max(self.at_ms, round(time.time() * 1000) + AHEAD_MS) + step_ms
        found = [
            (host, self.at_ms + turn * step_ms)
            for turn in range(-(-count // len(hosts)))
            for host in hosts
        ]
        self.at_ms = found[-1][1]
        return found[:count]

    def turn(self, shares: Sequence[Sequence[BodyRows]], *, copies: bool = True) -> Turn:
        """Send and copy the bodies of each connection."""
        copy_s = copy_cpu_s = 0.0
        if copies:
            copy_s, copy_cpu_s = self._copy(shares)
        bodies = [body for share in shares for body in share]
        ours, ours_cpu_s = self.send(shares)
        return Turn(
            rows=sum(body.row_count for body in bodies),
            bodies=len(bodies),
            ours=ours,
            ours_cpu_s=ours_cpu_s,
            copy_s=copy_s,
            copy_cpu_s=copy_cpu_s,
        )

    def send(
        self,
        shares: Sequence[Sequence[BodyRows]],
        *,
        rate: float | None = None,
        reconnects: bool = False,
    ) -> tuple[Sent, float]:
        """The answers, and the CPU of web server and database."""
        from bench.ingest.bodies import request

        requests = [[request(body.lines, secret=self.secret) for body in one] for one in shares]
        load = Load(port=PORT, requests=requests, rate=rate, reconnects=reconnects)
        self._rest()
        before = cpu_s([self.web, self.database])
        sent = send(load, self.folder)
        return sent, cpu_s([self.web, self.database]) - before

    def _copy(self, shares: Sequence[Sequence[BodyRows]]) -> tuple[float, float]:
        from bench.ingest.rival import run_scripts, write_scripts

        with tempfile.TemporaryDirectory(dir=self.folder) as scripts_folder:
            Path(scripts_folder).chmod(0o755)
            scripts = write_scripts(shares, Path(scripts_folder))
            self._rest()
            before, begin = cpu_s([self.database]), time.perf_counter()
            run_scripts(self.psql, scripts)
            return time.perf_counter() - begin, cpu_s([self.database]) - before

    def _rest(self) -> None:
        """What was written before costs the next one nothing."""
        subprocess.run([*self.psql, "-c", "CHECKPOINT"], check=True)
        time.sleep(1.5)

    def clear(self) -> None:
        """Remove all rows of both."""
        from bench.ingest.rival import copied
        from ingest.core.catalogue import MEASUREMENTS

        for measurement in MEASUREMENTS:
            tables = f"{measurement.table}, {copied(measurement)}"
            subprocess.run([*self.psql, "-c", f"TRUNCATE {tables}"], check=True)

    def check(self) -> None:
        """Both have the same rows; exit if not."""
        from django.db import connection

        from bench.ingest.rival import copied
        from ingest.core.catalogue import MEASUREMENTS

        with connection.cursor() as cursor:
            for measurement in MEASUREMENTS:
                sums = ", ".join(f'sum("{column.name}")' for column in measurement.fields)
                found = []
                for table in (measurement.table, copied(measurement)):
                    cursor.execute(f"SELECT count(*), {sums} FROM {table} WHERE series_id > 0")
                    found.append(cursor.fetchone())
                if found[0] != found[1]:
                    raise SystemExit(f"{measurement.name}: {found[0]} and {found[1]} differ")


def large_rows(
    bench: Bench, *, hosts: int, connections: int, least: float, rounds: int
) -> Iterator[Row]:
    """Bodies of 5,000 lines."""
    from bench.ingest.bodies import HOSTS_OF_A_LARGE, LARGE_LINES

    turns = []
    for number in range(rounds + 1):
        shares = []
        for place in range(connections):
            first = 1000 * hosts + 100 * place
            count = LARGE_BODIES // connections * HOSTS_OF_A_LARGE
            moments = bench.moments(range(first, first + hosts), count, step_ms=100)
            parts = [
                moments[at : at + HOSTS_OF_A_LARGE] for at in range(0, count, HOSTS_OF_A_LARGE)
            ]
            shares.append(list(bench.fleet.bodies(parts)))
        turn = bench.turn(shares)
        # In the first one all series are new.
        if number:
            turns.append(turn)
    bench.check()
    what = f"{LARGE_LINES} lines of {hosts * 42} series, {connections} connection"
    what += "s" if connections > 1 else ""
    ratio = statistics.median(turn.ratio for turn in turns)
    rows = sum(turn.rows for turn in turns)
    spread = ", ".join(f"{turn.ratio:.2f}" for turn in turns)
    ours_s = sum(turn.ours.elapsed_s for turn in turns)
    copy_s = sum(turn.copy_s for turn in turns)
    yield Row(
        what=f"{what}: rate beside copy",
        unit="ratio",
        asked=f">= {least:g}",
        measured=ratio,
        holds=ratio >= least,
        note=f"each turn {spread}; {rows / ours_s:,.0f} and {rows / copy_s:,.0f} rows/s",
    )
    yield told(f"{what}: CPU", "us/row", sum(turn.ours_cpu_s for turn in turns) / rows * 1e6)
    yield told(
        f"{what}: CPU of copy", "us/row", sum(turn.copy_cpu_s for turn in turns) / rows * 1e6
    )


def small_rows(bench: Bench, *, bodies: int) -> Iterator[Row]:
    """Bodies of one host."""

    def shares(connections: int, count: int) -> list[list[BodyRows]]:
        moments = bench.moments(range(90_000, 90_000 + SMALL_HOSTS), count, step_ms=1000)
        made = list(bench.fleet.bodies([[one] for one in moments]))
        return [made[place::connections] for place in range(connections)]

    bench.turn(shares(16, SMALL_HOSTS * 4))
    for connections in (1, 2):
        turn = bench.turn(shares(connections, bodies // 4))
        yield told(
            f"host bodies, {connections} connections",
            "bodies/s",
            turn.bodies / turn.ours.elapsed_s,
        )
    turn = bench.turn(shares(16, bodies))
    bench.check()
    rate = turn.bodies / turn.ours.elapsed_s
    yield Row(
        what="host bodies, 16 connections",
        unit="bodies/s",
        asked=">= 1200",
        measured=rate,
        holds=rate >= 1200,
        note=f"copy {turn.bodies / turn.copy_s:,.0f}, with {turn.copy_cpu_s / turn.rows * 1e6:.1f}"
        " us of CPU a row",
    )
    each_ms = turn.ours_cpu_s / turn.bodies * 1000
    note = f"{turn.ours_cpu_s / turn.rows * 1e6:.1f} us a row"
    yield at_most("host bodies, CPU", "ms/body", 0.8, each_ms, note)
    sent, _ = bench.send(shares(16, bodies), rate=SHARE_OF_RATE * rate)
    yield at_most(
        f"host bodies, p99 at {SHARE_OF_RATE:.0%} of that",
        "ms",
        100,
        sent.quantile_s(0.99) * 1000,
        f"median {sent.quantile_s(0.5) * 1000:.1f}",
    )
    again, cpu = bench.send(shares(16, bodies // 2), reconnects=True)
    yield told(
        "host bodies, a connection for each", "bodies/s", len(again.latencies_s) / again.elapsed_s,
        f"{cpu / len(again.latencies_s) * 1000:.2f} ms of CPU a body",
    )  # fmt: skip
    # The last two were not copied.
    bench.clear()


def told(what: str, unit: str, measured: float, note: str = "") -> Row:
    """What nothing is asked of."""
    return Row(what=what, unit=unit, asked="", measured=measured, holds=True, note=note)


@contextmanager
def web_server() -> Iterator[int]:
    """The product's own; its process."""
    from appliance.embedded.child import Child
    from appliance.embedded.children import web
    from config.paths import data_dir

    hosts = "127.0.0.1,localhost"
    server = Child(web(data_dir(), host="127.0.0.1", port=PORT, allowed_hosts=hosts))
    try:
        server.wait_until_ready()
        yield server.process.pid
    finally:
        server.stop()


if __name__ == "__main__":
    main()
