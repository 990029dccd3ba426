"""How the commands end: the exit status and what is said, for the agent as well."""

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from enforcers import cli, signals
from enforcers.contract import encode_document
from enforcers.ledger import Ledger, LedgerEntry
from enforcers.state_dir import StateDir
from tests.enforcers.agent_files import write_agent_toml
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import document, vnic
from tests.enforcers.web_service import WebService, web_service

pytestmark = pytest.mark.usefixtures("deaf")

LONG_ENOUGH_S = 30.0


@pytest.fixture
def service() -> Iterator[WebService]:
    with web_service() as running:
        now = datetime.now(UTC)
        given = document(vnic(1), issued_at=now, expires_at=now + timedelta(minutes=15))
        running.answer = encode_document(given)
        yield running


@pytest.fixture
def agent_toml(tmp_path: Path, service: WebService) -> Path:
    """The configuration of host h1 for the running service."""
    return write_agent_toml(tmp_path, service.url, '[tc_htb]\ninterfaces = ["up0"]\n')


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> FakeTc:
    """The kernel that the command finds."""
    kernel = FakeTc("up0", "p1", "p2")
    monkeypatch.setattr("enforcers.assembly.SubprocessRunner", lambda: kernel)
    return kernel


@pytest.fixture
def changed_device(agent_toml: Path, kernel: FakeTc) -> FakeTc:
    """A kernel that an agent changed and left."""
    state_dir = StateDir(root=agent_toml.parent / "state")
    state_dir.create()
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    found = LedgerEntry(
        mechanism="tc_htb", device="up0", thing="root qdisc", found="qdisc noqueue 0: root"
    )
    Ledger(state_dir.ledger, boot_id=boot_id).record((found,))
    kernel.run(
        ["tc", "qdisc", "add", "dev", "up0", "root", "handle", "51ce:", "htb", "default", "2"]
    )
    return kernel


def run(*argv: str | Path) -> int:
    return cli.main([str(item) for item in argv])


