"""A master and a sentinel are gone; everything goes on at the next master, without a restart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from redis import RedisError

from advisor.pipeline import work_figures
from config.scheduler_lease import KEY
from ingest.core.quota.limits import Quota
from ingest.quotas import shared_account
from tests import settings as product
from tests.config.watched_valkeys import WatchedValkeys, watched_valkeys
from web.api.v1 import rate_limit

pytestmark = [pytest.mark.valkey, pytest.mark.slow, pytest.mark.timeout(240)]

ROOT = Path(__file__).resolve().parents[2]
AS_THE_PRODUCT_DOES = ("--without-gossip", "--without-mingle")
READY_S = 60.0
KILLED_S = 20.0
HUNG_S = 60.0
"""A master that stands still answers nothing, and each who asked it waits for a time limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Servers with sentinels; a worker and a scheduler who use them, and what the worker did."""

    valkeys: WatchedValkeys
    processes: list[subprocess.Popen[bytes]]
    marks: Path

    def works_since(self, moment: float) -> bool:
        """Whether the worker ended a task that was queued after a moment."""
        done = self.marks.read_text().splitlines() if self.marks.exists() else []
        return bool(done) and float(done[-1]) > moment

    def is_as_it_was(self) -> bool:
        return all(process.poll() is None for process in self.processes)


@pytest.fixture
def scene(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with watched_valkeys(tmp_path) as valkeys:
        settings.REDIS_URL = valkeys.url
        together = {**product.CACHE_IN_VALKEY, "LOCATION": [valkeys.url]}
        settings.CACHES = {**product.CACHES, "together": together}
        monkeypatch.setattr(rate_limit._Server, "away_until_s", 0.0)
        _forget_clients()
        marks = tmp_path / "marks"
        processes = [
            _celery(valkeys.url, marks, tmp_path / name, name, *more)
            for name, *more in (
                ("worker", "--queues=upkeep", "--concurrency=1", *AS_THE_PRODUCT_DOES),
                ("beat", f"--pidfile={tmp_path}/beat.pid"),
            )
        ]
        yield Scene(valkeys=valkeys, processes=processes, marks=marks)
        for process in processes:
            process.kill()
            process.wait()
    _forget_clients()


def _celery(url: str, marks: Path, data: Path, name: str, *more: str) -> subprocess.Popen[bytes]:
    data.mkdir()
    environment = {
        "PATH": os.environ["PATH"], "REDIS_URL": url, "SLUICE_DATA_DIR": str(data),
        "DJANGO_SETTINGS_MODULE": "config.settings", "SLUICE_DATABASE_ROLE": "worker",
        "CELERY_SKIP_CHECKS": "1", "MARKS_FILE": str(marks),
    }  # fmt: skip
    with (data / "log").open("wb") as log:
        return subprocess.Popen(
            [
                sys.executable, "-m", "celery", "--app=tests.config.marking_worker", name,
                "--loglevel=INFO", *more,
            ],
            cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip


def _forget_clients() -> None:
    for kept in (
        work_figures._client, shared_account._client, shared_account._script, rate_limit._script,
    ):  # fmt: skip
        kept.cache_clear()


def seconds_until(found: Callable[[], bool], limit_s: float) -> float:
    began = time.monotonic()
    while not found():
        assert time.monotonic() - began < limit_s, f"{found} is not so after {limit_s} s"
        time.sleep(0.1)
    return time.monotonic() - began


def all_works() -> bool:
    """Whether cache, limits, figures and lease are kept by a server; all are asked each time."""
    counted = rate_limit.take(1).left is not None
    quota = shared_account.SharedAccount().report(1, {Quota.POINTS: 10}, {})
    return all((cache_keeps(), counted, quota is not None, work_figures.answers(), holder()))


def cache_keeps() -> bool:
    try:
        caches["together"].set("who", "is there", 60)
        return bool(caches["together"].get("who") == "is there")
    except RedisError:
        return False


def holder() -> str:
    """Which scheduler has the lease; empty: none, or nobody answers."""
    try:
        return str(work_figures._client().get(KEY) or "")
    except RedisError:
        return ""


@pytest.mark.parametrize(
    ("sent", "limit_s"),
    [
        pytest.param(signal.SIGKILL, KILLED_S, id="killed"),
        pytest.param(signal.SIGSTOP, HUNG_S, id="hung"),
    ],
)
def test_everything_goes_on_at_the_next_master(
    scene: Scene, sent: signal.Signals, limit_s: float
) -> None:
    seconds_until(lambda: scene.works_since(0.0), READY_S)
    seconds_until(all_works, READY_S)
    scheduler = holder()

    lost = scene.valkeys.master_port()
    scene.valkeys.signal_machine(lost, sent)
    gone_at, began = time.time(), time.monotonic()
    seconds_until(lambda: scene.valkeys.master_port() != lost, limit_s)
    chosen_s, chosen_at = time.monotonic() - began, time.time()
    seconds_until(all_works, limit_s - chosen_s)
    seconds_until(lambda: scene.works_since(chosen_at), limit_s - (time.time() - gone_at))

    # The same processes go on, the scheduler with its lease.
    assert scene.is_as_it_was()
    assert holder() == scheduler
    if sent == signal.SIGSTOP:
        # Who comes back is told that it is a replica, and nobody goes back to it.
        scene.valkeys.signal_machine(lost, signal.SIGCONT)
        seconds_until(lambda: scene.valkeys.role(lost) == "slave", READY_S)
        back_at = time.time()
        seconds_until(all_works, limit_s)
        seconds_until(lambda: scene.works_since(back_at), limit_s)
        assert holder() == scheduler
