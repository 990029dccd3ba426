"""How the commands end: the exit status and what is said, for the agent as well."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from enforcers import cli
from enforcers.contract import encode_document
from enforcers.ledger import Ledger, LedgerEntry
from enforcers.state_dir import StateDir
from tests.enforcers.fake_tc import FakeTc
from tests.enforcers.policies import KEY, document, vnic
from tests.enforcers.web_service import WebService, web_service

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
    for name, secret in (("token", b"sluice-token-0001"), ("signing-key", KEY)):
        (tmp_path / name).write_bytes(secret)
        (tmp_path / name).chmod(0o600)
    file = tmp_path / "agent.toml"
    file.write_text(
        f'[agent]\nhost = "h1"\nstate_dir = "state"\n'
        f'[server]\nurl = "{service.url}"\n'
        'token_file = "token"\nsigning_key_file = "signing-key"\n'
        '[tc_htb]\ninterfaces = ["up0"]\n'
    )
    return file


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> FakeTc:
    """The kernel that the command finds."""
    kernel = FakeTc("up0", "p1", "p2")
    monkeypatch.setattr("enforcers.assembly.SubprocessRunner", lambda: kernel)
    return kernel


@pytest.fixture
def own_signals() -> Iterator[None]:
    """The test process has its own handlers again afterwards."""
    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


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
    kernel.run(["tc", "qdisc", "add", "dev", "up0", "root", "handle", "51ce:", "default", "2"])
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


@pytest.mark.usefixtures("own_signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_agent_that_is_told_to_stop_puts_the_kernel_back_and_ends_well(
    number: signal.Signals, agent_toml: Path, service: WebService, kernel: FakeTc
) -> None:
    state_dir = StateDir(root=agent_toml.parent / "state")

    def stop_after_the_first_report() -> None:
        deadline = time.monotonic() + LONG_ENOUGH_S
        while time.monotonic() < deadline and not state_dir.status.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    stopper = threading.Thread(target=stop_after_the_first_report)
    stopper.start()
    status = run("run", "--config", agent_toml)
    stopper.join()

    assert status == 0
    assert kernel.devices["up0"].htb is None
    assert any("class add dev up0" in command for command in kernel.commands)
    assert state_dir.running_pid() is None
