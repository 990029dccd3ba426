"""CPU time of Python and of the database server behind one connection."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

from django.db import connection

LONG_S = 5.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something took: CPU seconds of Python and of the database, wall seconds, queries."""

    python_s: float
    database_s: float
    wall_s: float
    queries: int

    @property
    def cpu_s(self) -> float:
        """Of both together."""
        return self.python_s + self.database_s


def cost_of(ask: Callable[[], object]) -> Cost:
    """What this takes once, on Django's connection."""
    queries = 0

    def counted(execute: Callable[..., object], *call: object) -> object:
        nonlocal queries
        queries += 1
        return execute(*call)

    backend = _backend()
    with connection.execute_wrapper(counted):
        database_s, python_s = _server_s(backend), time.process_time()
        begin = time.perf_counter()
        ask()
        wall_s = time.perf_counter() - begin
        python_s = time.process_time() - python_s
        database_s = _server_s(backend) - database_s
    return Cost(python_s=python_s, database_s=database_s, wall_s=wall_s, queries=queries)


def least(measures: Iterable[Callable[[], Cost]]) -> Cost:
    """The cheapest; no more are tried once one has taken so long that noise hardly counts."""
    costs: list[Cost] = []
    for measure in measures:
        costs.append(measure())
        if costs[-1].cpu_s > LONG_S:
            break
    return min(costs, key=lambda cost: cost.cpu_s)


def least_of(asks: Iterable[Callable[[], object]]) -> Cost:
    """The cheapest of these, each measured once."""
    return least(partial(cost_of, ask) for ask in asks)


def mean_of(costs: Sequence[Cost]) -> Cost:
    """What each of them costs on average; queries are rounded up."""
    return Cost(
        python_s=fmean(cost.python_s for cost in costs),
        database_s=fmean(cost.database_s for cost in costs),
        wall_s=fmean(cost.wall_s for cost in costs),
        queries=-(-sum(cost.queries for cost in costs) // len(costs)),
    )


def _backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid: int = cursor.fetchone()[0]
        return pid


def _server_s(backend: int) -> float:
    """CPU of the backend, and of the parallel workers of the server that have ended.

    Those are counted in ticks, by their parent.
    """
    running_ns = int(Path(f"/proc/{backend}/schedstat").read_text().split()[0])
    parent = _fields_of(backend)[1]
    ended_ticks = sum(int(value) for value in _fields_of(int(parent))[13:15])
    return running_ns / 1e9 + ended_ticks / _TICKS_PER_S


def _fields_of(pid: int) -> list[str]:
    """`/proc/PID/stat` from the state on; the name before it may hold spaces."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def cpu_s_of_tree(pid: int) -> float:
    """CPU seconds of a process, its children and those of them that have ended."""
    try:
        used = sum(int(value) for value in _fields_of(pid)[11:15])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return used / _TICKS_PER_S + sum(cpu_s_of_tree(int(child)) for child in children)
