"""`python -m bench.load`: 1,000 agents at their period and 10,000 series, on the whole product.

Each host sends ten series each 10 s, fetches its document each 10 s and reports each 30 s, signed
by its own key, as an agent does by default; each exchange on a connection of its own. The product
is `sluice run` in a folder of its own on this machine, which the senders share. Asked are: no
exchange is refused, lost or late by more than its period, evaluation within 15 s at p99, and
memory that does not go on growing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.fleet.cost import cpu_s_of_tree
from bench.fleet.rows import Row, as_json, as_table, at_most
from bench.fleet.slope import SLOPE_ASKED, log_log_slope
from bench.load.client import POLL_S, SAMPLE_S, Answered, Host, play
from bench.load.figures import (
    CPU,
    MEMORY,
    cpu_row,
    evaluation_row,
    exchange_rows,
    held,
    idle_row,
    memory_rows,
)
from bench.load.fleet import SERIES, fill
from bench.load.memory import Look, look
from bench.load.reports import REPORT_S

if TYPE_CHECKING:
    from appliance.demo.service import Service

JOIN_S, WARM_S = 120.0, 180.0
"""Hosts join one after the other. New series, hosts and resources cost more than all later; until
the end of the second time nothing is counted."""
IDLE_S = 30.0
"""After the start, before there is any host."""
LOOKED_EACH_S = 10.0
EVERY_S = {"samples": SAMPLE_S, "document": POLL_S, "report": REPORT_S}


def main() -> None:
    """Print the table; status 1 if it was not held."""
    options = _options()
    if options.one:
        rows = _measure(options.one, options.hosts[0], options.minutes)
        options.json.write_text(json.dumps(as_json(rows)))
        return
    with tempfile.TemporaryDirectory(prefix="sluice-load-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o711)
        rows = _of_sizes(folder, options)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end\n\n{as_table(rows)}")
    if options.json:
        options.json.write_text(json.dumps(as_json(rows), indent=1) + "\n")
    raise SystemExit(not all(row.holds for row in rows))


def _of_sizes(folder: Path, options: argparse.Namespace) -> list[Row]:
    """The rows of each size, and by which power what the product takes grows with it."""
    rows: list[Row] = []
    taken: dict[str, dict[int, float]] = {"CPU": {}, "memory": {}}
    for size in options.hosts:
        own = folder / str(size)
        own.mkdir(mode=0o711)
        found = _measured_apart(own, size, options.minutes)
        rows += [replace(row, what=f"{size} hosts: {row.what}") for row in found]
        for what, name in (("CPU", CPU), ("memory", MEMORY)):
            taken[what][size] = next(row.measured or 0.0 for row in found if row.what == name)
    if len(options.hosts) > 1:
        ends = f"{min(options.hosts)} to {max(options.hosts)} hosts"
        rows += [
            at_most(f"slope of {what}, {ends}", "exponent", SLOPE_ASKED, log_log_slope(found))
            for what, found in taken.items()
        ]
    return rows


def _measured_apart(folder: Path, hosts: int, minutes: float) -> list[Row]:
    """In a process of its own, because settings are read once."""
    file = folder / "rows.json"
    argv = [sys.executable, "-m", "bench.load", "--one", str(folder), "--hosts", str(hosts),
            "--minutes", str(minutes), "--json", str(file)]  # fmt: skip
    subprocess.run(argv, check=True)
    return [Row(**row) for row in json.loads(file.read_text())]


def _measure(folder: Path, hosts_count: int, minutes: float) -> list[Row]:
    os.environ |= {
        "SLUICE_DATA_DIR": str(folder / "data"), "DJANGO_SETTINGS_MODULE": "config.settings"
    }  # fmt: skip
    os.environ.pop("DATABASE_URL", None)
    from appliance.demo.service import running_service
    from config.paths import DataDir

    with running_service(DataDir(folder / "data"), user="admin") as service:
        import django

        django.setup()
        from django.db import connection

        root = _supervisor(folder)
        time.sleep(IDLE_S)
        idle = look(root, time.monotonic())
        secret, keys = fill(hosts_count, _say)
        connection.close()
        hosts = [Host(number, one, secret, service.port) for number, one in enumerate(keys)]
        begin_s = time.monotonic() + 1.0
        counted_s, end_s = begin_s + WARM_S, begin_s + WARM_S + minutes * 60
        watch = _Watch(root, counted_s, end_s, _say)
        watch.start()
        asyncio.run(play(hosts, begin_s=begin_s, end_s=end_s, join_s=JOIN_S))
        watch.join()
        evaluation = _evaluation(service)
    answered = [one for host in hosts for one in host.answered if one.due_s >= counted_s]
    return [
        idle_row(idle),
        *_exchanges(answered, hosts_count, minutes),
        *_of_product(watch, evaluation),
    ]


def _exchanges(answered: list[Answered], hosts: int, minutes: float) -> list[Row]:
    found = [
        held(what, answered, due=round(hosts * minutes * 60 / every_s))
        for what, every_s in EVERY_S.items()
    ]
    return exchange_rows(found)


def _of_product(watch: _Watch, evaluation: dict[str, Any]) -> list[Row]:
    recent = evaluation["recent"] or {}
    return [
        evaluation_row(recent.get("p99_s"), resources=evaluation["resources"]),
        *memory_rows(watch.looks),
        cpu_row(watch.cores),
    ]


def _evaluation(service: Service) -> dict[str, Any]:
    """What the product says of how late it judges."""
    try:
        found: dict[str, Any] = service.sluice("status")["health"]["evaluation"]
    except json.JSONDecodeError:
        # A database that has too much to do answers no command in time.
        return {"recent": None, "resources": 0}
    return found


class _Watch(threading.Thread):
    """Looks at the product's memory and CPU while it is played with."""

    def __init__(
        self, root: int, begin_s: float, end_s: float, say: Callable[[str], None]
    ) -> None:
        super().__init__(daemon=True)
        self._root, self._begin_s, self._end_s, self._say_ = root, begin_s, end_s, say
        self.looks: list[Look] = []
        self.cores = 0.0

    def run(self) -> None:
        time.sleep(max(0.0, self._begin_s - time.monotonic()))
        before_s, begin_s = cpu_s_of_tree(self._root), time.monotonic()
        while (now_s := time.monotonic()) < self._end_s:
            self.looks.append(look(self._root, now_s))
            if len(self.looks) % 6 == 1:
                self._say_(f"memory {self.looks[-1].bytes / 1e6:.0f} MB")
            time.sleep(LOOKED_EACH_S)
        self.cores = (cpu_s_of_tree(self._root) - before_s) / (time.monotonic() - begin_s)


def _supervisor(folder: Path) -> int:
    """The process that has the data directory."""
    return int((folder / "data" / "lock").read_text())


def _say(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {words}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="after the first three")
    parser.add_argument(
        "--hosts", type=int, nargs="+", default=[1000],
        help=f"agents, each of which sends {SERIES} series; one fleet after the other",
    )  # fmt: skip
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
