"""How fast samples go in, beside `psql \\copy` of the same rows.

Run `python -m bench.ingest`. Ours is a whole request as Telegraf sends it: gzip, token, parsing,
one durable commit per body, idempotent on series and time. The floor is what PostgreSQL does with
ready-made CSV in one transaction: `\\copy` into a table of the same shape, key and indexes, which
knows no series, checks nothing and cannot be repeated. Both use one client and the same private
server.
"""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from bench.private_server import private_server

HOSTS, DEVICES = 20, 10
LINES_PER_BODY = 5_000
REPEATS = 3
TABLE = "ingest_diskio_sample"
COUNTERS = (
    "reads", "writes", "read_bytes", "write_bytes",
    "read_time", "write_time", "io_time", "weighted_io_time",
)  # fmt: skip


def main() -> None:
    """Print one line per kind of table: rows per second of both, and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--timescaledb", action="store_true", help="hypertables, where installed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir="/tmp") as folder:
        Path(folder).chmod(0o711)
        with private_server(Path(folder), timescaledb=options.timescaledb) as psql:
            run(psql, Path(folder), rows=options.rows, timescaledb=options.timescaledb)


def run(psql: list[str], folder: Path, *, rows: int, timescaledb: bool) -> None:
    """Take turns, so that both meet the same minute of this machine; the best of each counts."""
    from ingest.models import DiskioSample

    now = datetime.now(UTC)
    values = list(made_rows(rows, now))
    bodies = list(packed_bodies(values))
    csv = folder / "rows.csv"
    csv.write_text("".join(csv_line(row) for row in values))
    csv.chmod(0o644)
    for statement in copy_table(now, timescaledb=timescaledb):
        subprocess.run([*psql, "-t", "-o", os.devnull, "-c", statement], check=True)
    ours, floor = [], []
    for _ in range(REPEATS):
        empty(psql)
        floor.append(seconds_of_copy(psql, csv))
        ours.append(seconds_of_writes(bodies))
        stored = DiskioSample.objects.count()
        if stored != rows:
            sys.exit(f"{stored} of {rows} rows are stored")
    kind = "hypertable" if timescaledb else "partitions"
    ours_rate, floor_rate = rows / min(ours), rows / min(floor)
    print("tables           rows   ours rows/s   copy rows/s   ours/copy")
    print(
        f"{kind:<12}{rows:>9,}{ours_rate:>14,.0f}{floor_rate:>14,.0f}"
        f"{ours_rate / floor_rate:>12.2f}"
    )


Row = tuple[int, int, datetime, tuple[int, ...]]


def made_rows(count: int, now: datetime) -> Iterator[Row]:
    """Host, device, time and counters, in the order in which hosts would send them."""
    random = Random(1)
    for number in range(count):
        moment, place = divmod(number, HOSTS * DEVICES)
        host, device = divmod(place, DEVICES)
        counters = tuple(random.randrange(10**10) for _ in COUNTERS)
        yield host, device, now - timedelta(seconds=10 * moment), counters


def packed_bodies(rows: list[Row]) -> Iterator[bytes]:
    """Line protocol as Telegraf writes it: fields in any order, nanoseconds, gzip."""
    random = Random(2)
    for start in range(0, len(rows), LINES_PER_BODY):
        lines = []
        for host, device, at, counters in rows[start : start + LINES_PER_BODY]:
            fields = [f"{name}={value}i" for name, value in zip(COUNTERS, counters, strict=True)]
            random.shuffle(fields)
            time_ns = int(at.timestamp() * 1e6) * 1000
            lines.append(f"diskio,host=h{host},name=sd{device} {','.join(fields)} {time_ns}")
        yield gzip.compress("\n".join(lines).encode(), 6)


def csv_line(row: Row) -> str:
    host, device, at, counters = row
    return f"{host * DEVICES + device},{at.isoformat()},{','.join(map(str, counters))}\n"


def copy_table(now: datetime, *, timescaledb: bool) -> list[str]:
    """Statements for a table with the columns, key and indexes of the product's, of its kind."""
    create = f"CREATE TABLE copied (LIKE {TABLE} INCLUDING INDEXES)"
    if timescaledb:
        hypertable = (
            "SELECT create_hypertable('copied', by_range('time', INTERVAL '1 day'),"
            " create_default_indexes => false)"
        )
        return [create, hypertable]
    statements = [f"{create} PARTITION BY RANGE (time)"]
    for back in range(-1, 4):
        day = (now - timedelta(days=back)).date()
        statements.append(
            f"CREATE TABLE copied_{day:%Y%m%d} PARTITION OF copied"
            f" FOR VALUES FROM ('{day}T00:00Z') TO ('{day + timedelta(days=1)}T00:00Z')"
        )
    return statements


def empty(psql: list[str]) -> None:
    for statement in (f"TRUNCATE {TABLE}", "TRUNCATE copied", "CHECKPOINT"):
        subprocess.run([*psql, "-c", statement], check=True)


def seconds_of_copy(psql: list[str], csv: Path) -> float:
    columns = ", ".join(("series_id", "time", *COUNTERS))
    begin = time.perf_counter()
    subprocess.run(
        [*psql, "-c", rf"\copy copied ({columns}) FROM '{csv}' (FORMAT csv)"], check=True
    )
    return time.perf_counter() - begin


def seconds_of_writes(bodies: list[bytes]) -> float:
    """Every body through the view, as the web server would call it."""
    from django.test import RequestFactory

    from accounts.models import Organisation, Scope, Token
    from ingest.views import write

    organisation, _ = Organisation.objects.get_or_create(slug="bench", name="Bench")
    _, secret = Token.objects.issue(organisation=organisation, scope=Scope.INGEST, name="bench")
    headers = {"Authorization": f"Token {secret}", "Content-Encoding": "gzip"}
    requests = [
        RequestFactory().post("/api/v2/write", body, content_type="text/plain", headers=headers)
        for body in bodies
    ]
    begin = time.perf_counter()
    for request in requests:
        answer = write(request)
        if answer.status_code != 204:
            sys.exit(f"{answer.status_code}: {answer.content.decode()}")
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
