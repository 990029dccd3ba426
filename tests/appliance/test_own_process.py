"""The supervisor has the product's models for moments alone, in a process of its own."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from appliance.embedded.errors import EmbeddedError
from appliance.embedded.own_process import in_own_process
from tests.appliance.test_supervisor import is_running


def test_result_comes_back_from_another_process():
    assert in_own_process(lambda: {"pid": os.getpid()})["pid"] != os.getpid()


def test_refusal_is_raised_where_the_work_was_asked_for():
    def refuse():
        raise EmbeddedError("the tables cannot be brought up to date")

    with pytest.raises(EmbeddedError, match="tables cannot be brought up to date"):
        in_own_process(refuse)


@pytest.mark.parametrize(
    "end", [lambda: 1 // 0, lambda: os.kill(os.getpid(), 9)], ids=["raises", "killed"]
)
def test_work_that_ends_without_a_result_is_told(end):
    with pytest.raises(EmbeddedError, match="without a result"):
        in_own_process(end)


SLOW = """
import os, sys, time
from appliance.embedded import own_process
from appliance.embedded.stop_signals import interrupt_on_stop_signals
own_process.load_models = lambda: None
interrupt_on_stop_signals()

def work():
    print(os.getpid(), flush=True)
    time.sleep(600)

own_process.in_own_process(work)
"""


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_work_ends_with_whoever_asked_for_it(end):
    argv = [sys.executable, "-c", SLOW]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as asking:
        assert asking.stdout is not None
        worker = int(asking.stdout.readline())
        try:
            # As systemd stops the server's package: the main process alone is told.
            asking.send_signal(end)
            asking.wait(20)
            deadline = time.monotonic() + 20
            while is_running(worker):
                assert time.monotonic() < deadline, "it goes on, and holds the data directory"
                time.sleep(0.05)
        finally:
            asking.kill()
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


def test_large_result_is_whole():
    assert len(in_own_process(lambda: "x" * 1_000_000)) == 1_000_000


def test_supervisor_loads_neither_models_nor_celery():
    program = (
        "import sys; from appliance.cli import _supervisor; _supervisor(); "
        "print(*({'advisor.models', 'accounts.models', 'celery', 'numpy'} & set(sys.modules)))"
    )
    environment = {
        **os.environ, "DJANGO_SETTINGS_MODULE": "config.settings", "SLUICE_SECRET_KEY": "unused"
    }  # fmt: skip

    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )

    assert told.stdout.split() == []
