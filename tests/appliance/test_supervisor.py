"""Child processes: started, awaited, restarted, given up, stopped without orphans."""

import errno
import os
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
from appliance.embedded.leftovers import Running
from appliance.embedded.supervisor import Supervisor, trim_log

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
LATER = "ended later"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(supervisor_module, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(supervisor_module, "LONGEST_PAUSE_S", 0.04)
    monkeypatch.setattr(supervisor_module, "CHECK_INTERVAL_S", 0.01)
    monkeypatch.setattr(supervisor_module, "LOOK_EACH_S", 0.01)
    monkeypatch.setattr(supervisor_module, "ALIVE_EACH_S", 0.01)


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


def process(supervisor: Supervisor, name: str) -> subprocess.Popen[bytes] | None:
    """Of a child, None while it waits to be started again."""
    child = supervisor._watched[name].child
    return child and child.process


def kill(supervisor: Supervisor, name: str) -> None:
    """Kill a child, and look until that was seen."""
    killed = process(supervisor, name)
    killed.kill()
    wait_for(lambda: supervisor.check() or process(supervisor, name) is not killed)


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
    assert said[0].endswith("starting child again in 0.01 s")


def test_child_that_keeps_crashing_is_started_for_ever_after_longer_and_longer_pauses(
    supervisor, spec, said
):
    supervisor.start(spec("raise SystemExit('no licence')"))

    wait_for(lambda: supervisor.check() or len(said) == 6)

    assert all("no licence" in words for words in said)
    pauses = [words.rpartition(" in ")[2] for words in said]
    assert pauses == ["0.01 s", "0.02 s", "0.04 s", "0.04 s", "0.04 s", "0.04 s"]


def test_child_that_worked_for_a_while_starts_again_with_the_first_pause(
    supervisor, spec, said, tmp_path, monkeypatch
):
    monkeypatch.setattr(supervisor_module, "STEADY_S", 0.05)
    supervisor.start(spec(f"import time; time.sleep(0.3); raise SystemExit({LATER!r})"))

    wait_for(lambda: supervisor.check() or sum(LATER in words for words in said) == 3)

    assert {words.rpartition(" in ")[2] for words in said if LATER in words} == {"0.01 s"}


def test_one_that_does_not_come_up_keeps_nobody_from_coming_back(supervisor, spec, said, tmp_path):
    """Web ends, and the database while web waits for it: both come back."""
    database, web = tmp_path / "database", tmp_path / "web"
    for mark in (database, web):
        mark.touch()
    supervisor.start(spec(SLEEPS, name="database", is_ready=database.exists))
    supervisor.start(spec(SLEEPS, name="web", is_ready=lambda: web.exists() and database.exists()))
    web.unlink()
    kill(supervisor, "web")
    wait_for(lambda: supervisor.check() or process(supervisor, "web") is not None)

    database.unlink()
    kill(supervisor, "database")
    wait_for(lambda: supervisor.check() or process(supervisor, "database") is not None)
    database.touch()
    web.touch()

    wait_for(lambda: supervisor.check() or len(said) == 4)
    assert sorted(said[2:]) == ["database works again", "web works again"]


def test_child_waits_for_the_one_that_it_needs(supervisor, spec, said, tmp_path):
    database = tmp_path / "database"
    database.touch()
    supervisor.start(spec(SLEEPS, name="database", is_ready=database.exists))
    supervisor.start(spec(SLEEPS, name="web", needs=("database",)))
    database.unlink()
    kill(supervisor, "database")
    kill(supervisor, "web")

    for _ in range(20):
        supervisor.check()
        time.sleep(0.01)
    assert process(supervisor, "web") is None
    database.touch()

    wait_for(lambda: supervisor.check() or process(supervisor, "web") is not None)


def test_silent_child_is_started_anew(supervisor, spec, said):
    answers = [True]
    supervisor.start(spec(SLEEPS, is_ready=lambda: answers[0], silent_timeout_s=0.05))
    first = process(supervisor, "child").pid
    answers[0] = False

    wait_for(lambda: supervisor.check() or len(said) == 1)
    answers[0] = True
    wait_for(lambda: supervisor.check() or len(said) == 2)

    assert said[0].startswith("child gave no answer for 0 s; its log is ")
    assert said[1] == "child works again"
    assert process(supervisor, "child").pid != first


TOUCHES = """
import pathlib, sys, time
while not pathlib.Path({stop!r}).exists():
    pathlib.Path({file!r}).touch()
    time.sleep(0.02)
time.sleep(600)
"""


def test_child_says_by_its_file_that_it_works(supervisor, spec, said, tmp_path):
    file, stop = tmp_path / "child.alive", tmp_path / "stop"
    program = TOUCHES.format(file=str(file), stop=str(stop))
    supervisor.start(spec(program, alive_file=file, silent_timeout_s=1.0))
    first = process(supervisor, "child").pid

    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        supervisor.check()
        time.sleep(0.1)
    assert process(supervisor, "child").pid == first
    assert said == []

    stop.touch()
    wait_for(lambda: supervisor.check() or len(said) == 1)
    stop.unlink()
    wait_for(lambda: supervisor.check() or len(said) == 2)

    assert said[0].startswith("child gave no answer for 1 s; its log is ")
    assert said[1] == "child works again"


def test_file_of_the_process_before_says_nothing_of_this_one(supervisor, spec, tmp_path):
    file = tmp_path / "child.alive"
    file.touch()

    with pytest.raises(ChildFailed, match="was not ready"):
        supervisor.start(spec(SLEEPS, alive_file=file, ready_timeout_s=0.2))


def test_child_has_its_time_to_start_before_it_counts_as_silent(supervisor, spec, said):
    slow = time.monotonic() + 0.5

    supervisor.start(spec(SLEEPS, is_ready=lambda: time.monotonic() > slow, silent_timeout_s=0.02))

    assert said == []


def test_child_that_is_alive_and_not_ready_is_left_to_itself(supervisor, spec, said, tmp_path):
    ready = [True]
    options = {"is_ready": lambda: ready[0], "is_alive": lambda: True, "silent_timeout_s": 0.02}
    supervisor.start(spec(SLEEPS, **options))
    ready[0] = False
    kill(supervisor, "child")

    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        supervisor.check()
        time.sleep(0.01)

    assert len(said) == 1
    assert "SIGKILL" in said[0]


def test_nobody_is_silent_while_the_one_it_needs_is_away(supervisor, spec, said, tmp_path):
    database = tmp_path / "database"
    database.touch()
    supervisor.start(spec(SLEEPS, name="database", is_ready=database.exists))
    options = {"needs": ("database",), "silent_timeout_s": 0.02, "is_ready": database.exists}
    supervisor.start(spec(SLEEPS, name="web", **options))
    database.unlink()
    kill(supervisor, "database")

    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        supervisor.check()
        time.sleep(0.01)

    assert [words.partition(" ")[0] for words in said] == ["database"]


def test_child_that_cannot_be_started_is_tried_again(supervisor, spec, said, monkeypatch):
    supervisor.start(spec(SLEEPS))
    real, tries = supervisor_module.Child, []

    def full(one):
        tries.append(one)
        if len(tries) < 3:
            raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
        return real(one)

    monkeypatch.setattr(supervisor_module, "Child", full)
    kill(supervisor, "child")

    wait_for(lambda: supervisor.check() or process(supervisor, "child") is not None)

    assert "child cannot be started: [Errno 12] Cannot allocate memory" in said[1]


def test_child_that_is_not_essential_may_fail_from_the_first_start_on(supervisor, spec, said):
    supervisor.start(spec(SLEEPS, name="main"))

    supervisor.start(spec("raise SystemExit(1)", name="extra", essential=False))

    wait_for(lambda: supervisor.check() or len(said) == 2)
    assert {words.partition(" ")[0] for words in said} == {"extra"}


def test_what_a_killed_run_left_is_ended_and_nothing_else(spec, tmp_path):
    running = Running(tmp_path / "running")
    left, spared = Child(spec(HAS_A_CHILD, name="left")), Child(spec(SLEEPS, name="spared"))
    log = tmp_path / "left.log"
    wait_for(lambda: log.read_text().endswith("\n"))
    running.keep([left.process.pid, spared.process.pid])
    # The number of a process that ended may be another's.
    with running.path.open("a") as file:
        file.write(f"{os.getpid()} 12345\nnonsense\n")

    said = running.end(but={spared.process.pid})

    assert said == "ended 1 processes that a killed run left"
    wait_for(lambda: not is_running(int(log.read_text())))
    assert spared.exit_status is None
    spared.stop(at_once=True)
    left.stop(at_once=True)
    assert running.end() is None


def test_supervisor_keeps_what_runs_of_it(spec, tmp_path):
    running = Running(tmp_path / "running")
    supervisor = Supervisor(lambda _: None, running)

    supervisor.start(spec(SLEEPS, name="one"), spec(SLEEPS, name="two"))

    assert sorted(running.left()) == sorted(
        process(supervisor, name).pid for name in ("one", "two")
    )
    supervisor.stop()
    assert running.left() == []


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


def test_question_that_fails_is_no_answer_and_ends_nothing(supervisor, spec, said):
    """A client library may raise what nobody thought of, as redis did for a broken pipe."""
    fails = [False]

    def is_ready():
        if fails[0]:
            raise RuntimeError("Error 32 while writing to socket. Broken pipe.")
        return True

    supervisor.start(spec(SLEEPS, is_ready=is_ready, silent_timeout_s=0.05))
    fails[0] = True

    wait_for(lambda: supervisor.check() or len(said) == 1)
    fails[0] = False
    wait_for(lambda: supervisor.check() or len(said) == 2)

    assert said[1] == "child works again"
