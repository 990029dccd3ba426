"""The product at work: hosts send, workers judge, and every judged window is timed."""

from __future__ import annotations

import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random

from django.conf import settings
from django.db import connection
from django.test import RequestFactory

from accounts.models import Scope, Token
from appliance.embedded import children
from appliance.embedded.child import ChildSpec
from appliance.embedded.supervisor import Supervisor
from bench.fleet import databases, product
from bench.fleet.clock import shifted_by, shifted_environment
from bench.fleet.cost import cpu_s_of_tree
from bench.fleet.inventory import host_name, make_series
from bench.fleet.lag import Judgement, lags_s, percentile
from bench.fleet.live_lines import LiveLines
from bench.fleet.rows import Row, at_most, below
from bench.fleet.shape import END, WINDOW_S
from bench.fleet.stage import WINDOW, Stage
from config.celery import app
from config.paths import DataDir
from ingest.views import write

LAG_S_ASKED = 15.0
STARTING_S = 45.0
"""From the start of the workers to the first window."""
SPREAD_S = 5.0
"""Within so much time after the end of a window all hosts have sent."""
MOST_BEHIND_S = 10.0
"""Once hosts send later than this, no lag is measured: late samples are judged another way."""
LONGEST_WAIT_S = 60.0
"""For the last windows after all was sent."""
SENDERS = 8
"""Connections: hosts do not wait for one another, as they would behind one slow commit."""
POLL_S = 0.2


@dataclass(slots=True)
class Watch:
    """What was seen: when bodies were committed and windows judged, in seconds of the data set."""

    committed_s: dict[tuple[str, int], float] = field(default_factory=dict)
    judged_s: dict[tuple[int, int], float] = field(default_factory=dict)


def live_rows(stage: Stage, *, minutes: float, kill_worker: bool) -> list[Row]:
    """Lag of evaluation, and windows without a state, in so many minutes."""
    databases.go_on()
    shift = END - datetime.now(UTC) - timedelta(seconds=STARTING_S)
    windows = int(minutes * 60 / WINDOW_S)
    with shifted_by(shift), _running(shift, stage.say) as supervisor:
        run = _Run(stage, shift, windows)
        begin_s, cpu_s = time.monotonic(), _workers_cpu_s()
        run.start()
        middle_s = begin_s + STARTING_S + minutes * 30
        while not run.is_over:
            if kill_worker and time.monotonic() > middle_s:
                kill_worker = False
                _kill_a_worker(stage.say)
            supervisor.check()
            time.sleep(POLL_S)
        cores = (_workers_cpu_s() - cpu_s) / (time.monotonic() - begin_s)
        run.finish()
        return run.rows(cores)


@dataclass(frozen=True, slots=True)
class _Sending:
    """A host's body of the window that ends so, and when it is to be sent."""

    moment_s: float
    end_s: int
    host: str
    body: bytes


