"""What somebody set at the root of an uplink comes back on the real kernel, word for word."""

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.enforcers.fake_tc import Killed
from tests.enforcers.policies import desired, document, nothing, uplink, vnic
from tests.enforcers.rig import Rig, start_rig
from tests.host.agent_process import Host
from tests.host.network import NamespaceRunner, Network
from tests.host.test_agent_process import is_enforcing, until
from tests.host.test_htb_settings import tc

pytestmark = pytest.mark.root

HTB = "tc_htb"
TBF = "tbf rate 50mbit burst 5kb latency 50ms"
TREE = [f"root handle 1: {TBF}", "parent 1:1 handle 2: pfifo limit 10"]
QUEUES = [
    "root handle 1: mq",
    "parent 1:1 pfifo limit 10",
    f"parent 1:3 handle 7: {TBF}",
    "parent 7:1 handle 8: bfifo limit 9000",
]
SET_BY_SOMEBODY = {
    "pfifo": ["root pfifo limit 100"],
    "bfifo": ["root handle 7: bfifo limit 20000"],
    "pfifo_fast": ["root pfifo_fast"],
    "noqueue": ["root noqueue"],
    "tbf": [f"root {TBF}"],
    "tbf with a queue": TREE,
    "mq": ["root mq"],
    "mq with children": QUEUES,
}
POLICY = desired(uplink(), vnic(1, 75e6))


@pytest.fixture
def four_queues(quiet_network: Network) -> Network:
    """The uplink up0 is an interface with four transmit queues."""
    run = quiet_network.runner.run
    run(["ip", "link", "del", "up0"])
    pair = ["numtxqueues", "4", "type", "veth", "peer", "name", "other"]
    run(["ip", "link", "add", "up0", *pair])
    run(["ip", "link", "set", "up0", "up"])
    return quiet_network


def set_there(network: Network, commands: Sequence[str]) -> tuple[str, ...]:
    """Do what an administrator did before the agent came, and give all that tc says of it."""
    for command in commands:
        tc(network, f"qdisc add dev up0 {command}")
    return shown(network)


def shown(network: Network) -> tuple[str, ...]:
    """All that tc says of the uplink: short, with details, as numbers, and its classes."""
    asked = ("qdisc", "-d qdisc", "-d -j qdisc", "-d class")
    return tuple(tc(network, f"{one} show dev up0") for one in asked)


@pytest.mark.parametrize("commands", SET_BY_SOMEBODY.values(), ids=SET_BY_SOMEBODY)
def test_what_somebody_set_comes_back(
    four_queues: Network, tmp_path: Path, commands: list[str]
) -> None:
    before = set_there(four_queues, [*commands, "clsact"])
    rig = start_rig(tmp_path, four_queues.runner)

    left = rig.apply(HTB, POLICY)
    between = shown(four_queues)
    restored = rig.apply(HTB, nothing("up0")).restored

    assert left.notes == {}
    assert "htb 51ce: root" in between[0]
    assert shown(four_queues) == before
    assert restored == rig.ledger.entries()


@pytest.mark.parametrize("name", ["a", "type", "up"])
def test_interface_may_be_called_like_a_word_of_ip(
    quiet_network: Network, tmp_path: Path, name: str
) -> None:
    pair = ["name", name, "type", "veth", "peer", "name", "other"]
    quiet_network.runner.run(["ip", "link", "add", *pair])
    tc(quiet_network, f"qdisc add dev {name} root pfifo limit 100")
    rig = start_rig(tmp_path, quiet_network.runner, interfaces=frozenset({name}))

    left = rig.apply(HTB, desired(uplink(device=name), vnic(1, 75e6)))

    assert left.notes == {}


class CutShort(NamespaceRunner):
    """The agent is killed once so many lines of a batch were carried out."""

    def __init__(self, network: Network, lines: int) -> None:
        super().__init__(network.host)
        self._lines = lines

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        if "51ce:" not in stdin and "qdisc del" not in stdin:
            return super().run(argv, stdin=stdin)
        super().run(argv, stdin="".join(stdin.splitlines(keepends=True)[: self._lines]))
        raise Killed


