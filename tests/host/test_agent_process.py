"""The agent as a process of its own on the real kernel, from first pull to last restore."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from enforcers.contract import (
    Allocation,
    ComplianceReport,
    EnforcementState,
    Outcome,
    decode_report,
    encode_document,
)
from tests.enforcers.policies import KEY, document, vnic
from tests.host.network import SENDER, SINK, Network

pytestmark = pytest.mark.root

CHECKOUT = Path(__file__).parents[2]
SERVICE = Path(__file__).with_name("document_server.py")
PORT = 8077
DEADLINE_S = 30.0


class Host:
    """An agent process and its service in the host's namespace."""

    def __init__(self, network: Network, folder: Path) -> None:
        self.network = network
        self.folder = folder
        self.agent: subprocess.Popen[bytes] | None = None
        for name, secret in (("token", b"sluice-token-0001"), ("signing-key", KEY)):
            (folder / name).write_bytes(secret)
            (folder / name).chmod(0o600)
        self.configure()
        code = (
            f"import runpy, sys; sys.argv[1:] = ['{PORT}', '{folder}']; "
            f"runpy.run_path('{SERVICE}')"
        )
        network.start(network.host, code)

    def configure(self, **agent: object) -> None:
        keys = {"host": "h1", "state_dir": "state", "poll_s": 0.3, "report_s": 2.0, **agent}
        lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
        (self.folder / "agent.toml").write_text(
            "\n".join(["[agent]", *lines])
            + f'\n[server]\nurl = "http://127.0.0.1:{PORT}"\ntoken_file = "token"\n'
            'signing_key_file = "signing-key"\ntimeout_s = 2.0\n'
            '[tc_htb]\ninterfaces = ["up0"]\n'
        )

    def publish(self, *allocations: Allocation, revision: int = 1, lease_s: float = 600.0) -> None:
        now = datetime.now(UTC)
        given = document(
            *allocations,
            revision=revision,
            issued_at=now,
            expires_at=now + timedelta(seconds=lease_s),
        )
        (self.folder / "incoming").write_bytes(encode_document(given))
        (self.folder / "incoming").rename(self.folder / "document")

    def withdraw(self) -> None:
        """From now on the service has no answer."""
        (self.folder / "document").unlink()

    def command(self, *argv: str) -> list[str]:
        config = str(self.folder / "agent.toml")
        inside = ["ip", "netns", "exec", self.network.host]
        return [*inside, sys.executable, "-m", "enforcers", *argv, "--config", config]

    def start(self) -> None:
        log = (self.folder / "agent.log").open("ab")
        with log:
            self.agent = subprocess.Popen(self.command("run"), cwd=CHECKOUT, stderr=log)

    def end(self, number: signal.Signals) -> int:
        self.tell(number)
        assert self.agent is not None
        return self.agent.wait(DEADLINE_S)

    def tell(self, number: signal.Signals) -> None:
        assert self.agent is not None
        self.agent.send_signal(number)

    def run(self, *argv: str) -> str:
        done = subprocess.run(
            self.command(*argv), cwd=CHECKOUT, check=True, capture_output=True, text=True
        )
        return done.stdout

    def report(self, is_wanted: Callable[[ComplianceReport], bool]) -> ComplianceReport:
        """The first report from now on that is wanted."""
        known = len(list(self.folder.glob("report-*")))
        deadline_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline_s:
            for path in sorted(self.folder.glob("report-*"))[known:]:
                found = decode_report(path.read_bytes())
                if is_wanted(found):
                    return found
            time.sleep(0.05)
        raise AssertionError(f"no such report; the agent said:\n{self.log()}")

    def log(self) -> str:
        return (self.folder / "agent.log").read_text()


def until(is_so: Callable[[], bool]) -> bool:
    """Whether it comes true before a deadline."""
    deadline_s = time.monotonic() + DEADLINE_S
    while not is_so() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return is_so()


@pytest.fixture
def host(quiet_network: Network, tmp_path: Path) -> Iterator[Host]:
    running = Host(quiet_network, tmp_path)
    yield running
    if running.agent is not None and running.agent.poll() is None:
        running.end(signal.SIGKILL)


def is_enforcing(revision: int) -> Callable[[ComplianceReport], bool]:
    return lambda report: (
        report.revision == revision and report.state is EnforcementState.ENFORCING
    )


