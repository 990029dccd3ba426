"""Figures of the product's own work, kept for minutes in the queue's server.

Every process adds to them, so that whoever asks gets those of all. If they are lost, they are
complete again ten minutes later.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from typing import Any

import redis

from accounts.queue_server import queue_client
from advisor.core.health.distribution import bucket_of

MINUTES = 10
"""How far back lags and the slowest task go."""
KEPT_S = (MINUTES + 2) * 60
GONE_AFTER_S = 3_600.0
"""A process that has given no sign of life for so long was taken away on purpose."""
SLOWEST_KEPT = 20
TIMEOUT_S = 2.0

PROCESSES = "sluice:processes"
RUNNING = "sluice:running"
TASK_RUNS, TASK_SECONDS = "sluice:task-runs", "sluice:task-seconds"
TASK_FAILURES = "sluice:task-failures"
ASKED = "sluice:asked:"
CHECK_IN = "sluice:check-in"
ASKER_KEPT_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """The newest sign of life of a process."""

    name: str
    kind: str
    queues: tuple[str, ...]
    at: float
    as_root: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedIn:
    """The newest check-in outside: when, what was said, and what came of it."""

    at: float
    was_taken: bool
    faults: int
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a task: since when, or for how long. `subject` is such as `resource 5`."""

    task: str
    subject: str
    seconds: float
    is_running: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTotal:
    """What one kind of task did since the queue's server has kept it: counters that only grow."""

    task: str
    runs: int
    seconds: float
    failures: int


def note_life(
    *, name: str, kind: str, queues: Sequence[str], now: datetime, as_root: bool = False
) -> None:
    """Note that a worker or the scheduler lives, and whether it may do everything here."""
    said = {"kind": kind, "queues": sorted(queues), "at": now.timestamp(), "root": as_root}
    _client().hset(PROCESSES, name, json.dumps(said))


def beats(*, now: datetime) -> list[Beat]:
    """The processes that gave a sign of life within the last hour, by name."""
    found: dict[str, str] = _client().hgetall(PROCESSES)
    said = {name: json.loads(text) for name, text in sorted(found.items())}
    gone = [name for name, one in said.items() if now.timestamp() - one["at"] > GONE_AFTER_S]
    if gone:
        _client().hdel(PROCESSES, *gone)
    return [
        Beat(
            name=name,
            kind=one["kind"],
            queues=tuple(one["queues"]),
            at=one["at"],
            as_root=one.get("root", False),
        )
        for name, one in said.items()
        if name not in gone
    ]


def note_start(*, run: str, task: str, subject: str, limit_s: float | None, now: datetime) -> None:
    """Note that a task has begun; `run` names this run of it."""
    ends = None if limit_s is None else now.timestamp() + limit_s
    said = {"task": task, "subject": subject, "at": now.timestamp(), "ends": ends}
    _client().hset(RUNNING, run, json.dumps(said))


def note_end(*, run: str, task: str, subject: str, seconds: float | None, now: datetime) -> None:
    """Note that a task has ended, and how long it took if that is known."""
    key = f"sluice:slowest:{_minute(now)}"
    with _client().pipeline(transaction=False) as pipe:
        pipe.hdel(RUNNING, run)
        if seconds is not None:
            pipe.zadd(key, {f"{task}/{subject}": seconds}, gt=True)
            pipe.zremrangebyrank(key, 0, -SLOWEST_KEPT - 1)
            pipe.expire(key, KEPT_S)
            pipe.hincrby(TASK_RUNS, task, 1)
            pipe.hincrbyfloat(TASK_SECONDS, task, seconds)
        pipe.execute()


def note_failure(*, task: str) -> None:
    """Count that a run of the task failed."""
    _client().hincrby(TASK_FAILURES, task, 1)


def task_totals() -> tuple[TaskTotal, ...]:
    """Every task that ran or failed since the queue's server began, by name."""
    with _client().pipeline(transaction=False) as pipe:
        for key in (TASK_RUNS, TASK_SECONDS, TASK_FAILURES):
            pipe.hgetall(key)
        runs, seconds, failures = pipe.execute()
    return tuple(
        TaskTotal(
            task=task,
            runs=int(runs.get(task, 0)),
            seconds=float(seconds.get(task, 0.0)),
            failures=int(failures.get(task, 0)),
        )
        for task in sorted({*runs, *failures})
    )


def slowest_run(*, now: datetime) -> Run | None:
    """The longest run of the last ten minutes, those that go on among them."""
    found = [*_ended_runs(now), *_present_runs(now)]
    return max(found, key=lambda run: run.seconds, default=None)


def _ended_runs(now: datetime) -> list[Run]:
    with _client().pipeline(transaction=False) as pipe:
        for minute in _minutes(now):
            pipe.zrevrange(f"sluice:slowest:{minute}", 0, 0, withscores=True)
        found = [one for minute in pipe.execute() for one in minute]
    return [
        Run(task=task, subject=subject, seconds=seconds, is_running=False)
        for member, seconds in found
        for task, _, subject in [member.partition("/")]
    ]