@pytest.mark.parametrize("is_next_agent", [False, True], ids=["restored", "by the next agent"])
@pytest.mark.parametrize("lines", range(len(QUEUES) + 2))
def test_restore_that_is_cut_short_is_finished(
    four_queues: Network, tmp_path: Path, lines: int, is_next_agent: bool
) -> None:
    before = set_there(four_queues, QUEUES)
    start_rig(tmp_path, four_queues.runner).apply(HTB, POLICY)
    with pytest.raises(Killed):
        start_rig(tmp_path, CutShort(four_queues, lines)).apply(HTB, nothing("up0"))

    rig = start_rig(tmp_path, four_queues.runner)
    if is_next_agent:
        assert rig.apply(HTB, POLICY).notes == {}
    rig.enforcement.run(None, previous=None, now_s=0.0)

    assert shown(four_queues) == before
    assert rig.ledger.entries() == ()


@pytest.mark.parametrize("lines", range(6))
def test_take_over_that_is_cut_short_is_put_back(
    four_queues: Network, tmp_path: Path, lines: int
) -> None:
    before = set_there(four_queues, QUEUES)
    with pytest.raises(Killed):
        start_rig(tmp_path, CutShort(four_queues, lines)).apply(HTB, POLICY)

    rig = start_rig(tmp_path, four_queues.runner)
    rig.enforcement.run(None, previous=None, now_s=0.0)

    assert shown(four_queues) == before
    assert rig.ledger.entries() == ()


class Refused(NamespaceRunner):
    """Puts a line that the kernel refuses in the place of one of the first batch."""

    def __init__(self, network: Network, number: int) -> None:
        super().__init__(network.host)
        self._number: int | None = number

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        lines = stdin.splitlines()
        if "51ce: htb" in stdin and self._number is not None:
            lines[self._number] = "class add dev up0 parent ffee: classid ffee:1 htb rate 8kbit"
            self._number = None
        return super().run(argv, stdin="".join(f"{line}\n" for line in lines))


# A root, its class, the host's class and queue, and the workload's class, queue and filter.
@pytest.mark.parametrize("number", range(7))
def test_refused_line_leaves_what_was_found(
    four_queues: Network, tmp_path: Path, number: int
) -> None:
    before = set_there(four_queues, QUEUES)
    rig = start_rig(tmp_path, Refused(four_queues, number))
    policy = document(vnic(1, 75e6))

    result = rig.enforcement.run(policy, previous=None, now_s=0.0)
    between = shown(four_queues)
    again = rig.enforcement.run(policy, previous=None, now_s=1.0, at_once=True)

    assert result.enforced[0].outcome == "failed"
    assert between == before
    assert not again.has_failed
    assert "htb 51ce: root" in shown(four_queues)[0]


def test_what_somebody_set_in_the_place_of_the_tree_is_what_comes_back(
    host_rig: Rig, quiet_network: Network
) -> None:
    set_there(quiet_network, ["root pfifo limit 100"])
    policy = document(vnic(1, 75e6))
    host_rig.enforcement.run(policy, previous=None, now_s=0.0)
    tc(quiet_network, "qdisc replace dev up0 root bfifo limit 9000")
    newest = shown(quiet_network)

    result = host_rig.enforcement.run(policy, previous=policy, now_s=1.0)
    between = shown(quiet_network)
    host_rig.enforcement.run(None, previous=policy, now_s=2.0)

    assert result.enforced[0].outcome == "drifted"
    assert "htb 51ce: root" in between[0]
    assert shown(quiet_network) == newest


@pytest.mark.parametrize("end", ["stop", "restore", "next agent", "lease"])
def test_what_somebody_set_comes_back_however_the_agent_ends(
    quiet_network: Network, tmp_path: Path, end: str
) -> None:
    before = set_there(quiet_network, TREE)
    host = Host(quiet_network, tmp_path)
    host.publish(vnic(1, 75e6), lease_s=6.0 if end == "lease" else 600.0)
    host.start()
    try:
        host.report(is_enforcing(1))
        between = shown(quiet_network)
        host.end(signal.SIGTERM if end == "stop" else signal.SIGKILL)
        if end == "restore":
            host.run("restore")
        elif end == "next agent":
            host.start()
            host.report(is_enforcing(1))
            host.end(signal.SIGTERM)
    finally:
        if host.agent is not None and host.agent.poll() is None:
            host.end(signal.SIGKILL)

    def is_back() -> bool:
        if end == "lease":
            host.run("restore", "--if-over")
        return shown(quiet_network) == before

    assert "htb 51ce: root" in between[0]
    assert until(is_back)
