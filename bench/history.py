"""What the stored history costs: bytes, sealing, reading; beside rows and beside TimescaleDB.

    python -m bench.history [--workloads N] [--hours N] [--database plain|timescale] [--json FILE]

One private server holds samples of made-up workloads, each with a cgroup, its pressure and an
interface. The limit of reading is a bare scan: one statement that sums the same rows and gives
back a single one. With `--database timescale` the same rows are then compressed by TimescaleDB,
where its edition can, and rolled up by a continuous aggregate.
"""

from __future__ import annotations

import argparse
import json
import resource as usage
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError

from bench.history_data import PER_RESOURCE, MadeFleet, fill, make_fleet
from bench.private_server import private_server

if TYPE_CHECKING:
    from ingest.grid_reader import Subject

HOUR = timedelta(hours=1)
REPEATS = 5
FLEET_OF_ISSUE = 300
"""Workloads, each with storage and network, of which the size after 30 days is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was asked and what was measured; None where it was not."""

    what: str
    unit: str
    asked: float | None
    measured: float | None
    holds: bool
    note: str = ""


def row(what: str, unit: str, measured: float | None, *, asked: float | None = None) -> Row:
    """`asked` is the most that is allowed; without it the row only tells."""
    holds = measured is not None and (asked is None or measured <= asked)
    rounded = None if measured is None else round(measured, 3)
    return Row(what=what, unit=unit, asked=asked, measured=rounded, holds=holds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workloads", type=int, default=200)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--database", choices=["plain", "timescale"], default="plain")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    if asked.workloads < PER_RESOURCE:
        parser.error(f"a datastore of {PER_RESOURCE} workloads is read, so make that many")
    timescale = asked.database == "timescale"
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir="/tmp") as folder:
        # The server may run as another user.
        Path(folder).chmod(0o711)
        with private_server(Path(folder), timescaledb=timescale):
            rows = measure(asked.workloads, asked.hours, timescale=timescale)
    if asked.json:
        asked.json.write_text(json.dumps([asdict(one) for one in rows], indent=1))
    sys.exit(0 if all(one.holds for one in rows) else 1)


def measure(workloads: int, hours: int, *, timescale: bool) -> list[Row]:
    """All rows, each printed when it is known."""
    since = _midnight_two_days_ago()
    fleet = make_fleet(workloads)
    fill(fleet, since=since, hours=hours)
    _execute("VACUUM ANALYZE")
    sizes = _Sizes(workloads * hours / 24)
    print(f"{workloads} workloads, {hours} h of samples at 10 s", flush=True)
    rows: list[Row] = []

    def tell(*found: Row) -> None:
        for one in found:
            rows.append(one)
            value = "not measured" if one.measured is None else f"{one.measured:,.3f}"
            limit = "" if one.asked is None else f" (at most {one.asked:g})"
            print(f"  {one.what:<62}{value:>12} {one.unit}{limit} {one.note}", flush=True)

    samples_kb = sizes.of("ingest_%_sample%")
    tell(row("samples as rows, a workload-day", "kB", samples_kb))
    tell(*sealing(fleet, since, workloads, hours))
    exact_kb, quarter_kb = sizes.of("advisor_history_chunk%"), sizes.of("advisor_history_quarter%")
    day_kb = sizes.of("advisor_history_day%")
    tell(
        # 15.6 kB a counter and day, as measured for the reference; there are 14 counters.
        row("exact 10 s values, a workload-day of 14 counters", "kB", exact_kb, asked=218),
        row("15 min rows, a workload-day", "kB", quarter_kb),
        row("day rows, a workload-day", "kB", day_kb),
        row(
            "300 workloads after 30 days, rows of 12 h and indexes included", "GB",
            FLEET_OF_ISSUE * (30 * (exact_kb + quarter_kb + day_kb) + samples_kb / 2) / 1e6,
            asked=3.0,
        ),
    )  # fmt: skip
    tell(*reading(fleet, since, hours))
    if timescale:
        tell(*timescaledb(fleet, since, hours, sizes))
    return rows


