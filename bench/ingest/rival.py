"""The rival: `psql \\copy` of the same rows, binary, one commit per body, into like tables.

The tables have the columns, key, indexes and partitions of the product's. It knows no series,
checks nothing, and cannot be repeated.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from bench.ingest.bodies import BodyRows
from ingest.core.catalogue import MEASUREMENTS, Measurement

PREFIX = "copied_"


def copied(measurement: Measurement) -> str:
    """The rival's table."""
    return f"{PREFIX}{measurement.name}"


def copied_tables(now: datetime, *, timescaledb: bool) -> list[str]:
    """The statements that make them."""
    return [
        statement
        for measurement in MEASUREMENTS
        for statement in _table(measurement, now, timescaledb=timescaledb)
    ]


def _table(measurement: Measurement, now: datetime, *, timescaledb: bool) -> list[str]:
    name = copied(measurement)
    create = f"CREATE TABLE {name} (LIKE {measurement.table} INCLUDING ALL)"
    if timescaledb:
        return [
            create,
            (
                f"SELECT create_hypertable('{name}', by_range('time', INTERVAL '1 day'),"
                " create_default_indexes => false)"
            ),
        ]
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    parts = [midnight + timedelta(hours=6 * number) for number in range(-8, 9)]
    return [
        f"{create} PARTITION BY RANGE (time)",
        *(
            f"CREATE TABLE {name}_{begin:%Y%m%d_%H} PARTITION OF {name} FOR VALUES"
            f" FROM ('{begin.isoformat()}') TO ('{(begin + timedelta(hours=6)).isoformat()}')"
            for begin in parts
        ),
    ]


def write_scripts(shares: Sequence[Iterable[BodyRows]], folder: Path) -> list[Path]:
    """For each connection the commands that copy its bodies."""
    scripts = []
    for place, bodies in enumerate(shares):
        commands = []
        for number, body in enumerate(bodies):
            commands.append("BEGIN;")
            for measurement, rows in body.copies:
                path = folder / f"{place}-{number}-{measurement.name}"
                path.write_bytes(rows)
                path.chmod(0o644)
                commands.append(rf"\copy {copied(measurement)} FROM '{path}' (FORMAT binary)")
            commands.append("COMMIT;")
        script = folder / f"{place}.sql"
        script.write_text("\n".join(commands) + "\n")
        script.chmod(0o644)
        scripts.append(script)
    return scripts


def run_scripts(psql: Sequence[str], scripts: Sequence[Path]) -> None:
    """All at once, one connection each."""
    running = [subprocess.Popen([*psql, "-f", str(script)]) for script in scripts]
    if any(process.wait() for process in running):
        raise RuntimeError("the rival could not copy")
