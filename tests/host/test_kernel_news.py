"""The kernel tells of every change to interfaces and queues that the agent must see."""

import json
import sys
from pathlib import Path

import pytest

from enforcers.kernel_news import Group
from tests.enforcers.policies import desired, uplink, vnic
from tests.enforcers.rig import Rig
from tests.host.network import Network

pytestmark = pytest.mark.root

CHECKOUT = Path(__file__).parents[2]
POLICY = desired(uplink(), vnic(1, 30e6), vnic(2), vnic(3))
# Runs each command and says which groups had news of it.
LISTENER = f"""
import json, subprocess, sys
sys.path.insert(0, {str(CHECKOUT)!r})
from enforcers.kernel_news import Group, hear
ears = {{group.name: hear(group) for group in Group}}
def news():
    return [name for name, has_news in ears.items() if has_news()]
said = [news(), news()]
for command in json.loads(sys.argv[1]):
    subprocess.run(command, shell=True, check=True, capture_output=True)
    said.append(news())
print(json.dumps([*said, news()]))
"""
BOTH = [group.name for group in Group]
SHOWN = (
    "ip -j -d link show && tc qdisc show dev up0 && tc -s -d class show dev up0 "
    "&& tc filter show dev up0 parent 51ce:"
)


def news_of(network: Network, *commands: str) -> list[list[str]]:
    """The groups with news of each command."""
    shown = network.runner.run([sys.executable, "-c", LISTENER, json.dumps(commands)])
    first, again, *said, last = json.loads(shown)
    # At first everything may have changed, and nothing is told twice.
    assert (first, again, last) == (BOTH, [], [])
    return list(said)


@pytest.mark.parametrize(
    "command",
    [
        "tc class change dev up0 parent 51ce:1 classid 51ce:10 htb rate 1mbit ceil 2mbit",
        "tc class add dev up0 parent 51ce:1 classid 51ce:99 htb rate 1mbit",
        "tc filter del dev up0 parent 51ce: pref 10",
        "tc filter add dev up0 parent 51ce: protocol all pref 1 u32 match u32 0 0 classid 51ce:2",
        "tc qdisc replace dev up0 parent 51ce:10 handle 77: pfifo limit 5",
        "tc qdisc change dev up0 parent 51ce:10 bfifo limit 1234",
        "tc qdisc del dev up0 root",
        "tc qdisc replace dev up0 root pfifo",
    ],
)
def test_change_of_a_queue_is_told(host_rig: Rig, quiet_network: Network, command: str) -> None:
    host_rig.apply("tc_htb", POLICY)
    if "bfifo" in command and "bfifo" not in quiet_network.settings():
        pytest.skip("does not apply: the queues of this kernel are fq_codel")

    (news,) = news_of(quiet_network, command)

    assert Group.QUEUES.name in news


@pytest.mark.parametrize(
    "command",
    [
        "ip link del p1",
        "ip link set p1 down && ip link set p1 name other",
        "ip link set up0 mtu 1400",
        "ip link set p1 address 02:00:00:00:00:99",
        "ip link add p9 type veth peer name e9",
    ],
)
def test_change_of_an_interface_is_told(quiet_network: Network, command: str) -> None:
    (news,) = news_of(quiet_network, command)

    assert Group.LINKS.name in news


def test_looking_is_no_news(host_rig: Rig, quiet_network: Network) -> None:
    host_rig.apply("tc_htb", POLICY)

    assert news_of(quiet_network, SHOWN, SHOWN) == [[], []]


def test_more_news_than_fit_are_news(quiet_network: Network) -> None:
    many = "for n in $(seq 1000); do echo link set p1 mtu $((1000 + n)); done | ip -batch -"

    flooded, quiet, after = news_of(
        quiet_network, many, SHOWN.partition("&&")[0], "ip link del p1"
    )

    assert flooded == [Group.LINKS.name]
    assert quiet == []
    assert Group.LINKS.name in after