def sealing(fleet: MadeFleet, since: datetime, workloads: int, hours: int) -> list[Row]:
    """Seal every hour, one of them again, and make the day."""
    from advisor.history.stored.days import make_days
    from advisor.history.stored.seal import seal
    from ingest.models import Host, OpenHour

    organisation, now = fleet.organisation, since + timedelta(days=2)
    wall, cpu = _timed(lambda: seal(organisation=organisation, now=now, limit_s=3600.0))
    OpenHour.objects.bulk_create(
        OpenHour(host=host, at=since + 5 * HOUR)
        for host in Host.objects.order_by("pk")[: PER_RESOURCE // 20]
    )
    late, _ = _timed(lambda: seal(organisation=organisation, now=now, limit_s=3600.0))
    day, day_cpu = _timed(lambda: make_days(organisation=organisation, now=now, limit_s=3600.0))
    per_hour = 1000 / workloads / hours
    return [
        row("seal an hour, a workload: wall", "ms", per_hour * wall),
        # 2,000 workloads in an hour on 1 % of a core: 36 s / 2,000.
        row("seal an hour, a workload: CPU with database", "ms", per_hour * cpu, asked=18),
        row("seal an hour of 100 workloads again: wall", "ms", 1000 * late),
        row("make the day, a workload: wall", "ms", 1000 * day / workloads),
        row("make the day, a workload: CPU", "ms", 1000 * day_cpu / workloads),
    ]


def reading(fleet: MadeFleet, since: datetime, hours: int) -> list[Row]:
    """All hours of a datastore's 100 workloads at 10 s, 4 counters; the ways take turns."""
    from advisor.history.stored.read import read_sealed
    from ingest.core.figures import CGROUP_IO
    from ingest.core.grid import grid_of

    subjects = _subjects(fleet)
    grid = grid_of(since, since + hours * HOUR, 10.0)
    ways: dict[str, Callable[[], object]] = {
        "scan": lambda: scan(fleet, since, hours),
        "rows": lambda: from_rows(fleet, since, hours),
        "chunks": lambda: read_sealed(fleet.organisation.pk, CGROUP_IO, subjects, grid),
    }
    best = _in_turns(ways)
    return [
        row(f"bare scan of {hours} h of 100 workloads: CPU", "ms", 1000 * best["scan"]),
        row("growth from rows, CPU beside the scan", "x", best["rows"] / best["scan"]),
        row(
            "growth from chunks, CPU beside the scan",
            "x",
            best["chunks"] / best["scan"],
            asked=1.0,
        ),
    ]


def from_rows(fleet: MadeFleet, since: datetime, hours: int) -> object:
    """Growth of the same workloads from the sample table."""
    from ingest.core.figures import CGROUP_IO
    from ingest.core.grid import grid_of
    from ingest.grid_reader import read_growth

    return read_growth(CGROUP_IO, _subjects(fleet), grid_of(since, since + hours * HOUR, 10.0))


def scan(fleet: MadeFleet, since: datetime, hours: int) -> object:
    """One statement that reads the same rows and gives back their sums."""
    return _execute(
        "SELECT count(*), sum(rios), sum(wios), sum(rbytes), sum(wbytes)"
        " FROM ingest_cgroup_sample WHERE series_id = ANY(%s) AND time > %s AND time <= %s",
        [
            list(fleet.series["ingest_cgroup_sample"][:PER_RESOURCE]),
            since,
            since + hours * HOUR,
        ],
    )


def timescaledb(fleet: MadeFleet, since: datetime, hours: int, sizes: _Sizes) -> list[Row]:
    """The same rows compressed by TimescaleDB, segmented by series, and rolled up by it."""
    from django.db import DatabaseError

    plain = _in_turns({"scan": lambda: scan(fleet, since, hours)})["scan"]
    edition, version = _execute(
        "SELECT current_setting('timescaledb.license'), extversion"
        " FROM pg_extension WHERE extname = 'timescaledb'"
    )[0]
    print(f"  TimescaleDB {version}, license {edition}", flush=True)
    names = ["TimescaleDB: compressed samples, a workload-day", "TimescaleDB: compress an hour"]
    try:
        wall, _ = _timed(lambda: _compress(fleet))
    except DatabaseError as error:
        reason = str(error).splitlines()[0]
        return [
            Row(what=name, unit="", asked=None, measured=None, holds=False, note=reason)
            for name in names
        ]
    workloads = len(fleet.series["ingest_cgroup_sample"])
    compressed_kb = sizes.of_hypertables()
    best = _in_turns(
        {"scan": lambda: scan(fleet, since, hours), "rows": lambda: from_rows(fleet, since, hours)}
    )
    aggregate_wall, _ = _timed(_aggregate)
    return [
        row(names[0], "kB", compressed_kb),
        row(f"{names[1]}, a workload: wall", "ms", 1000 * wall / workloads / hours),
        row("TimescaleDB: scan of compressed rows, CPU beside scan", "x", best["scan"] / plain),
        row("TimescaleDB: growth from compressed rows, beside scan", "x", best["rows"] / plain),
        row(
            "TimescaleDB: continuous aggregate of 15 min of one table, a workload-day", "kB",
            sizes.of_aggregate(),
        ),
        row("TimescaleDB: making it, a workload: wall", "ms", 1000 * aggregate_wall / workloads),
    ]  # fmt: skip


class _Sizes:
    """Bytes on disk with indexes and TOAST, by day of a workload."""

    def __init__(self, workload_days: float) -> None:
        self._days = workload_days

    def of(self, pattern: str) -> float:
        """kB of all tables whose name is like this; those of hypertables are their chunks."""
        hyper = self.of_hypertables() if pattern.startswith("ingest_") else 0.0
        ((size,),) = _execute(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class"
            " WHERE relkind = 'r' AND relname LIKE %s",
            [pattern],
        )
        return float(size) / self._days / 1e3 + hyper

    def of_hypertables(self) -> float:
        try:
            ((size,),) = _execute(
                "SELECT sum(hypertable_size(format('%I', hypertable_name)::regclass))"
                " FROM timescaledb_information.hypertables WHERE hypertable_name LIKE 'ingest_%'"
            )
        except DatabaseError:  # There is no TimescaleDB.
            return 0.0
        return float(size or 0) / self._days / 1e3

    def of_aggregate(self) -> float:
        ((size,),) = _execute(
            "SELECT hypertable_size(format('%I.%I', materialization_hypertable_schema,"
            " materialization_hypertable_name)::regclass)"
            " FROM timescaledb_information.continuous_aggregates"
        )
        return float(size) / self._days / 1e3


def _compress(fleet: MadeFleet) -> None:
    for table in fleet.series:
        _execute(
            f"ALTER TABLE {table} SET (timescaledb.compress,"
            " timescaledb.compress_segmentby = 'series_id', timescaledb.compress_orderby = 'time')"
        )
        _execute(f"SELECT compress_chunk(chunk) FROM show_chunks('{table}') AS chunk")
    _execute("VACUUM ANALYZE")


def _aggregate() -> None:
    """Growth of counters cannot be rolled up as such: first and last of each quarter are kept."""
    _execute(
        "CREATE MATERIALIZED VIEW bench_15min WITH (timescaledb.continuous) AS"
        " SELECT series_id, time_bucket('15 minutes', time) AS at,"
        " first(rios, time), last(rios, time) AS rios_last,"
        " first(wios, time) AS wios_first, last(wios, time) AS wios_last,"
        " first(rbytes, time) AS rbytes_first, last(rbytes, time) AS rbytes_last,"
        " first(wbytes, time) AS wbytes_first, last(wbytes, time) AS wbytes_last"
        " FROM ingest_cgroup_sample GROUP BY 1, 2 WITH NO DATA"
    )
    _execute("CALL refresh_continuous_aggregate('bench_15min', NULL, NULL)")


def _subjects(fleet: MadeFleet) -> list[Subject]:
    from ingest.grid_reader import Subject
    from ingest.models import Series

    own = fleet.series["ingest_cgroup_sample"][:PER_RESOURCE]
    rows = Series.objects.filter(pk__in=own).values_list("host_id", "subject", "tags__device")
    return [Subject(host=host, name=name, device=device) for host, name, device in rows]


def _in_turns(ways: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The least seconds of CPU of each, of Python and database.

    They take turns, the first of which does not count. CPU and not wall, because a machine that
    does other work too makes the one with more of it look worse.
    """
    # A helper's CPU would not be seen.
    _execute("SET max_parallel_workers_per_gather = 0")
    best = dict.fromkeys(ways, float("inf"))
    for turn in range(REPEATS + 1):
        for name, way in ways.items():
            _, cpu = _timed(way)
            if turn:
                best[name] = min(best[name], cpu)
    return best


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of wall, and of CPU of this process and its backend of the database."""
    backend = Path(f"/proc/{_execute('SELECT pg_backend_pid()')[0][0]}/schedstat")

    def cpu() -> float:
        own = usage.getrusage(usage.RUSAGE_SELF)
        theirs = int(backend.read_text().split()[0]) / 1e9 if backend.exists() else 0.0
        return own.ru_utime + own.ru_stime + theirs

    begin_cpu, begin = cpu(), time.perf_counter()
    work()
    return time.perf_counter() - begin, cpu() - begin_cpu


def _execute(statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(statement, parameters or None)
        return cursor.fetchall() if cursor.description else []


def _midnight_two_days_ago() -> datetime:
    now = datetime.now(UTC)
    return now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=2)


if __name__ == "__main__":
    main()
