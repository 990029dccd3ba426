"""Real network namespaces: workloads that send TCP through a forwarding host to a sink.

    vm1 e0 ── p1 ┐
    vm2 e0 ── p2 ├ host ── up0 ══ up1 sink
    vm3 e0 ── p3 ┘

Names carry this process's id, and nothing outside the namespaces is touched.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from enforcers.runner import SubprocessRunner

SINK_ADDRESS = "10.77.255.2"
SINK_ADDRESS_V6 = "fd77:ff::2"
PORT = 5201
ECHO_PORT = 5202
NFS_PORT = 2049
MIGRATION_PORT = 49152
# What a workload can send at most, so that unshaped traffic leaves the machine some rest.
VNIC_SPEED = "rate 120mbit burst 30kb latency 50ms"

SINK = f"""
import socket, threading
def drain(connection):
    room = bytearray(1 << 18)
    while connection.recv_into(room):
        pass
def listen(listener):
    while True:
        threading.Thread(target=drain, args=(listener.accept()[0],), daemon=True).start()
ports = ({PORT}, {NFS_PORT}, {MIGRATION_PORT})
listeners = [socket.create_server(("0.0.0.0", port), backlog=64) for port in ports]
for listener in listeners[1:]:
    threading.Thread(target=listen, args=(listener,), daemon=True).start()
print("ready", flush=True)
listen(listeners[0])
"""


def sender(port: int, address: str = SINK_ADDRESS) -> str:
    """Code that sends to a port, the sink's if nothing else is said, as much as it can.

    Several connections, so that one that waits for the processor does not leave the queue empty.
    """
    return f"""
import socket, threading
def send(connection):
    data = bytes(1 << 16)
    while True:
        connection.sendall(data)
connections = [socket.create_connection(("{address}", {port})) for _ in range(4)]
for connection in connections[1:]:
    threading.Thread(target=send, args=(connection,), daemon=True).start()
print("ready", flush=True)
send(connections[0])
"""


SENDER = sender(PORT)

ECHO = f"""
import socket
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind(("0.0.0.0", {ECHO_PORT}))
print("ready", flush=True)
while True:
    listener.sendto(*listener.recvfrom(2048))
"""

# One small packet after the other, each waited for; a lost one counts as the time limit.
ROUND_TRIPS = f"""
import json, socket, sys, time
asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asking.connect(("{SINK_ADDRESS}", {ECHO_PORT}))
asking.settimeout(3.0)
times_s = []
for number in range(int(sys.argv[1])):
    sent_s = time.monotonic()
    asking.send(str(number).encode())
    try:
        while asking.recv(2048) != str(number).encode():
            pass
    except TimeoutError:
        pass
    times_s.append(time.monotonic() - sent_s)
    time.sleep(0.05)
print(json.dumps(times_s))
"""

# The same by ICMP (RFC 792), which the sink's kernel answers by itself. It runs before all others,
# so that it measures how long packets wait, and not how long itself waits for a processor.
PINGS = """
import contextlib, json, os, socket, struct, sys, time
with contextlib.suppress(PermissionError):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
asking = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
asking.connect((sys.argv[2], 0))
asking.settimeout(3.0)
def echo(number):
    words = (8 << 8, 0, 77, number)
    total = sum(words)
    check = 0xFFFF & ~((total & 0xFFFF) + (total >> 16))
    return struct.pack("!4H", words[0], check, *words[2:])
times_s = []
began_s = time.monotonic()
for number in range(int(sys.argv[1])):
    sent_s = time.monotonic()
    if sent_s > began_s + 10:
        break
    asking.send(echo(number))
    try:
        while (shown := asking.recv(2048)[20:])[0] or shown[4:] != struct.pack("!2H", 77, number):
            pass
    except TimeoutError:
        pass
    times_s.append(time.monotonic() - sent_s)
    time.sleep(0.02)
print(json.dumps(times_s))
"""

DATAGRAMS = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
sender = socket.socket(family, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[2])):
    sender.sendto(bytes(1000), (sys.argv[1], 9))
"""


class NamespaceRunner:
    """Runs programs inside a namespace."""

    def __init__(self, namespace: str) -> None:
        self._inside = ("ip", "netns", "exec", namespace)
        self._runner = SubprocessRunner()

    def run(self, argv: Sequence[str], *, stdin: str = "") -> str:
        return self._runner.run([*self._inside, *argv], stdin=stdin)