class _Run:
    """Threads that send, one that watches, and what they have found."""

    def __init__(self, stage: Stage, shift: timedelta, windows: int) -> None:
        self._stage = stage
        self._shift = shift
        self._windows = windows
        self._watch = Watch()
        self._error: BaseException | None = None
        series = make_series(stage.organisation, stage.shape)
        self._lines = LiveLines(stage.shape, series)
        self._end_s = int(END.timestamp())
        self._last_s = self._end_s + windows * WINDOW_S
        self._all_sent_s: float | None = None
        self._done = threading.Event()
        _, secret = Token.objects.issue(
            organisation=stage.organisation, scope=Scope.INGEST, name="bench"
        )
        self._headers = {"Authorization": f"Token {secret}"}
        self._waiting: queue.Queue[_Sending | None] = queue.Queue(stage.shape.hosts)
        self._senders_left = SENDERS
        self._ending = threading.Lock()
        self._threads = [
            threading.Thread(target=self._guarded, args=(work,))
            for work in (self._make, *([self._send] * SENDERS), self._poll)
        ]

    def start(self) -> None:
        for one in self._threads:
            one.start()

    @property
    def is_over(self) -> bool:
        """Whether all was sent, and judged or waited for."""
        if self._error is not None:
            return True
        if self._all_sent_s is None:
            return False
        waited = self._now_s() > self._all_sent_s + LONGEST_WAIT_S
        expected = len(self._stage.resources) * self._windows
        return waited or len(self._watch.judged_s) >= expected

    def finish(self) -> None:
        self._done.set()
        for one in self._threads:
            one.join()
        if self._error is not None:
            raise self._error

    def rows(self, cores: float) -> list[Row]:
        found = self._judgements()
        lags = lags_s(found, watched_until_s=self._now_s())
        unjudged = sum(one.judged_s is None for one in found)
        minutes = self._windows * WINDOW_S / 60
        note = (
            f"median {percentile(lags, 50):.1f} s, {minutes:g} minutes, "
            f"{len(self._stage.resources)} resources; workers took {cores:.2f} cores"
        )
        what = f"evaluation lag, p99, {self._stage.shape.workloads} workloads"
        return [
            below(what, "s", LAG_S_ASKED, percentile(lags, 99), note),
            at_most("windows never judged in live running", "windows", 0, unjudged,
                    f"of {len(found)}"),
        ]  # fmt: skip

    def _judgements(self) -> list[Judgement]:
        shape = self._stage.shape
        since, until = END, END + self._windows * WINDOW
        per_group = shape.hosts_per_group
        found = []
        for resources, hosts in ((self._stage.stores, per_group), (self._stage.uplinks, 1)):
            for group, resource in enumerate(resources):
                names = [host_name(group * per_group + number) for number in range(hosts)]
                stored = product.judged_windows(resource.pk, since=since, until=until)
                ends = {int(at.timestamp()) for at in stored}
                for end_s in range(self._end_s + WINDOW_S, self._last_s + 1, WINDOW_S):
                    seen_s = self._watch.judged_s.get((resource.pk, end_s))
                    committed = [self._watch.committed_s[name, end_s] for name in names]
                    found.append(
                        Judgement(
                            ended_s=end_s,
                            committed_s=max(committed),
                            judged_s=seen_s if end_s in ends else None,
                        )
                    )
        return found

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  it is raised where the threads are joined
            self._error = error
        finally:
            connection.close()

    def _make(self) -> None:
        """The bodies of each window with their moments: each host sends at its own one."""
        random = Random(1)
        middle_s = (self._end_s + self._last_s) / 2
        for end_s in range(self._end_s + WINDOW_S, self._last_s + 1, WINDOW_S):
            bodies = self._lines.bodies(end_s, congested=end_s < middle_s)
            for place, host in enumerate(random.sample(sorted(bodies), len(bodies))):
                moment_s = end_s + SPREAD_S * place / len(bodies)
                self._put(_Sending(moment_s=moment_s, end_s=end_s, host=host, body=bodies[host]))
        for _ in range(SENDERS):
            self._put(None)

    def _put(self, sending: _Sending | None) -> None:
        while not self._done.is_set():
            with suppress(queue.Full):
                self._waiting.put(sending, timeout=POLL_S)
                return

    def _send(self) -> None:
        """Send what is waiting, one body at a time, as one connection does."""
        factory = RequestFactory()
        while (one := self._next()) is not None:
            self._wait_until(one.moment_s)
            request = factory.post(
                "/api/v2/write", one.body, content_type="text/plain", headers=self._headers
            )
            answer = write(request)
            if answer.status_code != 204:
                raise SystemExit(f"{answer.status_code}: {answer.content.decode()}")
            self._watch.committed_s[one.host, one.end_s] = self._now_s()
        with self._ending:
            self._senders_left -= 1
            if self._senders_left == 0:
                self._all_sent_s = self._now_s()

    def _next(self) -> _Sending | None:
        while not self._done.is_set():
            with suppress(queue.Empty):
                return self._waiting.get(timeout=POLL_S)
        return None

    def _poll(self) -> None:
        """Note each newly judged window."""
        keys = [one.pk for one in self._stage.resources]
        newest = dict.fromkeys(keys, self._end_s)
        while not self._done.wait(POLL_S):
            found, now_s = product.judged_until(keys), self._now_s()
            for key, at in found.items():
                until_s = int(at.timestamp())
                for end_s in range(newest[key] + WINDOW_S, until_s + 1, WINDOW_S):
                    self._watch.judged_s[key, end_s] = now_s
                newest[key] = max(newest[key], until_s)

    def _wait_until(self, moment_s: float) -> None:
        left_s = moment_s - self._now_s()
        if left_s < -MOST_BEHIND_S:
            raise RuntimeError(f"sending fell {-left_s:.0f} s behind")
        self._done.wait(max(left_s, 0.0))

    def _now_s(self) -> float:
        return (datetime.now(UTC) + self._shift).timestamp()


@contextmanager
def _running(shift: timedelta, say: Callable[[str], None]) -> Iterator[Supervisor]:
    """The workers and the scheduler, as `sluice run` starts them."""
    data: DataDir = settings.DATA_DIR
    supervisor = Supervisor(say)
    try:
        product_own = [*children.workers(data), children.scheduler(data)]
        supervisor.start(*(_shifted(spec, shift) for spec in product_own))
        yield supervisor
    finally:
        supervisor.stop()


def _shifted(spec: ChildSpec, shift: timedelta) -> ChildSpec:
    """The same process in the time of the data set."""
    return replace(spec, environment={**spec.environment, **shifted_environment(shift)})


def _worker_pids() -> dict[str, int]:
    """The parents of the workers' processes, by name."""
    stats = app.control.inspect(timeout=2.0).stats() or {}
    return {name: one["pid"] for name, one in stats.items()}


def _workers_cpu_s() -> float:
    return sum(cpu_s_of_tree(pid) for pid in _worker_pids().values())


def _kill_a_worker(say: Callable[[str], None]) -> None:
    """End the worker that judges, in the middle of whatever it does."""
    pid = _worker_pids().get(f"evaluate@{socket.gethostname()}")
    if pid is None:
        raise SystemExit("no worker of the queue evaluate answers, so none can be killed")
    say(f"killing the worker that judges (process {pid})")
    os.kill(pid, signal.SIGKILL)