def test_restore_that_the_kernel_refuses_fails_and_says_why(
    agent_toml: Path, changed_device: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    changed_device.refuse = "qdisc del"

    status = run("restore", "--config", agent_toml)

    shown = capsys.readouterr()
    assert status == 1
    assert "as found" not in shown.out
    assert run("restore", "--config", agent_toml, "--json") == 1
    assert len(json.loads(capsys.readouterr().out)["problems"]) == 1
    assert "RTNETLINK answers" in shown.err


def test_restore_as_json_names_devices_and_problems(
    agent_toml: Path, changed_device: FakeTc, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run("restore", "--config", agent_toml, "--json")

    assert status == 0
    assert json.loads(capsys.readouterr().out) == {"devices": ["up0"], "problems": []}


def test_json_and_text_end_alike(agent_toml: Path, kernel: FakeTc) -> None:
    assert run("plan", "--config", agent_toml) == 0
    assert run("plan", "--config", agent_toml, "--json") == 0


ENDING = [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT]


def once_reported(agent_toml: Path, *actions: Callable[[], None]) -> threading.Thread:
    """Do things, each after a new report; starts at once."""
    status = StateDir(root=agent_toml.parent / "state").status

    def act() -> None:
        seen = None
        for action in actions:
            deadline = time.monotonic() + LONG_ENOUGH_S
            while time.monotonic() < deadline and (not status.exists() or _at(status) == seen):
                time.sleep(0.01)
            seen = _at(status) if status.exists() else None
            action()

    thread = threading.Thread(target=act)
    thread.start()
    return thread


def _at(status: Path) -> int:
    return status.stat().st_mtime_ns


def send(number: signal.Signals) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", ENDING, ids=str)
def test_agent_that_is_told_to_stop_puts_the_kernel_back_and_ends_well(
    number: signal.Signals, agent_toml: Path, service: WebService, kernel: FakeTc
) -> None:
    stopper = once_reported(agent_toml, send(number))
    status = run("run", "--config", agent_toml)
    stopper.join()

    assert status == 0
    assert kernel.devices["up0"].htb is None
    assert any("class add dev up0" in command for command in kernel.commands)
    assert StateDir(root=agent_toml.parent / "state").running_pid() is None


def test_agent_shows_its_figures_while_it_runs_and_since_when_also_after_a_reload(
    agent_toml: Path, kernel: FakeTc
) -> None:
    path = agent_toml.parent / "m.sock"
    agent_toml.write_text(f'{agent_toml.read_text()}[metrics]\nlisten = "m.sock"\n')
    since: list[str] = []

    def look_and(number: signal.Signals) -> Callable[[], None]:
        def act() -> None:
            since.append(shown_line(path, "sluice_enforcer_enforced_since_timestamp_seconds{"))
            os.kill(os.getpid(), number)

        return act

    stopper = once_reported(agent_toml, look_and(signal.SIGHUP), look_and(signal.SIGTERM))
    assert run("run", "--config", agent_toml) == 0
    stopper.join()

    before, after = (float(line.rpartition(" ")[2]) for line in since)
    # It is computed from two clocks; a reload and another pass take longer.
    assert after == pytest.approx(before, abs=0.005, rel=0.0)
    assert not path.exists()


def shown_line(path: Path, start: str) -> str:
    """The line of /metrics that begins so, once it is there."""
    deadline = time.monotonic() + LONG_ENOUGH_S
    while time.monotonic() < deadline:
        with suppress(OSError), socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(path))
            asking.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            text = b"".join(iter(lambda: asking.recv(65536), b"")).decode()
            found = [line for line in text.splitlines() if line.startswith(start)]
            if found:
                return found[0]
        time.sleep(0.05)
    raise AssertionError(f"no line {start} at {path}")


@pytest.mark.parametrize("number", ENDING, ids=str)
def test_agent_that_is_told_to_stop_at_its_start_puts_back_what_another_left(
    number: signal.Signals, agent_toml: Path, changed_device: FakeTc
) -> None:
    signals.hold_back()
    signal.pthread_kill(threading.main_thread().ident or 0, number)

    status = run("run", "--config", agent_toml)

    assert status == 0
    assert changed_device.devices["up0"].htb is None


def test_agent_reads_its_configuration_again_when_told(
    agent_toml: Path, service: WebService, kernel: FakeTc
) -> None:
    def configure() -> None:
        text = agent_toml.read_text()
        agent_toml.write_text(text.replace('["up0"]', '["p2"]'))
        os.kill(os.getpid(), signal.SIGHUP)

    def stop() -> None:
        seen.append(kernel.devices["up0"].htb)
        os.kill(os.getpid(), signal.SIGTERM)

    seen: list[object] = []
    teller = once_reported(agent_toml, configure, stop)
    status = run("run", "--config", agent_toml)
    teller.join()

    assert status == 0
    assert any("class add dev up0" in command for command in kernel.commands)
    # The interface is no longer the agent's, so it was put back while the agent ran.
    assert seen == [None]


def test_agent_that_is_put_into_dry_run_still_puts_back_what_it_did(
    agent_toml: Path, service: WebService, kernel: FakeTc
) -> None:
    def configure() -> None:
        in_force.append(kernel.devices["up0"].htb)
        text = agent_toml.read_text()
        agent_toml.write_text(text.replace('host = "h1"', 'host = "h1"\ndry_run = true'))
        os.kill(os.getpid(), signal.SIGHUP)

    in_force: list[object] = []
    teller = once_reported(agent_toml, configure, send(signal.SIGTERM))
    status = run("run", "--config", agent_toml)
    teller.join()

    assert status == 0
    assert in_force == [("51ce:", "2")]
    assert kernel.devices["up0"].htb is None


@pytest.mark.usefixtures("service")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (('host = "h1"', 'host = "h1"\ndry_run = "perhaps"'), "must be true or false"),
        (('state_dir = "state"', 'state_dir = "other"'), "cannot change while the agent runs"),
        (('url = "http:', 'ca_file = "gone.pem"\nurl = "https:'), "No such file"),
    ],
)
def test_configuration_of_no_use_is_not_taken(
    agent_toml: Path,
    kernel: FakeTc,
    caplog: pytest.LogCaptureFixture,
    change: tuple[str, str],
    reason: str,
) -> None:
    def configure() -> None:
        agent_toml.write_text(agent_toml.read_text().replace(*change))
        os.kill(os.getpid(), signal.SIGHUP)

    def stop() -> None:
        seen.append(kernel.devices["up0"].htb)
        os.kill(os.getpid(), signal.SIGTERM)

    seen: list[object] = []
    teller = once_reported(agent_toml, configure, stop)
    status = run("run", "--config", agent_toml)
    teller.join()

    assert status == 0
    errors = [str(record.__dict__.get("error")) for record in caplog.records]
    assert any(reason in error for error in errors)
    assert seen == [("51ce:", "2")]


def test_new_version_takes_over_without_a_write(
    agent_toml: Path, service: WebService, kernel: FakeTc
) -> None:
    handing_over = once_reported(agent_toml, send(signal.SIGUSR1))
    run("run", "--config", agent_toml)
    handing_over.join()
    count, between = len(kernel.commands), kernel.text("up0")
    (agent_toml.parent / "state/status.json").unlink()

    handing_over = once_reported(agent_toml, send(signal.SIGUSR1))
    status = run("run", "--config", agent_toml)
    handing_over.join()

    assert status == 0
    assert "class htb 51ce:10" in between
    assert (len(kernel.commands), kernel.text("up0")) == (count, between)
