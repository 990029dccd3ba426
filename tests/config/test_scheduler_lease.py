"""Two real schedulers on one queue: one queues work, and the other goes on when it is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from config.queues import QUEUES
from config.scheduler_lease import KEY, LEASE_S, LOOK_S, SchedulerLease
from tests.config.queued import empty

pytestmark = [pytest.mark.valkey]

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60.0
SLACK_S = 10.0
"""What a busy machine may add to a time."""


@pytest.fixture
def queue(valkey_url: str) -> Iterator[redis.Redis]:
    """The queue's server, without messages and without a scheduler."""
    client = redis.Redis.from_url(valkey_url, decode_responses=True)
    client.delete(KEY)
    empty(valkey_url)
    yield client
    client.delete(KEY)
    empty(valkey_url)
    client.close()


@pytest.fixture
def schedulers(valkey_url: str, tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Two processes of the product's scheduler, each as on a machine of its own: no database."""
    started = [_scheduler(valkey_url, tmp_path / name) for name in ("one", "two")]
    yield started
    for process in started:
        process.kill()
        process.wait()


def _scheduler(valkey_url: str, data: Path) -> subprocess.Popen[bytes]:
    data.mkdir()
    environment = {
        "PATH": os.environ["PATH"], "REDIS_URL": valkey_url, "SLUICE_DATA_DIR": str(data),
        "DJANGO_SETTINGS_MODULE": "config.settings", "SLUICE_DATABASE_ROLE": "worker",
        "CELERY_SKIP_CHECKS": "1", "SLUICE_ALIVE_FILE": str(data / "alive"),
    }  # fmt: skip
    with (data / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "celery", "--app=config.celery", "beat", "--loglevel=INFO"],
            cwd=ROOT,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def senders(queue: redis.Redis) -> set[int]:
    """The processes that queued what waits now; it is taken away, so more may come."""
    found = set()
    for one in QUEUES:
        while raw := queue.lpop(one.name):
            origin = json.loads(raw)["headers"]["origin"]  # such as gen4711@host
            found.add(int(origin.partition("@")[0].removeprefix("gen")))
    for key in queue.scan_iter("sluice:waiting:*"):
        queue.delete(key)
    return found


def wait_for(found: Callable[[], bool]) -> float:
    """The seconds until it is so."""
    began = time.monotonic()
    while not found():
        assert time.monotonic() - began < DEADLINE_S, "it never was"
        time.sleep(0.1)
    return time.monotonic() - began


def pids(processes: list[subprocess.Popen[bytes]]) -> set[int]:
    return {process.pid for process in processes}


def both_live(queue: redis.Redis, tmp_path: Path) -> bool:
    return all((tmp_path / name / "alive").exists() for name in ("one", "two"))


@pytest.mark.slow
def test_of_two_schedulers_one_queues_and_the_other_goes_on_when_it_is_killed(
    queue: redis.Redis, schedulers: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    wait_for(lambda: both_live(queue, tmp_path))
    senders(queue)
    seen: set[int] = set()
    until = time.monotonic() + 8.0  # the most frequent task is due each 5 s
    while time.monotonic() < until:
        seen |= senders(queue)
        time.sleep(0.2)
    (leader,) = seen
    assert leader in pids(schedulers)

    os.kill(leader, signal.SIGKILL)
    (other,) = pids(schedulers) - {leader}
    next(one for one in schedulers if one.pid == leader).wait()
    senders(queue)
    gap_s = wait_for(lambda: senders(queue) == {other})

    assert gap_s < LEASE_S + LOOK_S + SLACK_S


@pytest.mark.slow
def test_a_scheduler_that_is_stopped_hands_over_at_once(
    queue: redis.Redis, schedulers: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    wait_for(lambda: both_live(queue, tmp_path) and queue.exists(KEY) == 1)
    holder = queue.get(KEY)

    leader = int(str(holder).split("/")[1])
    next(one for one in schedulers if one.pid == leader).terminate()
    next(one for one in schedulers if one.pid == leader).wait(30)

    # Not the end of the lease is waited for: it was given back.
    assert queue.get(KEY) != holder
    (other,) = pids(schedulers) - {leader}
    senders(queue)
    wait_for(lambda: senders(queue) == {other})


def test_the_lease_has_one_holder_until_it_ends_or_is_given_back(
    queue: redis.Redis, settings, valkey_url: str
) -> None:
    settings.REDIS_URL = valkey_url
    one, two = SchedulerLease(), SchedulerLease()

    assert one.take()
    assert one.take()
    assert not two.take()
    two.give_back()  # not its own
    assert one.take()
    one.give_back()
    assert two.take()
    assert not one.take()
    remaining_ms = queue.pttl(KEY)
    assert 0 < remaining_ms <= LEASE_S * 1000


def test_nobody_has_the_lease_while_the_queues_server_is_away(settings, tmp_path: Path) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"

    assert not SchedulerLease().take()