def _present_runs(now: datetime) -> list[Run]:
    found: dict[str, str] = _client().hgetall(RUNNING)
    said = {run: json.loads(text) for run, text in found.items()}
    # A run beyond its limit was killed by somebody who did not say so.
    lost = [run for run, one in said.items() if one["ends"] and one["ends"] < now.timestamp()]
    if lost:
        _client().hdel(RUNNING, *lost)
    return [
        Run(
            task=one["task"],
            subject=one["subject"],
            seconds=now.timestamp() - one["at"],
            is_running=True,
        )
        for run, one in said.items()
        if run not in lost
    ]


def note_lags(*, organisation: int, lags_s: Mapping[int, Sequence[float]], now: datetime) -> None:
    """Count how late windows were evaluated, by resource."""
    worst_of = {str(resource): max(found) for resource, found in lags_s.items() if found}
    if not worst_of:
        return
    counts, worst = _lag_keys(organisation, _minute(now))
    buckets = Counter(bucket_of(lag_s) for found in lags_s.values() for lag_s in found)
    with _client().pipeline(transaction=False) as pipe:
        for bucket, count in buckets.items():
            pipe.hincrby(counts, str(bucket), count)
        pipe.zadd(worst, worst_of, gt=True)
        pipe.zremrangebyrank(worst, 0, -SLOWEST_KEPT - 1)
        for key in (counts, worst):
            pipe.expire(key, KEPT_S)
        pipe.execute()


def lags(*, organisation: int, now: datetime) -> tuple[Counter[int], tuple[int, float] | None]:
    """The lags of the last ten minutes by bucket, and the worst with its resource."""
    with _client().pipeline(transaction=False) as pipe:
        for minute in _minutes(now):
            counts, worst = _lag_keys(organisation, minute)
            pipe.hgetall(counts)
            pipe.zrevrange(worst, 0, 0, withscores=True)
        answers = pipe.execute()
    buckets: Counter[int] = Counter()
    for counted in answers[::2]:
        buckets.update({int(bucket): int(count) for bucket, count in counted.items()})
    found = [(int(resource), lag_s) for one in answers[1::2] for resource, lag_s in one]
    return buckets, max(found, key=lambda one: one[1], default=None)


def queue_states(names: Sequence[str], *, now: datetime) -> list[tuple[int, float | None]]:
    """How many messages wait in each queue, and for how many seconds the oldest has."""
    with _client().pipeline(transaction=False) as pipe:
        for name in names:
            pipe.llen(name)
            # The oldest is at the end, where it is taken.
            pipe.lindex(name, -1)
        answers = pipe.execute()
    pairs = zip(answers[::2], answers[1::2], strict=True)
    return [(waiting, _waited_s(oldest, now)) for waiting, oldest in pairs]


def memory() -> tuple[int, int] | None:
    """The bytes that the queue's server takes, and may take; None where it has no bound."""
    said = _client().info("memory")
    most_bytes = int(said.get("maxmemory", 0))
    return (int(said["used_memory"]), most_bytes) if most_bytes else None


def answers() -> bool:
    """Whether the queue's server answers."""
    try:
        return bool(_client().ping())
    except redis.RedisError:
        return False


def keep_asker(what: str, request_id: str) -> None:
    """Keep for an hour which request asked for work that a task finds in the database."""
    _client().set(f"{ASKED}{what}", request_id, ex=ASKER_KEPT_S)


def take_asker(what: str) -> str:
    """The request that asked for this work; empty if nobody noted one."""
    found: str | None = _client().getdel(f"{ASKED}{what}")
    return found or ""


def keep_check_in(said: CheckedIn) -> None:
    """Keep it as the newest, and as the newest good one if it is."""
    text = json.dumps(asdict(said))
    with _client().pipeline(transaction=True) as pipe:
        pipe.hset(CHECK_IN, "newest", text)
        if said.was_taken and not said.faults:
            pipe.hset(CHECK_IN, "good", text)
        pipe.execute()


def check_ins() -> tuple[CheckedIn | None, CheckedIn | None]:
    """The newest check-in, and the newest that said that all is well and was taken."""
    newest, good = _client().hmget(CHECK_IN, "newest", "good")
    return (
        CheckedIn(**json.loads(newest)) if newest else None,
        CheckedIn(**json.loads(good)) if good else None,
    )


QUEUED_AT = "queued_at"
"""The header of a message that says when it was sent, in seconds since the epoch."""
REQUEST_ID = "sluice_request_id"
"""The header with the id of the request that the task goes back to, if there is one."""


def _waited_s(message: str | None, now: datetime) -> float | None:
    if message is None:
        return None
    queued_at = json.loads(message)["headers"].get(QUEUED_AT)
    return None if queued_at is None else max(0.0, now.timestamp() - queued_at)


def _lag_keys(organisation: int, minute: int) -> tuple[str, str]:
    return f"sluice:lag:{organisation}:{minute}", f"sluice:lag-worst:{organisation}:{minute}"


def _minute(now: datetime) -> int:
    return int(now.timestamp()) // 60


def _minutes(now: datetime) -> range:
    return range(_minute(now) - MINUTES, _minute(now) + 1)


@cache
def _client() -> Any:
    return queue_client(timeout_s=TIMEOUT_S)
