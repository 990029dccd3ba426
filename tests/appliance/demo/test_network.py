"""The demo's namespaces on the real kernel: what is built, and that nothing is left behind."""

import os
import subprocess
import sys
import time

import pytest

from appliance.demo import network as net
from appliance.demo.commands import run
from appliance.demo.traffic import __file__ as traffic_program

pytestmark = pytest.mark.root

PLAN = net.NetworkPlan(workloads=2, wire_bits_per_s=20e6)


@pytest.fixture(autouse=True)
def _real_namespaces():
    missing = net.missing_for_namespaces()
    if missing:
        pytest.skip(f"no network namespaces: {missing}")


def namespaces() -> set[str]:
    return {line.split()[0] for line in run(["ip", "netns", "list"]).splitlines()}


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def sent_bytes(built: net.Network, number: int) -> int:
    counter = f"/sys/class/net/{net.vnic(number)}/statistics/rx_bytes"
    return int(run(["ip", "netns", "exec", built.hypervisor, "cat", counter]))


def test_network_is_removed_with_its_processes():
    before = namespaces()

    with net.network(PLAN) as built:
        inside = subprocess.Popen(["ip", "netns", "exec", built.sink, "sleep", "600"])
        made = namespaces() - before

    assert made == set(built.namespaces())
    assert namespaces() == before
    assert inside.wait(5) != 0


def test_network_is_removed_after_a_failure():
    before = namespaces()

    with pytest.raises(ZeroDivisionError), net.network(PLAN):
        raise ZeroDivisionError

    assert namespaces() == before


@pytest.mark.parametrize(
    ("maker", "removed"), [(dead_pid, True), (os.getpid, False)], ids=["dead", "living"]
)
def test_leavings_are_removed_only_when_their_maker_is_dead(maker, removed):
    name = f"{net.NAME_PREFIX}-{maker()}-left"
    run(["ip", "netns", "add", name])
    try:
        assert (name in net.remove_leavings_of_the_dead()) is removed
        assert (name not in namespaces()) is removed
    finally:
        net.remove_namespace(name)


def test_traffic_of_all_workloads_fills_the_wire():
    with net.network(PLAN) as built:
        sink = ["ip", "netns", "exec", built.sink, sys.executable, traffic_program]
        children = [subprocess.Popen([*sink, "sink", net.SINK_ADDRESS, "5001"])]
        for number in built.workload_numbers():
            inside = ["ip", "netns", "exec", built.workload(number), sys.executable]
            send = ["send", net.SINK_ADDRESS, "5001", "2"]
            children.append(subprocess.Popen([*inside, traffic_program, *send]))
        deadline = time.monotonic() + 10
        while not all(sent_bytes(built, n) > 100_000 for n in (1, 2)):
            assert time.monotonic() < deadline
            time.sleep(0.1)

        began, first = time.monotonic(), [sent_bytes(built, n) for n in (1, 2)]
        while time.monotonic() < began + 4:
            time.sleep(0.1)
        elapsed, last = time.monotonic() - began, [sent_bytes(built, n) for n in (1, 2)]

        for child in children:
            child.terminate()
            child.wait()
    rate = (sum(last) - sum(first)) * 8 / elapsed
    # The wire lets 20 Mbit/s through; what it drops on top was sent too.
    assert rate == pytest.approx(20e6, rel=0.15)


def test_uplink_settings_show_what_is_changed():
    with net.network(PLAN) as built:
        found = net.uplink_settings(built)
        run(["tc", "-n", built.hypervisor, "qdisc", "add", "dev", net.UPLINK, "root", "htb"])
        changed = net.uplink_settings(built)

    assert "noqueue" in found
    assert "htb" in changed
