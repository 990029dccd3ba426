"""The agent puts back what it changed on the real kernel, whatever happens to it or the host."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.enforcers.policies import vnic
from tests.host.agent_process import CHECKOUT, Host
from tests.host.network import SENDER, SINK, Network
from tests.host.paced import PacedFlow
from tests.host.test_agent_process import is_enforcing, until

pytestmark = pytest.mark.root


@pytest.fixture
def host(quiet_network: Network, tmp_path: Path) -> Iterator[Host]:
    """An agent that enforces, and a policy that stays for ten minutes."""
    running = Host(quiet_network, tmp_path)
    running.publish(vnic(1, 75e6), vnic(2))
    running.start()
    running.report(is_enforcing(1))
    yield running
    if running.agent is not None and running.agent.poll() is None:
        running.end(signal.SIGKILL)


def qdiscs(network: Network, device: str) -> str:
    return network.runner.run(["tc", "qdisc", "show", "dev", device])


def rename(network: Network, old: str, new: str) -> None:
    for words in ("down", f"name {new}"):
        network.runner.run(["ip", "link", "set", old, *words.split()])
    network.runner.run(["ip", "link", "set", new, "up"])


def entries(ledger: Path) -> list[object]:
    found: list[object] = json.loads(ledger.read_text())["content"]["entries"]
    return found


def ledgers(host: Host) -> list[Path]:
    return [host.folder / "state" / name for name in ("ledger.json", "ledger.copy.json")]


def test_interface_that_is_renamed_is_put_back(host: Host, quiet_network: Network) -> None:
    rename(quiet_network, "up0", "up9")

    assert until(lambda: "51ce" not in qdiscs(quiet_network, "up9"))
    assert until(lambda: all(not entries(path) for path in ledgers(host)))


@pytest.mark.parametrize("damage", ["removed", "cut", "empty"])
def test_tree_without_a_ledger_is_put_back_by_command(
    host: Host, quiet_network: Network, damage: str
) -> None:
    host.end(signal.SIGKILL)
    for path in ledgers(host):
        if damage == "removed":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:40] if damage == "cut" else b"")

    said = host.run("restore")

    assert said == "as found: up0\n"
    assert "51ce" not in qdiscs(quiet_network, "up0")


def test_tree_without_a_ledger_is_put_back_by_the_next_agent(
    host: Host, quiet_network: Network
) -> None:
    host.end(signal.SIGKILL)
    for path in ledgers(host):
        path.unlink()

    host.start()
    host.report(is_enforcing(1))
    status = host.end(signal.SIGTERM)

    assert status == 0
    assert "51ce" not in qdiscs(quiet_network, "up0")


def test_quit_restores_and_hangup_does_not_end_the_agent(
    host: Host, quiet_network: Network
) -> None:
    host.configure(poll_s=0.2)
    host.tell(signal.SIGHUP)
    host.report(is_enforcing(1))
    between = qdiscs(quiet_network, "up0")

    status = host.end(signal.SIGQUIT)

    assert "51ce" in between
    assert "configuration read again" in host.log()
    assert status == 0
    assert "51ce" not in qdiscs(quiet_network, "up0")


def test_policy_of_a_killed_agent_is_put_back_once_its_lease_is_over(
    host: Host, quiet_network: Network
) -> None:
    host.publish(vnic(1, 75e6), revision=2, lease_s=6.0)
    host.report(is_enforcing(2))
    host.end(signal.SIGKILL)

    host.run("restore", "--if-over")
    between = qdiscs(quiet_network, "up0")

    def is_back() -> bool:
        host.run("restore", "--if-over")
        return "51ce" not in qdiscs(quiet_network, "up0")

    assert "51ce" in between
    assert until(is_back)


def test_new_version_takes_over_without_a_change(host: Host, quiet_network: Network) -> None:
    before = quiet_network.settings()
    host.end(signal.SIGUSR1)
    between = quiet_network.settings()

    host.start()
    host.report(is_enforcing(1))

    assert before == between == quiet_network.settings()
    audit = (host.folder / "state/audit.jsonl").read_text().splitlines()
    host.end(signal.SIGUSR1)
    assert (host.folder / "state/audit.jsonl").read_text().splitlines() == audit


def test_new_version_takes_over_and_no_packet_is_lost(host: Host, quiet_network: Network) -> None:
    quiet_network.start(quiet_network.sink, SINK)
    quiet_network.start(quiet_network.workload(2), SENDER)
    # Below what is reserved for it, beside a workload that sends as much as it can.
    flow = PacedFlow(quiet_network, 1, bits_per_s=10e6, seconds=120)
    time.sleep(1)

    for _ in range(2):
        host.end(signal.SIGUSR1)
        host.start()
        host.report(is_enforcing(1))

    sent, arrived = flow.end()
    # The agent alone takes longer to start than a thousandth of a second, which a packet takes.
    assert sent > 1000
    assert sent - arrived == 0


def test_second_agent_keeps_its_hands_off(host: Host, quiet_network: Network) -> None:
    before = quiet_network.settings()
    config = (host.folder / "agent.toml").read_text().replace('"state"', '"other"')
    (host.folder / "other.toml").write_text(config)
    command = [word.replace("agent.toml", "other.toml") for word in host.command("restore")]

    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)

    assert quiet_network.settings() == before
    assert done.stdout == "as found: nothing had been changed\n"
    assert "another agent governs up0" in done.stderr
