"""The demo's network: workloads, a hypervisor, a narrow wire and a sink, one namespace each.

    w1 ─┐ p1                up0
    w2 ─┤ p2   hyp (forwards) ───── wire (forwards, narrow) ───── sink
    w3 ─┘ p3

`up0` is the uplink where the agent enforces. The wire is a physical limit without management:
a token bucket on the switch port behind the uplink, so contention is real before enforcement.
Namespace names contain the process id of their creator, so that two demos do not interfere and
the remains of a killed demo can be recognised.
"""

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.demo.commands import run
from appliance.demo.errors import CommandFailed

UPLINK = "up0"
NAME_PREFIX = "sluice"
OUR_NAME = re.compile(rf"{NAME_PREFIX}-(\d+)-\w+")
SINK_ADDRESS = "10.77.254.2"
# A full-sized Ethernet frame without its checksum, as the kernel's byte counters see it.
FRAME_BYTES = 1514
WIRE_BURST_FRAMES = 20
GONE_DEADLINE_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPlan:
    """What to build: `workloads` senders in front of a wire of `wire_bits_per_s`.

    A short queue keeps TCP's sawtooth well below a measuring window: at 94 Mbit/s, 30 ms is
    233 frames, and a window of 10 s averages over dozens of teeth.
    """

    workloads: int
    wire_bits_per_s: float
    wire_queue_s: float = 0.030


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A built network; names of namespaces and interfaces."""

    maker_pid: int
    plan: NetworkPlan

    @property
    def hypervisor(self) -> str:
        return self.namespace("hyp")

    @property
    def sink(self) -> str:
        return self.namespace("sink")

    @property
    def wire(self) -> str:
        return self.namespace("wire")

    def workload(self, number: int) -> str:
        """Name the namespace of workload `number`, counted from 1."""
        return self.namespace(f"w{number}")

    def namespace(self, role: str) -> str:
        return f"{NAME_PREFIX}-{self.maker_pid}-{role}"

    def namespaces(self) -> list[str]:
        workloads = [self.workload(number) for number in self.workload_numbers()]
        return [*workloads, self.hypervisor, self.wire, self.sink]

    def workload_numbers(self) -> range:
        return range(1, self.plan.workloads + 1)


def missing_for_namespaces() -> str | None:
    """Say what this machine lacks for the real network; None means nothing."""
    if os.geteuid() != 0:
        return "not root"
    absent = [name for name in ("ip", "tc") if shutil.which(name) is None]
    if absent:
        return f"{' and '.join(absent)} not found (package iproute2)"
    probe = f"{NAME_PREFIX}-{os.getpid()}-probe"
    try:
        run(["ip", "netns", "add", probe])
        try:
            run(["ip", "-n", probe, "link", "add", UPLINK, "type", "veth"])
            run(["tc", "-n", probe, "qdisc", "add", "dev", UPLINK, "root", "htb"])
        finally:
            run(["ip", "netns", "delete", probe])
    except CommandFailed as error:
        return f"the kernel refuses namespaces or HTB: {error}"
    return None


@contextmanager
def network(plan: NetworkPlan) -> Iterator[Network]:
    """Build the network, and take all of it away at the end."""
    built = Network(maker_pid=os.getpid(), plan=plan)
    try:
        _build(built)
        yield built
    finally:
        for name in reversed(built.namespaces()):
            remove_namespace(name)


def remove_leavings_of_the_dead() -> list[str]:
    """Remove the namespaces, and the processes in them, of demos that no longer run."""
    removed = []
    for name in _namespaces_here():
        match = OUR_NAME.fullmatch(name)
        if match and not Path(f"/proc/{match.group(1)}").exists():
            remove_namespace(name)
            removed.append(name)
    return removed


def remove_namespace(name: str) -> None:
    """End the processes of the namespace and remove it; nothing happens where there is none."""
    if name not in _namespaces_here():
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in _pids(name):
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        deadline = time.monotonic() + GONE_DEADLINE_S
        while _pids(name) and time.monotonic() < deadline:
            time.sleep(0.05)
    run(["ip", "netns", "delete", name])


def uplink_settings(built: Network) -> str:
    """Show what traffic control is set on the uplink, without counters."""
    shown = [
        run(["tc", "-n", built.hypervisor, kind, "show", "dev", UPLINK])
        for kind in ("qdisc", "class", "filter")
    ]
    # The number of readers is not a setting.
    return re.sub(r" refcnt \d+", "", "".join(shown))


def vnic(number: int) -> str:
    """Name the hypervisor's side of the vNIC of workload `number`."""
    return f"p{number}"


def vnic_address(number: int) -> str:
    """Give the address of workload `number`."""
    return f"10.77.{number}.2"


def _namespaces_here() -> list[str]:
    return [line.split()[0] for line in run(["ip", "netns", "list"]).splitlines() if line]


def _pids(name: str) -> list[int]:
    return [int(pid) for pid in run(["ip", "netns", "pids", name]).split()]


def _build(built: Network) -> None:
    for name in built.namespaces():
        run(["ip", "netns", "add", name])
        run(["ip", "-n", name, "link", "set", "lo", "up"])
    for name in (built.hypervisor, built.wire):
        run(
            ["ip", "netns", "exec", name, "tee", "/proc/sys/net/ipv4/ip_forward"],
            standard_input="1",
        )
    hyp, wire, sink = built.hypervisor, built.wire, built.sink
    _cable((hyp, UPLINK, "10.77.255.1"), (wire, "port0", "10.77.255.2"))
    _cable((wire, "port1", "10.77.254.1"), (sink, "eth0", SINK_ADDRESS))
    _default_route(hyp, "10.77.255.2")
    _default_route(wire, "10.77.255.1")
    _default_route(sink, "10.77.254.1")
    for number in built.workload_numbers():
        workload, gateway = built.workload(number), f"10.77.{number}.1"
        _cable((workload, "eth0", vnic_address(number)), (hyp, vnic(number), gateway))
        _default_route(workload, gateway)
    _narrow(built)


def _cable(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    """Lay a cable between two (namespace, interface, address)."""
    (one_ns, one_if, one_ip), (other_ns, other_if, other_ip) = one, other
    pair = ["type", "veth", "peer", "name", other_if, "netns", other_ns]
    run(["ip", "-n", one_ns, "link", "add", one_if, *pair])
    for namespace, interface, address in (
        (one_ns, one_if, one_ip),
        (other_ns, other_if, other_ip),
    ):
        run(["ip", "-n", namespace, "address", "add", f"{address}/24", "dev", interface])
        # One packet per frame: with 64 kB segments HTB's shares need quanta that cost the
        # reserved class several per cent at this rate.
        run(["ip", "-n", namespace, "link", "set", interface, "gso_max_segs", "1", "up"])


def _default_route(namespace: str, gateway: str) -> None:
    run(["ip", "-n", namespace, "route", "add", "default", "via", gateway])


def _narrow(built: Network) -> None:
    plan = built.plan
    queue_bytes = int(plan.wire_bits_per_s / 8 * plan.wire_queue_s)
    bucket = ["rate", f"{int(plan.wire_bits_per_s)}bit"]
    bucket += ["burst", str(WIRE_BURST_FRAMES * FRAME_BYTES), "limit", str(queue_bytes)]
    run(["tc", "-n", built.wire, "qdisc", "add", "dev", "port1", "root", "tbf", *bucket])
