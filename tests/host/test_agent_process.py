"""The agent as a process of its own on the real kernel, from first pull to last restore."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from enforcers.contract import ComplianceReport, EnforcementState, Outcome
from tests.enforcers.policies import vnic
from tests.host.agent_process import CHECKOUT, DEADLINE_S, Host
from tests.host.network import SENDER, SINK, Network

pytestmark = pytest.mark.root


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
    shown = host.report(is_enforcing(1)).allocations[0].read_back
    assert shown is not None
    assert shown.native is not None
    classid = shown.native.split()[1]

    quiet_network.runner.run(
        ["tc", "class", "change", "dev", "up0", "classid", classid, "htb", "rate", "1mbit"]
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