@dataclass(slots=True)
class Network:
    """The namespaces by role, and the processes that run in them."""

    workloads: int
    label: str = ""
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def prefix(self) -> str:
        """Of the names of its namespaces, which the label tells from others of this process."""
        return f"slt{os.getpid()}" + (f"-{self.label}" if self.label else "")

    @property
    def host(self) -> str:
        return f"{self.prefix}-host"

    @property
    def sink(self) -> str:
        return f"{self.prefix}-sink"

    def workload(self, number: int) -> str:
        return f"{self.prefix}-vm{number}"

    @property
    def names(self) -> list[str]:
        return [self.host, self.sink, *(self.workload(n) for n in self.numbers)]

    @property
    def numbers(self) -> range:
        return range(1, self.workloads + 1)

    @property
    def runner(self) -> NamespaceRunner:
        """Runs programs on the host."""
        return NamespaceRunner(self.host)

    def settings(self) -> str:
        """All queueing disciplines, classes and filters of the host's interfaces.

        Numbers of readers and of packets are left out; they are no settings.
        """
        shown = [self.runner.run(["tc", "qdisc", "show"])]
        for interface in ("up0", *(f"p{number}" for number in self.numbers)):
            shown += [self.runner.run(["tc", "class", "show", "dev", interface])]
            shown += [self.runner.run(["tc", "filter", "show", "dev", interface])]
            hook = ["tc", "filter", "show", "dev", interface, "ingress"]
            shown += [self.runner.run(hook)]
        return re.sub(r" (refcnt|direct_packets_stat) \d+", "", "\n".join(shown))

    def start(self, namespace: str, code: str) -> subprocess.Popen[str]:
        """Start Python code in a namespace and wait until it says that it is ready."""
        process = subprocess.Popen(
            ["ip", "netns", "exec", namespace, sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    def send_datagrams(self, number: int, address: str, count: int) -> None:
        """Let a workload send datagrams of 1000 bytes."""
        inside = NamespaceRunner(self.workload(number))
        inside.run([sys.executable, "-c", DATAGRAMS, address, str(count)])

    def round_trips_s(self, count: int) -> list[float]:
        """How long small packets of the host take to the sink and back."""
        echo = self.start(self.sink, ECHO)
        try:
            shown = self.runner.run([sys.executable, "-c", ROUND_TRIPS, str(count)])
        finally:
            self.stop(echo)
        return [float(value) for value in json.loads(shown)]

    def pings_s(
        self, count: int, *, namespace: str | None = None, address: str = SINK_ADDRESS
    ) -> list[float]:
        """How long pings from a namespace take, from the host without one.

        A lost one counts as 3 s, and there are fewer if those asked for take more than 10 s.
        """
        inside = NamespaceRunner(namespace or self.host)
        shown = inside.run([sys.executable, "-c", PINGS, str(count), address])
        return [float(value) for value in json.loads(shown)]

    def stop(self, process: subprocess.Popen[str]) -> None:
        """Stop what `start` has started."""
        process.kill()
        process.communicate()
        self.processes.remove(process)

    def stop_all(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.communicate()
        self.processes.clear()

    def attach(self, number: int) -> None:
        """Connect a workload to the host with a vNIC; packets have at most one frame."""
        workload, vnic = self.workload(number), f"p{number}"
        _ip(f"-n {workload} link add e0 type veth peer name {vnic} netns {self.host}")
        _ip(f"-n {workload} link set e0 gso_max_segs 1 gso_max_size 1500")
        speed = ["tc", "-n", workload, "qdisc", "add", "dev", "e0", "root", "tbf"]
        SubprocessRunner().run([*speed, *VNIC_SPEED.split()])
        for namespace, interface, last in ((workload, "e0", 2), (self.host, vnic, 1)):
            _ip(f"-n {namespace} addr add 10.77.{number}.{last}/24 dev {interface}")
            _ip(f"-n {namespace} addr add fd77:{number}::{last}/64 dev {interface} nodad")
            _ip(f"-n {namespace} link set {interface} up")
        _ip(f"-n {workload} route add default via 10.77.{number}.1")
        _ip(f"-n {workload} -6 route add default via fd77:{number}::1")

    def detach(self, number: int) -> None:
        """Take a workload's vNIC away."""
        _ip(f"-n {self.host} link del p{number}")


@contextmanager
def network(workloads: int, *, label: str = "") -> Iterator[Network]:
    """Build the namespaces, and take everything away at the end."""
    built = Network(workloads, label)
    try:
        _build(built)
        yield built
    finally:
        built.stop_all()
        for name in built.names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _build(built: Network) -> None:
    for name in built.names:
        _ip(f"netns add {name}")
        _ip(f"-n {name} link set lo up")
    _ip(f"-n {built.host} link add up0 type veth peer name up1 netns {built.sink}")
    for namespace, interface, last in ((built.host, "up0", 1), (built.sink, "up1", 2)):
        _ip(f"-n {namespace} addr add 10.77.255.{last}/24 dev {interface}")
        _ip(f"-n {namespace} addr add fd77:ff::{last}/64 dev {interface} nodad")
        _ip(f"-n {namespace} link set {interface} up")
    _ip(f"-n {built.sink} route add default via 10.77.255.1")
    _ip(f"-n {built.sink} -6 route add default via fd77:ff::1")
    for family in ("ipv4/ip_forward", "ipv6/conf/all/forwarding"):
        built.runner.run(["tee", f"/proc/sys/net/{family}"], stdin="1")
    for number in built.numbers:
        built.attach(number)


def _ip(words: str) -> None:
    SubprocessRunner().run(["ip", *words.split()])
