"""Children of the demo: logged, stopped in order, and never orphans."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from config.demo.errors import DemoError
from config.demo.processes import Processes

SAY_AND_WAIT = [sys.executable, "-uc", "import time; print('ready'); time.sleep(600)"]
PARENT = """
import sys, time
from pathlib import Path
from config.demo.processes import Processes
with Processes(Path(sys.argv[1])) as children:
    say_pid = "import os, time; print(os.getpid()); time.sleep(600)"
    children.start("child", [sys.executable, "-uc", say_pid])
    time.sleep(600)
"""


def wait_for_text(path: Path) -> str:
    deadline = time.monotonic() + 20
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return path.read_text().strip()


def is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_child_writes_its_log_and_is_stopped(tmp_path):
    with Processes(tmp_path / "log") as children:
        children.start("one", SAY_AND_WAIT)
        said = wait_for_text(children.log("one"))
        pid = children.running["one"].pid

    assert said == "ready"
    assert not is_running(pid)


def test_ended_child_is_noticed_with_its_log(tmp_path):
    with Processes(tmp_path) as children:
        children.start("one", [sys.executable, "-c", "raise SystemExit(3)"])
        children.running["one"].wait(20)

        with pytest.raises(DemoError, match=r"one ended with status 3; see .*one\.log"):
            children.check()


def test_child_ends_when_its_parent_is_killed(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)])
    child_pid = int(wait_for_text(tmp_path / "child.log"))

    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()

    deadline = time.monotonic() + 5
    while is_running(child_pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