def test_agent_pulls_enforces_proves_and_restores(host: Host, quiet_network: Network) -> None:
    before = quiet_network.settings()
    quiet_network.start(quiet_network.sink, SINK)
    for number in quiet_network.numbers:
        quiet_network.start(quiet_network.workload(number), SENDER)
    host.publish(vnic(1, 75e6), vnic(2), vnic(3))

    host.start()
    measured = host.report(
        lambda report: all(
            item.measured and item.measured.window_s > 1.5 for item in report.allocations
        )
    )
    host.publish(revision=2)
    host.report(lambda report: report.revision == 2 and report.state is EnforcementState.IDLE)

    first = measured.allocations[0]
    assert first.outcome is Outcome.UNCHANGED
    assert first.applied == first.read_back
    assert first.measured is not None
    # Three per cent of 94 Mbit/s for a short window on a machine that may stand still.
    assert first.measured.rate >= 75e6 - 0.03 * 94e6
    assert first.measured.backlogged_samples
    assert quiet_network.settings() == before


def test_termination_restores_what_was_found(host: Host, quiet_network: Network) -> None:
    before = quiet_network.settings()
    host.publish(vnic(1, 75e6))
    host.start()
    host.report(is_enforcing(1))

    status = host.end(signal.SIGTERM)

    assert status == 0
    assert quiet_network.settings() == before


def test_termination_may_keep_the_policy(host: Host, quiet_network: Network) -> None:
    host.configure(on_exit="keep")
    host.publish(vnic(1, 75e6))
    host.start()
    host.report(is_enforcing(1))
    during = quiet_network.settings()

    host.end(signal.SIGTERM)

    assert quiet_network.settings() == during
    assert host.run("restore") == "as found: up0\n"


def test_killed_agent_leaves_the_policy_and_the_next_one_goes_on(
    host: Host, quiet_network: Network
) -> None:
    before = quiet_network.settings()
    host.publish(vnic(1, 75e6), vnic(2))
    host.start()
    host.report(is_enforcing(1))
    during = quiet_network.settings()
    host.end(signal.SIGKILL)
    host.withdraw()
    between = quiet_network.settings()

    host.start()
    report = host.report(is_enforcing(1))
    host.end(signal.SIGTERM)

    assert during == between
    assert {item.outcome for item in report.allocations} == {Outcome.UNCHANGED}
    assert report.refusal is not None
    assert "status 503" in report.refusal
    assert quiet_network.settings() == before


def test_killed_agent_can_be_restored_by_command(host: Host, quiet_network: Network) -> None:
    before = quiet_network.settings()
    host.publish(vnic(1, 75e6))
    host.start()
    host.report(is_enforcing(1))
    host.end(signal.SIGKILL)

    said = host.run("restore", "--json")

    assert json.loads(said) == {"devices": ["up0"], "problems": []}
    assert quiet_network.settings() == before


def test_lease_that_is_not_renewed_ends_by_itself(host: Host, quiet_network: Network) -> None:
    before = quiet_network.settings()
    host.publish(vnic(1, 75e6), lease_s=4.0)
    host.start()
    host.report(is_enforcing(1))

    host.withdraw()

    assert until(lambda: quiet_network.settings() == before)
    report = host.report(lambda report: report.state is EnforcementState.EXPIRED)
    assert report.allocations == ()


def test_policy_changes_and_drift_are_reported_as_they_happen(
    host: Host, quiet_network: Network
) -> None:
    host.publish(vnic(1, 75e6, limit=90e6), vnic(2))
    host.start()
    host.report(is_enforcing(1))

    quiet_network.runner.run(
        ["tc", "class", "change", "dev", "up0", "classid", "51ce:10", "htb", "rate", "1mbit"]
    )
    drifted = host.report(lambda r: r.allocations[0].outcome is Outcome.DRIFTED)
    host.publish(vnic(1, 75e6, limit=80e6), vnic(2), revision=2)
    changed = host.report(is_enforcing(2))

    assert "rate 1000000 ceil 1000000" in drifted.allocations[0].reason
    outcomes = [item.outcome for item in changed.allocations]
    assert outcomes == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert changed.allocations[0].read_back is not None
    assert changed.allocations[0].read_back.limit == 80e6


def test_status_and_plan_tell_from_outside(host: Host) -> None:
    host.publish(vnic(1, 75e6))
    host.start()
    host.report(is_enforcing(1))

    status = json.loads(host.run("status", "--json"))
    plan = host.run("plan")

    assert host.agent is not None
    assert status["running_pid"] == host.agent.pid
    assert status["report"]["revision"] == 1
    assert plan == "revision 1 from the service\nup0: nothing to change\n"


def test_check_finds_htb_on_the_real_kernel() -> None:
    command = [sys.executable, "-m", "enforcers", "--check", "--json"]
    done = subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True, text=True)

    found = {item["mechanism"]: item for item in json.loads(done.stdout)["mechanisms"]}
    assert found["tc_htb"]["supported"] is True
    assert found["cgroup_io"]["reason"]
