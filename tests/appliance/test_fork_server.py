"""Copies of a loaded process: whose children they are, what they run as, and when none is made."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.embedded import children
from appliance.embedded.child import Child, ChildSpec
from appliance.embedded.fork_server import (
    ANSWER_S,
    PR_SET_CHILD_SUBREAPER,
    READY,
    READY_S,
    ForkedProcess,
    ForkRequest,
    adopt_orphans,
    await_orphans,
    fork_process,
    is_open,
)
from appliance.embedded.supervisor import Supervisor
from config.paths import DataDir
from tests.appliance.embedded_run import short_directory

DEADLINE_S = 120
# It loads all of the product, beside other tests.
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module", autouse=True)
def adopting() -> Iterator[None]:
    adopt_orphans()
    yield
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture(scope="module")
def fork_server(folder) -> Iterator[Path]:
    with open_fork_server(folder / "data") as path:
        yield path


class open_fork_server:  # noqa: N801  used as a function
    """A fork server of a data directory, whose copies find the modules beside it."""

    def __init__(self, root: Path) -> None:
        data = DataDir(root)
        data.logs.mkdir(parents=True, exist_ok=True)
        spec = children.fork_server(data)
        own = {**spec.environment, "PYTHONPATH": str(root.parent), "SLUICE_SECRET_KEY": "unused"}
        self.child = Child(
            ChildSpec(name=spec.name, argv=spec.argv, log=spec.log, environment=own)
        )
        self.path = data.fork_server_socket
        wait_until(lambda: is_open(self.path))

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.child.stop(at_once=True)


def wait_until(question: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not question():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def program(folder: Path, name: str, text: str) -> str:
    # A copy that is being loaded reads the file.
    if not (path := folder / f"{name}.py").exists():
        path.write_text(textwrap.dedent(text))
    return name


def copy_of(
    folder: Path, fork_server: Path, module: str, *arguments: str, nice: int = 0
) -> ForkedProcess:
    request = ForkRequest(
        module=module,
        arguments=arguments,
        environment={"WHO": "copy"},
        stop_signal=signal.SIGTERM,
        nice=nice,
    )
    with (folder / f"{module}.log").open("ab") as log:
        return fork_process(fork_server, request, log.fileno())


def waits(folder: Path) -> str:
    return program(folder, "waits", "import time\ntime.sleep(600)\n")


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_copy_runs_a_module_as_a_program_of_its_own(folder, fork_server):
    module = program(
        folder,
        "tells",
        """
        import json, os, signal, sys
        assert __name__ == "__main__"
        print(json.dumps({
            "arguments": sys.argv[1:], "environment": dict(os.environ), "nice": os.nice(0),
            "session": os.getsid(0) == os.getpid(), "parent": os.getppid(),
            "title": open("/proc/self/cmdline").read().rstrip(chr(0)),
            "loaded": "advisor.tasks" in sys.modules,
            "open": sorted(fd for fd in map(int, os.listdir("/proc/self/fd")) if fd < 3)
            + [fd for fd in range(3, 256) if os.path.exists(f"/proc/self/fd/{fd}")],
            "threads": len(os.listdir("/proc/self/task")),
            "usual signals": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
            and signal.getsignal(signal.SIGINT) == signal.default_int_handler
            and not signal.pthread_sigmask(signal.SIG_BLOCK, []),
        }))
        print("and complains", file=sys.stderr)
        sys.exit(7)
        """,
    )

    status = copy_of(folder, fork_server, module, "--queue=a b", nice=3).wait(DEADLINE_S)

    said, complained = (folder / "tells.log").read_text().splitlines()
    assert status == 7
    assert complained == "and complains"
    assert json.loads(said) == {
        "arguments": ["--queue=a b"],
        "environment": {"WHO": "copy"},
        "nice": os.nice(0) + 3,
        "session": True,
        "parent": os.getpid(),
        "title": "tells --queue=a b",
        "loaded": True,
        "open": [0, 1, 2],
        "threads": 1,
        "usual signals": True,
    }


def test_a_long_command_line_is_cut(folder, fork_server):
    module = program(folder, "called", "print(open('/proc/self/cmdline').read().rstrip(chr(0)))")

    copy_of(folder, fork_server, module, "x" * 5000).wait(DEADLINE_S)

    said = (folder / "called.log").read_text().strip()
    # As long as the command line of the fork server, whose socket's path it ends with.
    assert len(str(fork_server)) < len(said) < len(str(fork_server)) + 500
    assert said == f"called {'x' * 5000}"[: len(said)]


def test_a_copy_is_stopped_by_signals_and_by_force(folder, fork_server):
    asked, forced = (copy_of(folder, fork_server, waits(folder)) for _ in range(2))

    assert asked.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        asked.wait(0.1)
    asked.send_signal(signal.SIGTERM)
    forced.kill()

    assert asked.wait(DEADLINE_S) == -signal.SIGTERM
    assert forced.wait(DEADLINE_S) == -signal.SIGKILL
    assert asked.poll() == -signal.SIGTERM
    asked.send_signal(signal.SIGTERM)


def test_a_copy_lives_on_without_the_fork_server(folder):
    with open_fork_server(folder / "short") as path:
        copy = copy_of(folder, path, waits(folder))

    assert not is_open(path)
    assert copy.poll() is None
    assert parent_of(copy.pid) == os.getpid()
    with pytest.raises(ConnectionRefusedError):
        copy_of(folder, path, "waits")
    copy.kill()
    copy.wait(DEADLINE_S)


def test_a_copy_without_the_word_of_the_supervisor_ends(folder, fork_server):
    request = {"module": waits(folder), "arguments": [], "environment": {}, "stop_signal": 15}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.connect(str(fork_server))
        assert connection.recv(len(READY)) == READY
        with (folder / "unheard.log").open("ab") as log:
            socket.send_fds(connection, [json.dumps(request).encode()], [log.fileno()])
        pid = int(connection.recv(32))
        assert parent_of(pid) == os.getpid()

    wait_until(lambda: not is_there(pid))
    await_orphans([])
    assert is_open(fork_server)


def test_another_process_gets_no_copy(folder, fork_server):
    asks = f"""
    import socket
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect({str(fork_server)!r})
    print(connection.recv(5))
    """

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(asks)], capture_output=True, check=True
    )

    assert done.stdout.strip() == b"b''"
    assert fork_server.stat().st_mode & 0o777 == 0o600


def test_who_asks_for_nothing_keeps_nobody_waiting_for_long(folder, fork_server):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as idle:
        idle.connect(str(fork_server))
        began = time.monotonic()
        wait_until(lambda: is_open(fork_server))

    # What the other keeps open, and a question that came too early.
    assert time.monotonic() - began < 2 * (ANSWER_S + READY_S)


def test_a_copy_ends_with_its_supervisor(folder):
    """As a program of a supervisor that is killed does."""
    root = folder / "killed"
    script = program(
        folder,
        "supervises",
        f"""
        import sys, time
        sys.path.insert(0, {str(folder)!r})
        from pathlib import Path
        from appliance.embedded.fork_server import adopt_orphans
        from tests.appliance.test_fork_server import copy_of, open_fork_server, waits
        folder = Path({str(folder)!r})
        adopt_orphans()
        with open_fork_server(Path({str(root)!r})) as path:
            print(copy_of(folder, path, waits(folder)).pid, flush=True)
            time.sleep(600)
        """,
    )
    supervising = subprocess.Popen(
        [sys.executable, folder / f"{script}.py"],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
    )
    assert supervising.stdout is not None
    pid = int(supervising.stdout.readline())
    assert is_there(pid)

    supervising.kill()
    supervising.communicate()

    wait_until(lambda: not is_there(pid))


def test_orphans_are_awaited_and_own_processes_left_to_their_owner():
    own = subprocess.Popen(["true"])
    orphan = subprocess.run(
        ["sh", "-c", "sleep 0.2 >/dev/null 2>&1 & echo $!"], capture_output=True, check=True
    )
    pid = int(orphan.stdout)
    wait_until(lambda: not is_there(pid))

    wait_until(lambda: (await_orphans([own.pid]), not Path(f"/proc/{pid}").exists())[1])

    assert own.wait() == 0


def test_a_fork_server_that_stands_still_keeps_nobody_for_long(folder):
    with open_fork_server(folder / "still") as path:
        (fork_server_pid,) = (
            int(entry.name)
            for entry in Path("/proc").glob("[0-9]*")
            if str(path) in command_line(entry)
        )
        os.kill(fork_server_pid, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            copy_of(folder, path, waits(folder))
        assert not is_open(path)
        assert time.monotonic() - began < 3 * READY_S
        os.kill(fork_server_pid, signal.SIGCONT)
        wait_until(lambda: is_open(path))
        copy = copy_of(folder, path, waits(folder))
        copy.kill()
        copy.wait(DEADLINE_S)


def command_line(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_text()
    except OSError:
        return ""


def test_a_process_that_somebody_else_awaited_has_ended(folder, fork_server):
    copy = copy_of(folder, fork_server, waits(folder))
    copy.kill()
    os.waitpid(copy.pid, 0)

    assert copy.poll() == 0


def test_more_than_a_packet_is_refused(folder, fork_server):
    with pytest.raises(OSError, match="too large an environment"):
        copy_of(folder, fork_server, waits(folder), "x" * 2**18)


def test_first_start_waits_for_a_fork_server_that_has_to_come_back(folder):
    data = DataDir(folder / "first")
    data.logs.mkdir(parents=True)
    said: list[str] = []
    supervisor = Supervisor(said.append)
    loaded = open_fork_server(folder / "first")
    loaded.child.stop(at_once=True)
    copy = ChildSpec(
        name="copy",
        argv=(sys.executable, "-m", waits(folder)),
        log=data.logs / "copy.log",
        fork_server=data.fork_server_socket,
    )

    starting = ChildSpec(
        name="fork-server",
        argv=loaded.child.spec.argv,
        log=loaded.child.spec.log,
        environment=loaded.child.spec.environment,
    )
    # It counts as ready before it has loaded.
    supervisor.start(starting)
    try:
        supervisor.start(copy)
        assert len(supervisor.processes()) == 2
    finally:
        supervisor.stop()
    assert any("copy cannot be started" in line for line in said)


def test_a_supervisor_starts_copies_again_once_the_fork_server_is_back(folder):
    data = DataDir(folder / "again")
    data.logs.mkdir(parents=True)
    said: list[str] = []
    supervisor = Supervisor(said.append)
    environment = {"PYTHONPATH": str(folder), "SLUICE_SECRET_KEY": "unused"}
    fork_server = children.fork_server(data)
    fork_server = ChildSpec(
        name=fork_server.name,
        argv=fork_server.argv,
        log=fork_server.log,
        environment={**fork_server.environment, **environment},
        is_ready=fork_server.is_ready,
    )
    copy = ChildSpec(
        name="copy",
        argv=(sys.executable, "-m", waits(folder)),
        log=data.logs / "copy.log",
        fork_server=data.fork_server_socket,
    )
    supervisor.start(fork_server)
    supervisor.start(copy)
    before = supervisor.processes()
    for pid in before:
        os.kill(pid, signal.SIGKILL)

    def is_back() -> bool:
        supervisor.check()
        now = supervisor.processes()
        return len(now) == 2 and not set(now) & set(before) and is_open(data.fork_server_socket)

    try:
        wait_until(is_back)
    finally:
        supervisor.stop()
    assert any("copy cannot be started" in line for line in said)


@pytest.mark.parametrize("answer", [b"", b"no"])
def test_a_fork_server_that_makes_no_copy_is_an_error(folder, answer):
    path = folder / "odd.sock"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        server.bind(str(path))
        server.listen()
        asked = f"""
        import socket, sys
        from pathlib import Path
        from appliance.embedded.fork_server import ForkRequest, fork_process
        request = ForkRequest(module="x", arguments=[], environment={{}}, stop_signal=15)
        try:
            fork_process(Path({str(path)!r}), request, 1)
        except OSError as error:
            print(type(error).__name__)
        """
        asking = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(asked)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
        )
        connection, _ = server.accept()
        with connection:
            connection.send(READY)
            connection.recv(4096)
            if answer:
                connection.send(answer)
        assert asking.communicate()[0].strip() == b"ConnectionAbortedError"
