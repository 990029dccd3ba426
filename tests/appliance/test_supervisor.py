"""Child processes: started, awaited, restarted, given up, stopped without orphans."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.embedded import supervisor as supervisor_module
from appliance.embedded.child import Child, ChildSpec
from appliance.embedded.errors import ChildFailed
from appliance.embedded.supervisor import MAX_RESTARTS, Supervisor, trim_log

SLEEPS = "import time; time.sleep(600)"
IGNORES_SIGTERM = f"""
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
{SLEEPS}
"""
HAS_A_CHILD = f"""
import subprocess, sys, time
print(subprocess.Popen([sys.executable, "-c", {SLEEPS!r}]).pid, flush=True)
time.sleep(600)
"""
DEADLINE_S = 20.0


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(supervisor_module, "RESTART_DELAY_S", 0.0)
    monkeypatch.setattr(supervisor_module, "CHECK_INTERVAL_S", 0.01)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(said: list[str]) -> Iterator[Supervisor]:
    supervisor = Supervisor(said.append)
    yield supervisor
    supervisor.stop()


@pytest.fixture
def spec(tmp_path: Path) -> Callable[..., ChildSpec]:
    def make(program: str, name: str = "child", **options: object) -> ChildSpec:
        argv = (sys.executable, "-c", program)
        return ChildSpec(name=name, argv=argv, log=tmp_path / f"{name}.log", **options)

    return make


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_start_returns_when_the_child_is_ready(supervisor, spec, tmp_path):
    mark = tmp_path / "ready"

    supervisor.start(spec(f"open({str(mark)!r}, 'w'); {SLEEPS}", is_ready=mark.exists))

    assert mark.exists()


def test_child_that_ends_before_it_is_ready_is_told_with_its_log(supervisor, spec, tmp_path):
    program = "import sys; print('disk is full'); sys.exit(3)"

    with pytest.raises(ChildFailed) as failure:
        supervisor.start(spec(program, name="web", is_ready=lambda: False))

    assert str(failure.value) == (
        f"web ended with status 3; its log is {tmp_path}/web.log\n    disk is full"
    )


def test_child_that_never_gets_ready_is_told(supervisor, spec):
    with pytest.raises(ChildFailed, match=r"child was not ready after 0 s; its log is"):
        supervisor.start(spec(SLEEPS, is_ready=lambda: False, ready_timeout_s=0.1))


def test_crashed_child_is_restarted(supervisor, spec, said, tmp_path):
    count = tmp_path / "count"
    count.touch()
    program = f"""
import os, signal, time
with open({str(count)!r}, "a") as count: count.write("x")
if os.path.getsize({str(count)!r}) < 2: os.kill(os.getpid(), signal.SIGKILL)
time.sleep(600)
"""
    supervisor.start(spec(program))

    wait_for(lambda: supervisor.check() or count.read_text() == "xx")

    assert said[0].startswith("child ended with signal SIGKILL; its log is ")
    assert said[0].endswith("restarting child")


def test_child_that_keeps_crashing_stops_the_watch(supervisor, spec, said):
    supervisor.start(spec("raise SystemExit('no licence')"))

    with pytest.raises(ChildFailed, match="no licence"):
        supervisor.watch()

    assert len(said) == MAX_RESTARTS


def test_child_that_is_not_essential_is_given_up(supervisor, spec, said):
    supervisor.start(spec(SLEEPS, name="main"))
    supervisor.start(spec("raise SystemExit(1)", name="extra", essential=False))

    wait_for(lambda: supervisor.check() or len(said) > MAX_RESTARTS)

    assert said[-1].endswith("everything else goes on without extra")


def test_stop_ends_the_last_started_first(supervisor, spec, said):
    supervisor.start(spec(SLEEPS, name="database"))
    supervisor.start(spec(SLEEPS, name="web"))

    supervisor.stop()

    assert said == ["stopping web", "stopping database"]


def test_stop_ends_a_child_that_ignores_the_request(spec):
    child = Child(spec(IGNORES_SIGTERM, stop_timeout_s=0.2))
    wait_for(lambda: child.spec.log.read_text() == "deaf\n")

    child.stop()

    assert child.exit_status == -signal.SIGKILL


def test_stop_ends_what_the_child_has_started(spec, tmp_path):
    child = Child(spec(HAS_A_CHILD))
    log = tmp_path / "child.log"
    wait_for(lambda: log.read_text().endswith("\n"))
    grandchild = int(log.read_text())

    child.stop()

    wait_for(lambda: not is_running(grandchild))


def test_child_ends_when_its_supervisor_is_killed(tmp_path):
    # A supervisor in a process of its own, because it is killed.
    program = f"""
import sys, time
from pathlib import Path
from appliance.embedded.child import Child, ChildSpec
log = Path({str(tmp_path)!r}, "log")
spec = ChildSpec(name="child", argv=(sys.executable, "-c", {SLEEPS!r}), log=log)
print(Child(spec).process.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        child = int(parent.stdout.readline())
        assert is_running(child)

        parent.kill()

    wait_for(lambda: not is_running(child))


def test_large_log_is_cut_and_its_earlier_part_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor_module, "MAX_LOG_BYTES", 10)
    log = tmp_path / "log"
    with log.open("ab") as writer:
        writer.write(b"x" * 11)
        writer.flush()
        trim_log(log)
        writer.write(b"next")

    assert log.read_bytes() == b"next"
    assert (tmp_path / "log.1").read_bytes() == b"x" * 11


def test_small_log_is_kept(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"x" * 11)

    trim_log(log)

    assert log.read_bytes() == b"x" * 11
