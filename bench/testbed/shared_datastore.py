"""Rows of two hosts with one datastore: the real service, two agents, Linux in virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.fleet.rows import Row, at_most
from bench.testbed.bounds import at_least
from tests.testbed.shared_datastore import figures
from tests.testbed.storage.guest import KERNELS, StorageGuest

PART = "two-hosts"
SAME, OVERSHOOT, KEPT = 0.05, 1.25, 0.95
SETTLED_S, BACK_S, LEAST_TOTAL = 20, 60, 0.9
WHAT = "2 hosts, 12 + 4 workloads, tiers 4:2:1 with reservations"


def shared_datastore_rows(folder: Path, *, is_short: bool) -> list[Row]:
    """The rows; the database must be open, with its folder."""
    with _service(folder) as port:
        return _rows(folder, port, _steps(is_short=is_short))


def _steps(*, is_short: bool) -> list[dict[str, Any]]:
    from tests.testbed.shared_datastore.arrangement import CLASSES

    last = list(CLASSES)[-1]
    steps = [
        {"name": "start", "seconds": SETTLED_S + 8},
        {"name": "idle", "seconds": SETTLED_S, "idle": [last]},
        {"name": "back", "seconds": BACK_S},
    ]
    if not is_short:
        steps += [
            {"name": "killed", "seconds": SETTLED_S, "killed": [last]},
            {"name": "started again", "seconds": BACK_S},
            {"name": "cut off", "seconds": 40, "parted": [last]},
            {"name": "joined", "seconds": BACK_S},
        ]
    return steps


@contextmanager
def _service(folder: Path) -> Iterator[int]:
    """The product's web server and queue; its port."""
    from appliance.embedded.child import Child
    from appliance.embedded.service_user import make_directory, service_user
    from appliance.embedded.valkey import valkey_server
    from config.paths import data_dir
    from tests.ingest.wire import WebServer

    data, user = data_dir(), service_user()
    make_directory(data.valkey, user)
    queue, server = Child(valkey_server(data, user)), WebServer(folder)
    try:
        queue.wait_until_ready()
        server.start()
        yield server.port
    finally:
        server.stop()
        queue.stop()


def _rows(folder: Path, port: int, steps: list[dict[str, Any]]) -> list[Row]:
    from tests.testbed.shared_datastore.arrangement import (
        CAPACITY_IOPS,
        CLASSES,
        RESERVED_IOPS,
        SHARES,
        THRESHOLD_MS,
        arrange,
    )

    _, hosts = arrange()
    with StorageGuest(KERNELS[0], folder) as guest:
        seen: dict[str, figures.Seconds] = guest.run(
            "tests.testbed.shared_datastore.trial",
            hosts=hosts,
            capacity_iops=CAPACITY_IOPS,
            service_port=port,
            steps=steps,
        )
    settled = seen["start"][SETTLED_S:]
    reserved = [rates["reserved"] for rates in figures.class_iops(settled, CLASSES).values()]
    late = max(figures.latency_ms([second]) for second in settled) / THRESHOLD_MS
    total = figures.total_iops(settled) / CAPACITY_IOPS
    alone = figures.total_iops(seen["idle"][-4:]) / CAPACITY_IOPS
    rows = [
        at_most(f"{WHAT}: same class apart by", "ratio", SAME, figures.apart(settled, CLASSES)),
        replace(
            at_most(f"{WHAT}: off 4:2:1 by", "ratio", SAME,
                    figures.off_shares(settled, CLASSES, SHARES)),
            values=figures.beside_low(settled, CLASSES),
        ),
        _settles(f"{WHAT}: settled after", SETTLED_S, seen["start"], CLASSES),
        at_least("2 hosts: reservation kept, the worse host", "ratio", KEPT,
                 min(reserved) / RESERVED_IOPS),
        at_most("2 hosts: latency of a second, of the threshold", "ratio", OVERSHOOT, late),
        at_least("2 hosts: total, of the capacity, 20 to 28 s after the start", "ratio",
                 LEAST_TOTAL, total),
        at_least("2 hosts, one idle: the other alone, 16 s later", "ratio", LEAST_TOTAL, alone),
    ]  # fmt: skip
    returns = {
        "back": "2 hosts: one was idle, settled after",
        "started again": "2 hosts: an agent was killed, starts, settled after",
        "joined": "2 hosts: one was cut off from the service, settled after",
    }
    for name, what in returns.items():
        if name in seen:
            rows.append(_settles(what, BACK_S, seen[name], CLASSES))
            back = figures.total_iops(seen[name][-8:]) / CAPACITY_IOPS
            rows.append(
                at_least(f"{what.rpartition(',')[0]}, total at the end", "ratio", 0.8, back)
            )
    return rows


def _settles(what: str, asked_s: int, seconds: figures.Seconds, classes: figures.Classes) -> Row:
    after_s = figures.settled_after_s(seconds, classes, within=2 * SAME)
    note = "within 10 % over 4 s" if after_s is not None else f"not within {len(seconds)} s"
    return at_most(what, "s", asked_s, None if after_s is None else float(after_s), note)
